//! Applying the hunks of a file to its text: pure, exact, without fuzz.
//!
//! A hunk belongs where its header says. If its lines are not there, and are in one other place of the file and no more, that place is
//! meant; if they are in several, or in none, the patch is refused.

use super::Moved;
use super::parse::{Fault, Hunk};
use crate::model::text::shorten;

/// How many places of a hunk are listed.
const MAX_LISTED: usize = 5;

/// Applies hunks to a text. Returns the new text, and which hunks were found elsewhere.
pub(super) fn apply(text: &str, hunks: &[Hunk], path: &str) -> Result<(String, Vec<Moved>), Fault> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut new: Vec<&str> = Vec::with_capacity(lines.len());
    let mut moved = Vec::new();
    let mut done = 0;
    for hunk in hunks {
        let said = match hunk.old.is_empty() {
            // Lines are added after the line that is named.
            true => hunk.start,
            false => hunk.start - 1,
        };
        let at = place(&lines, hunk, said, done, path)?;
        if at != said {
            moved.push(Moved {
                line: hunk.start,
                found: at + 1,
            });
        }
        new.extend(&lines[done..at]);
        new.extend(hunk.new.iter().map(String::as_str));
        done = at + hunk.old.len();
    }
    new.extend(&lines[done..]);
    // A line without a line break that is not the last would be glued to the next one.
    if let Some((_, before)) = new.split_last()
        && let Some(line) = before.iter().find(|line| !line.ends_with('\n'))
    {
        let message = format!(
            "`{}` would have no line break, and more lines of `{}` follow it; `\\ No newline at end of file` is only for the last line",
            shorten(line, 80),
            shorten(path, 200)
        );
        return Err(Fault {
            line: hunks.first().map_or(1, |hunk| hunk.line),
            message,
        });
    }
    Ok((new.concat(), moved))
}

/// Where a hunk belongs, as an index of lines, after those that are done.
fn place(
    lines: &[&str],
    hunk: &Hunk,
    said: usize,
    done: usize,
    path: &str,
) -> Result<usize, Fault> {
    let fault = |message: String| {
        Err(Fault {
            line: hunk.line,
            message,
        })
    };
    let path = shorten(path, 200);
    if hunk.old.is_empty() {
        if said > lines.len() {
            return fault(format!(
                "it adds lines after line {said} of `{path}`, which has {}",
                lines.len()
            ));
        }
        return match said < done {
            true => fault("it begins before the end of the hunk before it".to_owned()),
            false => Ok(said),
        };
    }
    let fits = |at: usize| {
        let there = lines.get(at..at + hunk.old.len());
        there.is_some_and(|there| {
            there
                .iter()
                .zip(&hunk.old)
                .all(|(line, (old, _))| line == old)
        })
    };
    if said >= done && fits(said) {
        return Ok(said);
    }
    let places: Vec<usize> = (done..lines.len()).filter(|at| fits(*at)).collect();
    match places.as_slice() {
        [only] => Ok(*only),
        [] => Err(mismatch(lines, hunk, said, &path)),
        places => {
            let listed: Vec<String> = places
                .iter()
                .take(MAX_LISTED)
                .map(|at| (at + 1).to_string())
                .collect();
            fault(format!(
                "its lines are not at line {} of `{path}`, and are at {} other places: lines {}; give the right line number, or more lines around the change",
                hunk.start,
                places.len(),
                listed.join(", ")
            ))
        }
    }
}

/// Says which line does not match, where most of the hunk does.
fn mismatch(lines: &[&str], hunk: &Hunk, said: usize, path: &str) -> Fault {
    let matching = |at: usize| {
        let pairs = lines.iter().skip(at).zip(&hunk.old);
        pairs.take_while(|(line, (old, _))| *line == old).count()
    };
    // Where it should be, unless its first lines are elsewhere.
    let best = (0..lines.len())
        .map(|at| (matching(at), at == said, usize::MAX - at))
        .max()
        .map_or(
            said,
            |(count, _, at)| if count == 0 { said } else { usize::MAX - at },
        );
    let count = matching(best);
    let (wanted, number) = match hunk.old.get(count) {
        Some((wanted, number)) => (wanted.as_str(), *number),
        None => ("", hunk.line),
    };
    let at = best + count;
    let message = match lines.get(at) {
        Some(line) if line.trim_end() == wanted.trim_end() => {
            let ending = |line: &str| match line.strip_suffix('\n') {
                Some(line) if line.ends_with('\r') => "`\\r\\n`",
                Some(line) if line.trim_end() != line => "white space",
                Some(_) => "`\\n`",
                None => "no line break",
            };
            format!(
                "line {} of `{path}` ends in {}, and that of the patch in {}",
                at + 1,
                ending(line),
                ending(wanted)
            )
        }
        Some(line) => format!(
            "line {} of `{path}` is {}, and the patch has {}",
            at + 1,
            shown(line),
            shown(wanted)
        ),
        None => format!(
            "`{path}` has {} lines, and the patch expects {} at line {}",
            lines.len(),
            shown(wanted),
            at + 1
        ),
    };
    Fault {
        line: number,
        message: format!("{message}; read the file and make the patch again"),
    }
}

fn shown(line: &str) -> String {
    let line = line
        .trim_end_matches('\n')
        .replace('\t', "\\t")
        .replace('\r', "\\r");
    format!("`{}`", shorten(&line, 100))
}
