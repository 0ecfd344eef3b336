//! Every code of the table, shown by its own example.

use toolcrib::definition::{CODES, read, render};

use crate::golden;

#[test]
fn every_code_is_shown_by_its_example_as_people_read_it() {
    let (mut text, mut wrong) = (String::new(), Vec::new());
    for code in CODES {
        let latin = b"description: Caf\xe9\n".to_vec();
        let bytes = match (code.example, code.name) {
            (Some(example), _) => example.as_bytes().to_vec(),
            (None, "file-too-large") => vec![b'#'; 300_000],
            (None, "not-utf8") => latin,
            (None, name) => panic!("`{name}` has no example"),
        };
        let reading = read(&bytes, "tool");
        let of_this: Vec<_> = reading
            .problems
            .iter()
            .filter(|problem| problem.code == code.name)
            .collect();
        let others: Vec<_> = reading
            .problems
            .iter()
            .filter(|problem| problem.code != code.name)
            .map(|problem| (problem.code, &problem.message))
            .collect();
        if of_this.is_empty() || !others.is_empty() {
            wrong.push(format!(
                "`{}`: {} times; others: {others:?}",
                code.name,
                of_this.len()
            ));
        } else if of_this[0].severity != code.severity {
            wrong.push(format!("`{}` is not {:?}", code.name, code.severity));
        }
        for problem in of_this {
            text.push_str(&render(problem, "tool.yaml", &bytes, &|_, words| {
                words.to_owned()
            }));
            text.push('\n');
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    golden::assert_text("definition/problems.txt", &text);
}

#[test]
fn codes_are_named_once_and_have_words() {
    for (index, code) in CODES.iter().enumerate() {
        assert!(
            CODES[..index].iter().all(|other| other.name != code.name),
            "{}",
            code.name
        );
        for words in [code.meaning, code.remedy] {
            assert!(
                words.ends_with('.') || words.ends_with(')'),
                "{}: {words}",
                code.name
            );
        }
    }
}
