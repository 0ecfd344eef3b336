//! Golden files: what Toolcrib writes, in `tests/golden`, compared whole and reviewed like code.
//!
//! After a change that is meant, `UPDATE_GOLDEN=1 cargo test` writes them again.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Compares JSON with the golden file of this name (`wire/openai.json`).
#[track_caller]
pub(crate) fn assert_json(name: &str, actual: &Value) {
    assert_text(name, &format!("{actual:#}\n"));
}

/// Compares text with the golden file of this name.
#[track_caller]
pub(crate) fn assert_text(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("cannot read golden file `{name}`: {error}; make it with UPDATE_GOLDEN=1")
    });
    if expected != actual {
        panic!(
            "`{name}` differs (- expected, + actual); if that is meant, run with UPDATE_GOLDEN=1\n{}",
            diff(&expected, actual)
        );
    }
}

/// The lines that differ, with two lines around them.
fn diff(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    // common[i][j]: how many lines `old[i..]` and `new[j..]` have in common, in order.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    let is_near = |index: usize| {
        let around = index.saturating_sub(2)..(index + 3).min(lines.len());
        lines[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut out = String::new();
    let mut skipped = false;
    for (index, (mark, line)) in lines.iter().enumerate() {
        if is_near(index) {
            writeln!(out, "{mark} {line}").unwrap();
            skipped = false;
        } else if !skipped {
            out.push_str("  …\n");
            skipped = true;
        }
    }
    if out.is_empty() {
        "only the final newline differs".to_owned()
    } else {
        out
    }
}

#[test]
fn a_difference_is_shown_with_its_surroundings() {
    let expected = "a\nb\nc\nd\ne\nf\ng\nh\n";
    let actual = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
    assert_eq!(
        diff(expected, actual),
        "  …\n  c\n  d\n- e\n+ E\n  f\n  g\n  h\n+ i\n"
    );
}
