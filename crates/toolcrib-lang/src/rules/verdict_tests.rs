//! What the default set says about texts whose words are known only when they run: what the text itself says of them counts.

use serde_json::json;

use super::{RuleContext, RuleSet, Rules as _};
use crate::model::names::WireName;
use crate::schema::{Property, Schema};
use crate::spec::{Role, ToolSpec};

/// The verdict on a text, and what was found.
fn judge(text: &str) -> (String, Vec<String>) {
    let schema = Schema::object().optional("command", Property::string("command"));
    let mut tool = ToolSpec::new(WireName::fit("shell"), "x", schema.build().unwrap());
    tool.roles = vec![("command".to_owned(), Role::Shell)];
    let args = [("command".to_owned(), json!(text))].into_iter().collect();
    let cx = RuleContext {
        workspace: Some("/home/ada/project".as_ref()),
        ..RuleContext::default()
    };
    let judgement = RuleSet::default().judge(&tool, &args, &cx);
    let findings = judgement.findings.iter();
    let rules = findings.map(|finding| format!("{}: {}", finding.rule, finding.reason));
    (judgement.verdict.as_str().to_owned(), rules.collect())
}

fn are_asked(texts: &[&str]) {
    let wrong: Vec<&&str> = texts
        .iter()
        .filter(|text| judge(text).0 == "allow")
        .collect();
    assert!(wrong.is_empty(), "not asked about: {wrong:#?}");
}

fn pass(texts: &[&str]) {
    let judged = texts.iter().map(|text| (text, judge(text)));
    let wrong: Vec<_> = judged
        .filter(|(_, (verdict, _))| verdict != "allow")
        .collect();
    assert!(wrong.is_empty(), "asked about: {wrong:#?}");
}

#[test]
fn words_of_a_removal_that_may_be_options_are_asked_about() {
    are_asked(&[
        r#"set -- -rf *; rm "$@""#,
        r#"f() { rm "$@"; }; f -rf *"#,
        r#"g() { f "$@"; }; f() { rm "$@"; }; g -rf src"#,
        r#"a=(-rf *); rm "${a[@]}""#,
        r#"a=(); a+=(-rf); a+=(src); rm "${a[@]}""#,
        r#"a[0]=-rf; a[1]=src; rm "${a[@]}""#,
        r#"declare -a a=(-rf src); rm "${a[@]}""#,
        r#"set -- -rf "$PWD"; rm "$@""#,
        r#"set -- -rf src; rm $*"#,
        r#"set -- -rf src; rm $1 $2"#,
        r#"set -- -rf src; rm "$1" "$2""#,
        r#"set -- -rf src; rm "${@:1}""#,
        r#"rm $(echo -rf src doc a)"#,
        r#"rm `echo -rf src`"#,
        r#"rm $(printf '%s ' -rf src)"#,
        r#"rm $(./list)"#,
        r#"rm $(cat <<< '-rf src')"#,
        r#"x=$(echo -rf src); rm $x"#,
        r#"xargs rm <<< "-rf a src doc""#,
        r#"xargs rm <<< "-rf $(echo *)""#,
        "xargs rm <<EOF\n-rf src\nEOF",
        r#"echo -rf src | xargs rm"#,
        r#"printf '%s\n' -rf src | xargs rm"#,
        r#"echo src | sed 's/^/-rf /' | xargs rm"#,
        r#"echo -rf src > l; xargs rm < l"#,
        r#"echo -rf src > l; cat l | xargs rm"#,
        r#"./list | xargs rm"#,
        r#"curl -s x.test | xargs rm"#,
        r#"read -ra x <<< "-rf a src doc"; rm "${x[@]}""#,
        r#"read x <<< '-rf src'; rm $x"#,
        r#"while read -r x; do rm $x; done <<< '-rf src'"#,
        r#"printf -v x %s '-rf src'; rm $x"#,
        r#"export x='-rf src' y=1; x=z; rm $x"#,
        r#"rm ${x:--rf src}"#,
        r#"bash -c 'rm "$@"' _ -rf src"#,
        r#"bash -s -- -rf src <<< 'rm "$@"'"#,
        r#"echo -rf src | xargs bash -c 'rm "$@"' _"#,
        r#"rm "$@""#,
        r#"rm "${files[@]}""#,
        r#"rm ${!y}"#,
        r#"a=-rf; b=src; [ -n "$c" ] && b=doc; set -- $a $b; rm "$@""#,
        "srm -rf .",
    ]);
}

#[test]
fn every_file_of_the_workspace_is_asked_about_through_variables() {
    are_asked(&[
        r#"set -- *; rm "$@""#,
        r#"set -- *; rm -- "$@""#,
        r#"a=(*); rm "${a[@]}""#,
        r#"a=(*); rm -- "${a[@]}""#,
        r#"f() { rm -- "$@"; }; f *"#,
        r#"bash -c 'rm -- "$@"' _ *"#,
        r#"xargs rm <<< "$(echo *)""#,
        "git ls-files > l; cat l | xargs rm",
        r#"x=$(git ls-files); for f in $x; do rm "$f"; done"#,
        r#"a=($(git ls-files)); for f in "${a[@]}"; do rm "$f"; done"#,
        "git ls-files | xargs git rm -f",
        "git ls-files | grep . | xargs rm",
        "git ls-files | grep '[a-z]' | xargs rm",
        "rm $(git ls-files | grep .)",
        "git ls-files | xargs sed -i d",
        "git ls-files | xargs sed -i '1,$d'",
        "git ls-files | xargs sed -i 's/.*//'",
        "find . -type f -exec git rm -f {} +",
        "find . -type f -exec mv -t x {} +",
        "find -exec mv -t x {} +",
        "git grep -l . | xargs rm",
        "git grep -l '' | xargs rm",
        "sed -i d *",
        "find . -path ./.git/index -delete",
        "find . -path '*/.git/*' -delete",
        "find . -name HEAD -delete",
    ]);
}

#[test]
fn what_people_remove_every_day_passes() {
    pass(&[
        "rm -rf build target node_modules",
        "rm $TMPFILE",
        r#"rm -f "$OUT""#,
        "rm *.tmp",
        r#"for f in *.o; do rm "$f"; done"#,
        "for f in *.o; do rm $f; done",
        r#"for f in *.o; do rm -- "$f"; done"#,
        "for f in a b c; do rm $f; done",
        "find . -name '*.o' | xargs rm",
        "find . -name '*.o' | sort | head -5 | xargs rm -f",
        "find . -name '*.o' -print0 | xargs -0 rm",
        "find . -name '*.orig' | while read -r f; do rm $f; done",
        "ls -t *.tar.gz | tail -n +4 | xargs -r rm --",
        "ls -l *.log | awk '{print $9}' | xargs rm",
        "git status --porcelain '*.tmp' | cut -c4- | xargs rm",
        "cat list.txt | xargs rm",
        "xargs rm < list.txt",
        "xargs -a list.txt rm",
        "grep -rl TODO . | xargs rm -f",
        "rm $(cat old.txt)",
        "rm $(ls *.tmp)",
        "rm $(find . -name '*.o')",
        "rm $(find . -name '*.o' | sed 's/[.]o$/.d/')",
        r#"rm "$(mktemp)""#,
        r#"files=(*.tmp *.bak); rm -f "${files[@]}""#,
        r#"files=(a b); files+=(c); rm -f "${files[@]}""#,
        r#"mapfile -t f < <(git ls-files '*.tmp'); rm -f "${f[@]}""#,
        r#"set -- *.o; rm -f "$@""#,
        r#"f() { rm -f "$@"; }; f a.txt b.txt"#,
        r#"clean() { rm -f "$1"; }; clean a.o"#,
        r#"find . -name '*.o' -exec sh -c 'for f; do rm "$f"; done' _ {} +"#,
        "echo a.o b.o | xargs rm",
        "tmp=$(mktemp); echo x > $tmp; rm $tmp",
        "x=a.txt; if true; then x=b.txt; fi; rm $x",
        r#"for f in a b; do rm "$f.o" "$f.d"; done"#,
        "sed -i 's/a/b/' *",
        "sed -i '/x/d' *",
        "git ls-files | xargs sed -i 's/ *$//'",
        r#"for f in *; do mv "$f" "new-$f"; done"#,
        "find . -name '*.log' -exec mv -t logs {} +",
        "find . -path '*/build/*.o' -delete",
        "git grep -l foo | xargs sed -i s/foo/bar/",
        "cd build; rm -f a.o",
    ]);
}

#[test]
fn following_values_is_bounded() {
    use std::fmt::Write as _;
    let mut text = String::new();
    for index in 0..40 {
        let next = format!("\"${{a{}[@]}}\" ", index + 1).repeat(50);
        let _ = writeln!(text, "a{index}=({next})");
    }
    text.push_str(&"rm \"${a0[@]}\"\n".repeat(200));
    assert_eq!(judge(&text).0, "ask");
    let words: String = (0..4000).map(|index| format!("w{index} ")).collect();
    judge(&format!(
        "for f in {words}; do {} done",
        "cat \"$f\"; ".repeat(1500)
    ));
    judge(&format!("ls | {}", ["xargs rm"; 2000].join(" | ")));
}

#[test]
fn programs_that_destroy_files_in_the_same_way_are_asked_about_alike() {
    for name in ["rm", "grm", "srm", "wipe"] {
        are_asked(&[
            &format!("{name} *"),
            &format!("{name} -R *"),
            &format!("find . -type f | xargs {name}"),
            &format!("for f in $(git ls-files); do {name} \"$f\"; done"),
        ]);
    }
    are_asked(&["sponge *", "find . -type f -exec sponge {} +"]);
    pass(&["grm old.txt", "srm build/a.o", "sponge notes.md"]);
}

#[test]
fn files_moved_into_memory_are_asked_about() {
    are_asked(&[
        "mv src /dev/shm/",
        "mv a b /dev/shm",
        "cd sub; mv * /dev/shm/x",
    ]);
    pass(&["mv a b", "ls > /dev/null", "mv a sub/dev/shm"]);
}
