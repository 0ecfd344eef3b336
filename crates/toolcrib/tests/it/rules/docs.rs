//! docs/rules.md says what is so: its rules load, its table is the default set.

use std::path::{Path, PathBuf};

use toolcrib::rules::{Rule, RuleSet, Whose};

const START: &str = "<!-- default set: UPDATE_GOLDEN=1 writes it -->\n";
const END: &str = "<!-- end of the default set -->";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md")
}

#[test]
fn every_rule_in_the_docs_loads_and_keeps_its_examples() {
    let page = std::fs::read_to_string(path()).unwrap();
    let blocks: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 7);
    for block in blocks {
        if let Err(error) = Rule::from_toml(block, "docs/rules.md", Whose::Operator) {
            panic!("{error}\n{block}");
        }
    }
}

#[test]
fn the_table_in_the_docs_is_the_default_set() {
    let default = include_str!("../../../../toolcrib-lang/src/rules/default.toml");
    let mut table = String::from("\n| rule | verdict | reason |\n|---|---|---|\n");
    for rule in RuleSet::default().rules() {
        let code = if default.contains(&format!("name = \"{}\"", rule.name())) {
            ""
        } else {
            " (*code*)"
        };
        let (name, verdict, reason) = (rule.name(), rule.verdict().as_str(), rule.reason());
        table.push_str(&format!("| `{name}`{code} | {verdict} | {reason} |\n"));
    }
    table.push('\n');
    let page = std::fs::read_to_string(path()).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path(), format!("{before}{START}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(written, table, "UPDATE_GOLDEN=1 writes docs/rules.md");
}
