//! PowerShell and `cmd`, which are not here: their texts are golden files.

use serde_json::json;
use toolcrib::template::{Code, Form};

use super::{usual, values};
use crate::golden;

/// Every template with what it becomes, or why it is refused.
fn table(form: &Form, templates: &[&str]) -> String {
    let all = values(json!({
        "P": "it's \"$(x)\" & %PATH% `d`", "DIR": "C:\\My Files", "PATTERN": "*.txt", "N": 3, "L": ["a b", "c"], "F": true,
        "FILE": "-rf", "URL": "https://example.test/?a=1", "R": "raw & text", "O": {"a": "b"},
    }));
    let mut table = String::new();
    for template in templates {
        table.push_str(&format!("template: {template:?}\n"));
        match Code::compile(form, template, &usual()) {
            Err(problems) => {
                for problem in problems {
                    table.push_str(&format!(
                        "  {} at {:?}: {}\n    fix: {}\n",
                        problem.code,
                        problem.span,
                        problem.message,
                        problem.fix.unwrap_or_default()
                    ));
                }
            }
            Ok(code) => match code.prepare(&all) {
                Err(faults) => {
                    for fault in faults {
                        table.push_str(&format!("  {} {}\n", fault.reference, fault.message));
                    }
                }
                Ok(invocation) => {
                    table.push_str(&format!(
                        "  {} {:?}\n  {:?}\n",
                        invocation.program, invocation.arguments, invocation.environment
                    ));
                }
            },
        }
    }
    table
}

#[test]
fn powershell_reads_values_from_the_environment() {
    golden::assert_text(
        "template/pwsh.txt",
        &table(
            &Form::Pwsh,
            &[
                "Get-ChildItem -Path '{DIR}' -Filter '{PATTERN}' -Recurse",
                "Get-ChildItem -Path {DIR} -Filter \"{PATTERN}\"",
                "Write-Output 'it''s $5 {P}' \"now: {P} $(Get-Date)\"",
                "Write-Output {P} {N} {F} {L} {Q}",
                "Write-Output \"--name={P}\" # {P} isn't here",
                "$x = {P}; Write-Output $x",
                "Write-Output @\"\n{P} `$x\n\"@",
                "Write-Output @'\n{P}\n'@",
                "Write-Output '{FILE}'",
                "Write-Output -- '{FILE}'",
                "Write-Output \"x{FILE}\"",
                "Write-Output --name={P}",
                "{P} -x",
                "& {P}",
                "ls | {P}",
                "Invoke-Expression \"{P}\"",
                "powershell -Command \"ls {P}\"",
                "Write-Output \"$(ls {P})\"",
                "Write-Output 'open {P}",
                "Write-Output “{P}”",
                "Invoke-Expression {R}",
            ],
        ),
    );
}

#[test]
fn cmd_takes_plain_values_late() {
    golden::assert_text(
        "template/cmd.txt",
        &table(
            &Form::Cmd,
            &[
                "dir {DIR} /s",
                "dir \"{DIR}\\{PATTERN}\" /b",
                "echo hello! {N} {F}",
                "powershell -Command \"Get-ChildItem -Path '{DIR}' -Filter '{PATTERN}' -Recurse\"",
                "echo {P}",
                "echo \"{URL}\"",
                "del {FILE}",
                "del \"{FILE}\"",
                "del x{FILE}",
                "echo {L}",
                "echo {Q} x",
                "{DIR} x",
                "cd x && {DIR}",
                "echo %{DIR}%",
                "echo ^{DIR}",
                "echo {R}",
            ],
        ),
    );
}
