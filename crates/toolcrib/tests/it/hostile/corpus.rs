//! Texts made to hurt readers: they double, nest or repeat. Plain generators, so that tests of other crates can include this file.

use std::io::Write as _;

/// An input: what it does, and its text.
pub(crate) type Input = (&'static str, String);

/// Makes a text of about this many bytes.
type Make = fn(usize) -> String;

/// A name, and what a text begins with, repeats and ends with; or, of one that nests, what opens, is inside and closes.
type Parts = (&'static str, &'static str, &'static str, &'static str);

fn inputs(
    size: usize,
    repeated: &[Parts],
    nested: &[Parts],
    made: &[(&'static str, Make)],
) -> Vec<Input> {
    let repeated = repeated
        .iter()
        .map(|(name, head, unit, tail)| (*name, fill(size, head, unit, tail)));
    let nested = nested
        .iter()
        .map(|(name, open, inside, close)| (*name, nest(size, open, inside, close)));
    let made = made.iter().map(|(name, make)| (*name, make(size)));
    repeated.chain(nested).chain(made).collect()
}

/// A unit as often as it fits between a head and a tail.
fn fill(size: usize, head: &str, unit: &str, tail: &str) -> String {
    let times = size.saturating_sub(head.len() + tail.len()) / unit.len();
    format!("{head}{}{tail}", unit.repeat(times))
}

/// Units that receive their number, as many as fit.
fn count(size: usize, head: &str, tail: &str, unit: impl Fn(usize) -> String) -> String {
    let mut text = head.to_owned();
    for number in 0.. {
        let unit = unit(number);
        if text.len() + unit.len() + tail.len() > size {
            break;
        }
        text.push_str(&unit);
    }
    text.push_str(tail);
    text
}

/// Something in itself, as deep as fits.
fn nest(size: usize, open: &str, inside: &str, close: &str) -> String {
    let times = size.saturating_sub(inside.len()) / (open.len() + close.len());
    format!("{}{inside}{}", open.repeat(times), close.repeat(times))
}

/// Letters that no pattern packs well.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + u8::try_from(state >> 24).unwrap() % 26
    };
    (0..length).map(|_| next()).collect()
}

fn variables(size: usize) -> String {
    count(size, "", "", |n| format!("a{n}=1;"))
}

/// Texts for a shell.
pub(crate) fn shell(size: usize) -> Vec<Input> {
    inputs(size, SHELL_REPEATED, SHELL_NESTED, SHELL_MADE)
}

const SHELL_REPEATED: &[Parts] = &[
    ("braces-product", "echo ", "{a,b}", ""),
    ("braces-many", "echo ", "{1..200} ", ""),
    ("cd-many", "", "cd a;", ""),
    ("brackets", "echo ", "[''", ""),
    ("quotes", "echo ", "a''", ""),
    ("equals", "echo a=", "b:''", ""),
    ("awk-system", "awk '", "system(\"a\")", "'"),
    ("sed-e", "sed '", "1e a\n", "'"),
    ("perl-open", "perl -e '", "open ", "'"),
    ("perl-system", "perl -e '", "system(\"", "'"),
    ("perl-literal", "perl -e '", "system \"a\",", "'"),
    ("ruby-io", "ruby -e '", "IO ", "'"),
    ("node-require", "node -e 'child_process ", "require(\"", "'"),
    (
        "node-spawn",
        "node -e 'child_process ",
        "spawn(\"a\",{",
        "'",
    ),
    ("php-dollar", "php -r '", "$a ", "'"),
    ("python-os", "python3 -c '", "os.system(\"a\");", "'"),
    ("python-quotes", "python3 -c '", "\"\"\" ", "'"),
    ("python-open", "python3 -c '", "os.system(", "'"),
    ("python-import", "python3 -c '", "import a as b;", "'"),
    ("fd-x", "fd ", "-x ", ""),
    ("fd-long", "fd ", "-x sh -c a ", ""),
    ("find-exec", "find . ", "-exec a {} + ", ""),
    ("find-exec-open", "find . ", "-exec a ", ""),
    ("find-braces", "find . -exec a ", "{}", " ;"),
    ("xargs-I", "xargs -Ia b ", "a", ""),
    ("tar", "tar ", "--to-command=a ", ""),
    ("env-S", "env ", "-S a ", ""),
    ("env-assign", "env ", "PAGER=a ", "b"),
    ("assign-pager", "", "PAGER=a ", "b"),
    ("git-c", "git ", "-c alias.x=!a ", "x"),
    ("git-config", "git ", "-c core.pager=a ", "log"),
    ("loops-eval", "", "while a;do eval cd x;done;", ""),
    ("backticks", "echo ", "`a`", ""),
    ("replace", "v=aaaaaaaa;", "v=${v//a/aaaaaaaa};", "echo $v"),
    ("append", "v=a;", "v+=$v$v;", "echo $v"),
    ("printf-v", "", "printf -v x '%s%s' \"$x\" \"$x\";", ""),
    ("arrays", "a=(", "{1..200} ", ")"),
    ("arrays-many", "a=(x);", "a+=(\"${a[@]}\" \"${a[@]}\");", ""),
    ("ansi", "echo $'", "\\x41", "'"),
    ("ansi-many", "echo ", "$'\\u1234'", ""),
    ("pipes", "a", "|a", ""),
    ("and", "a", "&&a", ""),
    ("bang", "", "! ", "a"),
    ("semicolons", "", "a;", ""),
    ("declare", "declare ", "a=$b ", ""),
    ("nice", "", "nice sh -c 'nice sh -c a';", ""),
    ("make", "make ", "PAGER=a ", ""),
    ("rsync", "rsync ", "-e a ", ""),
    ("watch", "watch ", "a ", ""),
    ("ssh", "ssh host ", "a ", ""),
    ("parallel", "parallel ", "parallel ", "a"),
    ("coproc", "", "coproc { a;};", ""),
    ("perl-args", "perl -e a ", "a|", ""),
    ("perl-codes", "perl ", "-e a ", ""),
    ("positional", "", "set -- \"$@\" \"$@\";", ""),
    ("read-a", "read -", "a", ""),
    ("sed-operands", "sed ", "a ", "-n"),
    ("python-lists", "python3 -c '", "system([\"a\"])", "'"),
    ("files-sorted", "", "cat f|sort>f;", "xargs rm<f"),
    ("pipes-rm", "x", "|rm $a", ""),
    ("find-exec-rm", "find . ", "-exec rm {} + ", ""),
    ("xargs-many", "", "xargs rm;", ""),
    ("rm-written", "", "rm $a<f>f;", ""),
];

const SHELL_NESTED: &[Parts] = &[
    ("braces-nested", "{a,", "b", "}"),
    ("functions-nested", "f(){ a;", "a;", "};"),
    ("loops", "for i in a;do ", "a;", "done;"),
    ("subshells", "(", "a", ")"),
    ("substitutions", "$(", "a", ")"),
    ("substitutions-quoted", "\"$(", "a", ")\""),
    ("arithmetic", "$((", "1", "))"),
    ("parameters", "${a:-", "b", "}"),
];

const SHELL_MADE: &[(&str, Make)] = &[
    // Names that differ each time, so that no one may look for one among all before it.
    ("functions-rm", |size| {
        count(size, "", "", |n| format!("f{n}(){{ rm $1;}};"))
    }),
    ("elements-rm", |size| {
        count(size, "", "", |n| format!("rm ${{a[{n}]}};"))
    }),
    ("reads-rm", |size| {
        count(size, "", "", |n| format!("read v{n};rm $v{n};"))
    }),
    ("xargs-rm", |size| {
        count(size, "", "", |n| format!("xargs rm<<<f{n};"))
    }),
    ("loops-rm", |size| {
        count(size, "", "", |n| format!("for f in a{n};do rm $f;done;"))
    }),
    ("lists-rm", |size| {
        count(size, "", "", |n| format!("ls>f{n};xargs rm<f{n};"))
    }),
    ("files-handed-on", |size| {
        count(size, "", "rm $(cat f1)", |n| {
            format!("cat f{n}|sort>f{};", n + 1)
        })
    }),
    ("xargs-words", |size| {
        let words = "$(a) ".repeat(size / 10);
        fill(size, &format!("xargs {words} sh -c '"), "rm $a;", "'")
    }),
    ("make-variables", |size| {
        count(size, "make ", "", |n| format!("A{n}=$(a{n}) "))
    }),
    ("python-distinct", |size| {
        used_often(size, "python3 -c", "os.system(\"", "\")\n")
    }),
    ("ruby-distinct", |size| {
        used_often(size, "ruby -e", "system(\"", "\")\n")
    }),
    // One text that many commands are given.
    ("sed-writes", |size| used_often(size, "sed", "w", "\n")),
    ("sed-runs", |size| used_often(size, "sed", "1e a", "\n")),
    ("awk-writes", |size| {
        used_often(size, "awk", "{print > \"", "\"}\n")
    }),
    ("awk-runs", |size| {
        used_often(size, "awk", "{system(\"", "\")}\n")
    }),
    ("awk-brackets", |size| {
        used_often(size, "awk", "/[/]/{print > \"", "\"}\n")
    }),
    ("make-often", |size| used_often(size, "make", "A", "=$(a) ")),
    ("awk-getline", |size| {
        let inner = nest(size, "getline a[", "1", "]");
        format!("awk 'BEGIN{{{inner}<\"f\"}}'")
    }),
    ("sed-long-directory", |size| {
        let directory = "x".repeat(size / 2);
        count(size, &format!("cd {directory};sed '"), "'", |n| {
            format!("w{n}\n")
        })
    }),
    ("programs-nested", nested_programs),
    ("doubling", |size| {
        count(size, "v0=aaaaaaaaaaaaaaaa; ", "echo \"$v5\"", |n| {
            format!("v{}=$v{n}$v{n}; ", n + 1)
        })
    }),
    ("value-repeated", |size| {
        fill(size, &format!("v={}; ", "a".repeat(size / 2)), "$v", "")
    }),
    ("value-words", |size| {
        fill(
            size,
            &format!("v='{}'; echo ", "a ".repeat(size / 4)),
            "$v ",
            "",
        )
    }),
    ("value-commands", |size| {
        fill(size, &format!("v={}; ", "a".repeat(size / 2)), "a $v;", "")
    }),
    ("value-parts", |size| {
        fill(
            size,
            &format!("v=$(mktemp -d{}); ", "a".repeat(size / 2)),
            "a $v;",
            "",
        )
    }),
    ("braces-long", |size| {
        fill(
            size,
            &format!("v={}; ", "a".repeat(size / 2)),
            "a {$v,$v}{1..100};",
            "",
        )
    }),
    ("redirect-group", |size| {
        fill(size, "{ ", "a;", &format!("}} > {}", "x".repeat(size / 2)))
    }),
    ("redirects-nested", |size| {
        format!(
            "{}{}{}",
            "{ ".repeat(16),
            "a;".repeat(size / 4),
            (0..16)
                .map(|_| format!("}} > {};", "x".repeat(size / 40)))
                .collect::<String>()
        )
    }),
    ("document-group", |size| {
        fill(
            size,
            "{ ",
            "a;",
            &format!("}} <<E\n{}\nE\n", "x".repeat(size / 2)),
        )
    }),
    ("documents", |size| {
        count(
            size,
            "cat ",
            &format!("\n{}\nE\n", "x".repeat(size / 2)),
            |_| "<<E ".to_owned(),
        )
    }),
    ("herestrings", |size| {
        count(
            size,
            &format!("v={}; cat ", "a".repeat(size / 2)),
            "",
            |_| "<<<$v ".to_owned(),
        )
    }),
    ("cd-long", |size| {
        fill(size, &format!("cd {};", "x".repeat(size / 2)), "a;", "")
    }),
    ("cd-slashes", |size| {
        fill(size, &format!("cd {};", "x/".repeat(size / 4)), "cd a;", "")
    }),
    ("via-long", |size| {
        format!(
            "CARGO_{}_RUNNER='{}' a",
            "X".repeat(size / 2),
            "a;".repeat(size / 4)
        )
    }),
    ("facts-children", |size| {
        fill(size, &variables(size / 2), "sh -c a;", "")
    }),
    ("facts-backticks", |size| {
        fill(size, &variables(size / 2), "`a`;", "")
    }),
    ("sh-nested", nested_shells),
    ("eval-value", |size| {
        fill(
            size,
            &format!("v='{}';", "a;".repeat(size / 4)),
            "sh -c \"$v\";",
            "",
        )
    }),
    ("eval-eval", |size| {
        fill(
            size,
            &format!("v='{}';", "a;".repeat(size / 4)),
            "eval \"$v\";",
            "",
        )
    }),
    ("trap", |size| {
        fill(
            size,
            &format!("v='{}';", "a;".repeat(size / 4)),
            "trap \"$v\" 1;",
            "",
        )
    }),
    ("awk-facts", |size| {
        fill(
            size,
            &format!("{}awk '", variables(size / 2)),
            "system(\"a\")",
            "'",
        )
    }),
    ("xargs-marker", |size| {
        format!("xargs -I{} b {}", "ab", "ab".repeat(size / 2))
    }),
    ("sudo-nested", |size| {
        fill(size, "sudo ", "sudo ", &"x ".repeat(size / 4))
    }),
    ("functions", |size| {
        count(size, "", "", |n| format!("f{n}(){{ f{};}};", n + 1))
    }),
    ("functions-cd", |size| {
        count(size, "g(){ cd x;};", "", |n| {
            format!("f{n}(){{ f{};f{};}};f{n};", n + 1, n + 2)
        })
    }),
    ("case", |size| {
        format!("case x in {} esac", "a) b;; ".repeat(size / 7))
    }),
    ("backticks-escaped", nested_backticks),
    ("tilde", |size| {
        fill(
            size,
            &format!("HOME={};echo ", "a".repeat(size / 2)),
            "~ ",
            "",
        )
    }),
    ("tilde-colon", |size| {
        fill(size, &format!("HOME={};a=", "a".repeat(size / 2)), ":~", "")
    }),
    ("test", |size| format!("[[ {} a ]]", "! ".repeat(size / 2))),
    ("test-or", |size| {
        format!("[[ a {} ]]", "|| a ".repeat(size / 5))
    }),
    ("test-eq", |size| {
        format!("[[ a {} ]]", "&& 1 -eq 1 ".repeat(size / 11))
    }),
    ("long-word", |size| format!("echo {}", "a".repeat(size))),
    ("newlines", |size| "\n".repeat(size)),
    ("export-many", |size| {
        count(size, "export ", "", |n| format!("a{n}=$a{n} "))
    }),
    ("mapfile", |size| {
        fill(
            size,
            &format!("v='{}';", "a;".repeat(size / 4)),
            "mapfile -C \"$v\" x;",
            "",
        )
    }),
    ("cd-and", |size| {
        format!(
            "cd {} && {{ {} }}",
            "x".repeat(4000),
            "a;".repeat((size / 2).saturating_sub(2010))
        )
    }),
    ("perl-bars", |size| {
        format!(
            "perl {} {}",
            "-e 'a|' ".repeat(size / 16),
            "'b|' ".repeat(size / 10)
        )
    }),
    ("group-tests", |size| {
        fill(
            size,
            "{ ",
            "[[ a ]];",
            &format!("}} > {}", "x".repeat(size / 2)),
        )
    }),
    ("unclear", |size| {
        fill(
            size,
            &format!("v={};", "a".repeat(size / 2)),
            "eval \"$v $u\";",
            "",
        )
    }),
];

fn nested_shells(size: usize) -> String {
    let mut text = format!("a{}", ";a".repeat(size / 40));
    for _ in 0..12 {
        let outer = format!("sh -c '{}'", text.replace('\'', "'\\''"));
        if outer.len() > size {
            break;
        }
        text = outer;
    }
    text
}

/// A text of many items, each different, that a program is given again and again.
fn used_often(size: usize, program: &str, before: &str, after: &str) -> String {
    let unit = format!(";{program} \"$v\"");
    let items = count(size / 2, "v='", "'", |n| format!("{before}{n}{after}"));
    fill(size, &items, &unit, "")
}

/// awk that starts sed that starts make that starts a shell that starts awk.
fn nested_programs(size: usize) -> String {
    let mut text = format!("a{}", ";a".repeat(size / 40));
    for level in 0.. {
        let script = match level % 4 {
            0 => format!("sh -c '{}'", text.replace('\'', "'\\''")),
            1 => format!("make 'A={}'", text.replace('\'', "'\\''")),
            2 => format!("sed '1e {}'", text.replace('\'', "'\\''")),
            _ => {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                format!("awk 'BEGIN{{system(\"{}\")}}'", text.replace('\'', "'\\''"))
            }
        };
        if script.len() > size {
            break;
        }
        text = script;
    }
    text
}

fn nested_backticks(size: usize) -> String {
    let mut text = "a".to_owned();
    for _ in 0..30 {
        let outer = format!("`{}`", text.replace('\\', "\\\\").replace('`', "\\`"));
        if outer.len() > size {
            break;
        }
        text = outer;
    }
    text
}

/// Templates for bash in which `{P}`, `{Q}` and the list `{L}` are values.
pub(crate) fn templates(size: usize) -> Vec<Input> {
    inputs(
        size,
        &[
            ("placeholders", "echo ", "{P} ", ""),
            ("wrapped", "sudo echo ", "{P} ", ""),
            ("wrapped-lists", "sudo echo ", "{L} ", ""),
            ("assigned", "x={P};", "sh -c \"$x\";", ""),
            ("pipes", "echo {P}", "|xargs", ""),
            ("reads", "read ", "a ", "<<< {P}"),
            ("commands", "echo {P};", "a;", ""),
            (
                "awk",
                "awk '{ print }' {P};",
                "awk 'BEGIN { system(\"a\") }';",
                "",
            ),
            ("quoted", "echo \"", "{P}", "\""),
            ("split", "x={P}; echo ", "$x ", ""),
        ],
        &[
            ("substitutions", "$(", "echo {P}", ")"),
            ("groups", "{ ", "echo {P};", "};"),
            ("parameters", "${a:-", "{P}", "}"),
        ],
        &[
            ("doubling", |size| {
                count(size, "v0=aaaaaaaaaaaaaaaa; ", "echo \"$v5\" {P}", |n| {
                    format!("v{}=$v{n}$v{n}; ", n + 1)
                })
            }),
            ("chain", |size| {
                count(size, "v0={P};", "", |n| format!("v{}=$v{n};", n + 1))
            }),
            ("holders", |size| {
                let names = count(size / 2, "", "", |n| format!("a{n} "));
                let values = count(size / 2, "", "", |n| format!("$b{n} "));
                format!("read {names} {values} {{P}}")
            }),
            ("elements", |size| {
                count(size, "echo {P};", "", |n| format!("rm ${{a[{n}]}};"))
            }),
            ("open-elements", |size| fill(size, "echo {P};", "${a", "")),
            ("split-names", |size| {
                count(size, "x={P};", "", |n| format!("v{n}=$x;echo $v{n};"))
            }),
            ("some-placeholders", |size| {
                fill(size, &"sudo echo {P} {L};".repeat(10), "a;", "")
            }),
        ],
    )
}

/// Files of tools in YAML.
pub(crate) fn yaml(size: usize) -> Vec<Input> {
    const HEAD: &str = "name: x\ndescription: x\n";
    let mut files = inputs(
        size,
        &[
            (
                "flow-lists",
                "name: x\ndescription: x\nbash: echo\ntags: [",
                "a,",
                "]\n",
            ),
            (
                "keys-twice",
                "name: x\nbash: echo\n",
                "description: x\n",
                "",
            ),
            ("anchors", "name: x\nbash: echo\ntags:\n", "  - &a a\n", ""),
            (
                "aliases",
                "name: x\nbash: echo\ntags:\n  - &a a\n",
                "  - *a\n",
                "",
            ),
            ("merges", "name: x\nbash: echo\n", "<<: {a: 1}\n", ""),
            (
                "escapes",
                "name: x\nbash: echo\ndescription: \"",
                "\\x41",
                "\"\n",
            ),
            (
                "comments",
                "name: x\nbash: echo\ndescription: x\n",
                "# \n",
                "",
            ),
            ("documents", "name: x\nbash: echo\n", "---\n", ""),
            ("tags", "name: x\nbash: echo\ntags:\n", "  - !!str a\n", ""),
            ("literal", "name: x\ndescription: x\nbash: |\n", "  a\n", ""),
            (
                "folded",
                "name: x\nbash: echo\ndescription: >\n",
                "  a\n\n",
                "",
            ),
            ("dashes", "name: x\nbash: echo\ntags:\n", "- ", "a\n"),
            (
                "question-marks",
                "name: x\nbash: echo\ntags:\n",
                "? ",
                "a\n",
            ),
            ("colons", "name: x\nbash: echo\ntags: ", "a: ", "a\n"),
        ],
        &[
            ("nested-lists", "[", "a", "]"),
            ("nested-maps", "{a: ", "b", "}"),
        ],
        &[
            ("billion-laughs", |size| {
                count(size, "name: x\nbash: echo\na0: &a0 [x,x]\n", "", |n| {
                    format!("a{}: &a{} [*a{n},*a{n}]\n", n + 1, n + 1)
                })
            }),
            ("parameters", |size| {
                count(
                    size,
                    "name: x\ndescription: x\nbash: echo\nparameters:\n",
                    "",
                    |n| format!("  P{n}: {{type: string, description: x}}\n"),
                )
            }),
            ("parameters-set", |size| {
                let head = "name: x\ndescription: x\nparameters:\n";
                let declared = count(size / 3, head, "", |n| {
                    format!("  P{n}: {{type: string, description: x}}\n")
                });
                count(
                    size.min(60_000) + declared.len(),
                    &format!("{declared}bash: |\n"),
                    "",
                    |n| format!("  P{n}=1; echo ${{P{n}}} {{P{n}}} {{Q{n}}}\n"),
                )
            }),
            ("parameters-read", |size| {
                let head = "name: x\ndescription: x\nparameters:\n";
                let declared = count(size / 3, head, "", |n| {
                    format!("  P{n}: {{type: string, description: x}}\n")
                });
                count(
                    size.min(60_000) + declared.len(),
                    &format!("{declared}perl: |\n"),
                    "",
                    |n| format!("  print $ENV{{TOOLCRIB_ARG_P{n}}};\n"),
                )
            }),
            ("steps", |size| {
                count(
                    size,
                    "name: x\ndescription: x\nparameters:\n  P: {type: string, description: x}\nsteps:\n",
                    "",
                    |n| format!("  - name: s{n}\n    bash: sudo echo {{P}} {{P}} {{P}} {{P}}\n"),
                )
            }),
            ("environment", |size| {
                count(
                    size,
                    "name: x\ndescription: x\nbash: env\nparameters:\n  P: {type: string, description: x}\nenvironment:\n  variables:\n",
                    "",
                    |n| format!("    V{n}: \"{{P}}\"\n"),
                )
            }),
            ("indented", |size| {
                let deep: String = (0..40).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
                fill(size, "name: x\nbash: echo\n", &deep, "")
            }),
        ],
    );
    for (name, text) in templates(size.min(60_000)) {
        let text = text.replace('\n', "\n  ");
        files.push((name, format!("{HEAD}parameters:\n  P: {{type: string, description: x}}\n  L: {{type: array, description: x}}\nbash: |\n  {text}\n")));
    }
    files
}

/// JSON of any kind.
pub(crate) fn json(size: usize) -> Vec<Input> {
    inputs(
        size,
        &[
            ("numbers", "[1", ",1", "]"),
            ("lists", "[[1]", ",[1]", "]"),
            ("empty-lists", "[[]", ",[]", "]"),
            ("empty-objects", "[{}", ",{}", "]"),
            ("objects", "[{\"a\":1}", ",{\"a\":1}", "]"),
            ("nulls", "[null", ",null", "]"),
            ("texts", "[\"\"", ",\"\"", "]"),
            ("text", "\"", "a", "\""),
            ("escapes", "\"", "\\u0041", "\""),
            ("large-numbers", "[1", ",18446744073709551616", "]"),
            ("long-number", "1", "1", ""),
            ("long-exponent", "1e", "1", ""),
            ("keys-twice", "{\"a\":1", ",\"a\":1", "}"),
            ("blanks", "[", " ", "]"),
            ("surrogates", "\"", "\\ud83d\\ude00", "\""),
            ("open-lists", "", "[", ""),
        ],
        &[
            ("nested-lists", "[", "1", "]"),
            ("nested-objects", "{\"a\":", "1", "}"),
        ],
        &[
            ("keys", |size| {
                count(size, "{\"k\":1", "}", |n| format!(",\"k{n}\":1"))
            }),
            ("object-lists", |size| {
                let deep = format!("{}1{}", "[{\"a\":".repeat(50), "}]".repeat(50));
                fill(size, "[1", &format!(",{deep}"), "]")
            }),
        ],
    )
}

/// Commands of curl.
pub(crate) fn curl(size: usize) -> Vec<Input> {
    const HEAD: &str = "curl https://api.example.com/v1";
    let with = |rest: &str| format!("{HEAD}{rest}");
    let mut made = inputs(
        size,
        &[
            ("headers", HEAD, " -H 'a: b'", ""),
            ("headers-of-secrets", HEAD, " -H \"x-api-key: $KEY\"", ""),
            ("data", HEAD, " -d a=b", ""),
            ("data-long", HEAD, " --data-urlencode 'a={b}'", ""),
            ("forms", HEAD, " -F a=b", ""),
            ("cookies", HEAD, " -b a=b", ""),
            ("variables", HEAD, "/$A", ""),
            ("options", HEAD, " -s", ""),
            ("letters", "curl -", "s", " https://api.example.com"),
            ("queries", "curl 'https://api.example.com/?a=1", "&a=1", "'"),
            ("path", "curl https://api.example.com", "/a", ""),
            ("globs", "curl 'https://api.example.com/", "{a,b}", "'"),
            ("ranges", "curl 'https://api.example.com/", "[1-9]", "'"),
            ("escapes", "curl https://api.example.com/", "%7B", ""),
            ("urls", "curl", " https://api.example.com", ""),
            ("quotes", "curl https://api.example.com/", "a''", ""),
            ("ansi", "curl https://api.example.com/ -d $'", "\\x41", "'"),
            ("lines", HEAD, " \\\n -s", ""),
            ("values", "curl https://api.example.com -d '[1", ",1", "]'"),
            (
                "lists",
                "curl https://api.example.com -d '[[1]",
                ",[1]",
                "]'",
            ),
            (
                "marks",
                "curl https://api.example.com -d '{\"a\":\"",
                "{x}",
                "\"}'",
            ),
        ],
        &[],
        &[
            ("many-headers", |size| {
                count(size, HEAD, "", |n| format!(" -H 'x{n}: $K{n}'"))
            }),
            ("many-keys", |size| {
                count(
                    size,
                    "curl https://api.example.com -d '{\"a\":1",
                    "}'",
                    |n| format!(",\"k{n}\":\"$V{n}\""),
                )
            }),
            ("many-queries", |size| {
                count(size, "curl 'https://api.example.com/?a=1", "'", |n| {
                    format!("&k{n}={{v{n}}}")
                })
            }),
        ],
    );
    let nested = nest(size.saturating_sub(HEAD.len() + 6), "[", "1", "]");
    made.push(("nested", with(&format!(" -d '{nested}'"))));
    made
}

/// JSON Schemas of arguments, as JSON.
pub(crate) fn schemas(size: usize) -> Vec<Input> {
    let object = |inner: &str| format!("{{\"type\":\"object\",{inner}}}");
    inputs(
        size,
        &[
            ("any-of", "{\"type\":\"object\",\"anyOf\":[{}", ",{\"required\":[\"a\"]}", "]}"),
            ("enum", "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[1", ",1", "]}}}"),
            ("patterns", "{\"type\":\"object\",\"anyOf\":[{}", ",{\"properties\":{\"a\":{\"pattern\":\"\\\\w{200}\"}}}", "]}"),
            ("long-pattern", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"", "(a|b)", "\"}}}"),
            ("counted-pattern", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"", "(\\\\w{9}){9}", "\"}}}"),
            ("items-any-of", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":0}", ",{\"const\":0}", "]}}}}"),
            ("items-one-of", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"oneOf\":[{\"const\":1}", ",{\"const\":0}", "]}}}}"),
            ("items-all-of", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"allOf\":[{}", ",{\"type\":\"string\"}", "]}}}}"),
            ("items-enum", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"enum\":[0", ",0", "]}}}}"),
            ("items-long-enum", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"enum\":[\"", "aaaaaaaa", "\"]}}}}"),
            ("items-pattern", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"pattern\":\"^", "(b)", "$\"}}}}"),
            ("description", "{\"type\":\"object\",\"description\":\"", "a", "\"}"),
        ],
        &[
            ("nested", "{\"type\":\"object\",\"properties\":{\"a\":", "{}", "}}"),
            ("nested-not", "{\"not\":", "{}", "}"),
            ("nested-any", "{\"anyOf\":[{},", "{}", "]}"),
        ],
        &[
            ("properties", |size| count(size, "{\"type\":\"object\",\"properties\":{\"a\":{}", "}}", |n| format!(",\"p{n}\":{{\"type\":\"string\"}}"))),
            ("doubling", |size| {
                let defs = count(size, "\"d\":{}", "", |n| {
                    format!(",\"d{n}\":{{\"allOf\":[{{\"$ref\":\"#/$defs/d{0}\"}},{{\"$ref\":\"#/$defs/d{0}\"}}]}}", n + 1)
                });
                let last = defs.matches("allOf").count();
                format!("{{\"type\":\"object\",\"$ref\":\"#/$defs/d0\",\"$defs\":{{{defs},\"d{last}\":{{}}}}}}")
            }),
            ("doubling-below", |size| {
                let defs = count(size, "\"d\":{}", "", |n| {
                    let next = format!("{{\"properties\":{{\"a\":{{\"$ref\":\"#/$defs/d{}\"}}}}}}", n + 1);
                    format!(",\"d{n}\":{{\"allOf\":[{next},{next}]}}")
                });
                let last = defs.matches("allOf").count();
                format!("{{\"type\":\"object\",\"$ref\":\"#/$defs/d0\",\"$defs\":{{{defs},\"d{last}\":{{}}}}}}")
            }),
            ("itself", |_| "{\"type\":\"object\",\"allOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}}},{\"properties\":{\"a\":{\"$ref\":\"#\"}}}]}".to_owned()),
            ("unevaluated", |size| {
                let forms = fill(size, "{}", ",{\"properties\":{\"a\":{\"unevaluatedProperties\":false,\"anyOf\":[{},{}]}}}", "");
                format!("{{\"type\":\"object\",\"unevaluatedProperties\":false,\"anyOf\":[{forms}]}}")
            }),
            ("pattern-properties", |size| count(size, "{\"type\":\"object\",\"patternProperties\":{\"a\":{}", "}}", |n| format!(",\"(\\\\w{{99}}){n}\":{{}}"))),
        ],
    )
    .into_iter()
    .chain([("refs", object("\"$ref\":\"#\""))])
    .collect()
}

/// Arguments that meet such schemas, as JSON.
pub(crate) fn arguments(size: usize) -> Vec<Input> {
    inputs(
        size,
        &[
            ("text", "{\"a\":\"", "a", "\"}"),
            ("almost", "{\"a\":\"", "ab", "!\"}"),
            ("list", "{\"a\":[1", ",1", "]}"),
            ("failing-list", "{\"a\":[-1", ",-1", "]}"),
            ("texts", "{\"a\":[\"b\"", ",\"a\"", "]}"),
        ],
        &[("nested", "{\"a\":", "1", "}")],
        &[
            ("letters", |size| {
                let letters: String = noise(size)
                    .iter()
                    .map(|byte| if byte % 2 == 0 { 'a' } else { 'b' })
                    .collect();
                format!("{{\"a\":\"{letters}\"}}")
            }),
            ("keys", |size| {
                count(size, "{\"a\":1", "}", |n| format!(",\"p{n}\":\"x\""))
            }),
        ],
    )
}

/// Expressions of JSONPath.
pub(crate) fn json_paths(size: usize) -> Vec<Input> {
    inputs(
        size,
        &[
            ("descendants", "$", "..*", ""),
            ("wildcards", "$", "[*]", ""),
            ("twice", "$", "[*,*]", ""),
            ("slices", "$", "[::1]", ""),
            ("unions", "$[0", ",0", "]"),
            ("or", "$..[?@", "||@", "]"),
            ("not", "$..[?", "!", "@]"),
            ("match", "$..[?match(@,'", "(a|b)*", "')]"),
            ("names", "$", "['a']", ""),
        ],
        &[],
        &[
            ("counted-pattern", |size| {
                fill(size, "$..[?search(@,'", "(a{9}){9}", "')]")
            }),
            ("filters", |size| {
                format!("${}", nest(size, "..[?@", "..*", "]"))
            }),
            ("parentheses", |size| {
                format!("$[?{}]", nest(size, "(", "@", ")"))
            }),
        ],
    )
}

/// Regular expressions.
pub(crate) fn patterns(size: usize) -> Vec<Input> {
    inputs(
        size,
        &[
            ("groups", "", "(a)", ""),
            ("alternatives", "a", "|b", ""),
            ("optional", "", "(a|b)?", ""),
            ("stars", "", "(a*)*", ""),
            ("classes", "", "\\w", ""),
            ("large-classes", "", "\\p{L}{99}", ""),
            ("ranges", "[", "a-z0-9", "]"),
            ("counted", "", "\\w{900}", ""),
            ("any", "", ".*", ""),
            ("boundaries", "", "\\b", ""),
            ("flags", "", "(?i)", "ß"),
            ("names", "", "(?:\\pL|\\d)+", ""),
        ],
        &[],
        &[
            ("nested", |size| nest(size, "(", "a", ")")),
            ("nested-stars", |size| nest(size, "(", "a", ")*")),
            ("nested-counts", |size| nest(size, "(", "a", "){9}")),
            ("nested-sets", |size| nest(size, "[a", "b", "]")),
        ],
    )
}

/// Indexes of git, about so large.
pub(crate) fn indexes(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    const FILE: u32 = 0o100_644;
    const LINK: u32 = 0o160_000;
    // Names in the fourth version cut the one before by so many bytes, and add these.
    let entry = |version: u32, mode: u32, cut: u8, name: &[u8], length: usize| {
        let mut entry = vec![0; 24];
        entry.extend(mode.to_be_bytes());
        entry.extend([0; 32]);
        entry.extend(u16::try_from(length.min(0xfff)).unwrap().to_be_bytes());
        if version == 4 {
            entry.push(cut);
        }
        entry.extend(name);
        let zeros = match version {
            4 => 1,
            _ => 8 - entry.len() % 8,
        };
        entry.extend(&[0; 8][..zeros]);
        entry
    };
    let index = |version: u32, count: u32, entries: &dyn Fn(usize) -> Vec<u8>| {
        let mut index = b"DIRC".to_vec();
        index.extend(version.to_be_bytes());
        index.extend(count.to_be_bytes());
        let mut number = 0;
        while index.len() < size {
            index.extend(entries(number));
            number += 1;
        }
        let count = u32::try_from(number).unwrap().min(count);
        index[8..12].copy_from_slice(&count.to_be_bytes());
        index.extend([0; 20]);
        index
    };
    let all = u32::MAX;
    let numbered = |n: usize| format!("{n:08}").into_bytes();
    let long = noise(16_000);
    vec![
        (
            "files",
            index(2, all, &|n| entry(2, FILE, 0, &numbered(n), 8)),
        ),
        (
            "links",
            index(2, all, &|n| entry(2, LINK, 0, &numbered(n), 8)),
        ),
        (
            "shared-beginnings",
            // Each name is the one before and one byte more.
            index(4, all, &|n| match n {
                0 => entry(4, LINK, 0, &long[..10_000], 10_000),
                n => entry(4, LINK, 0, b"a", 10_000 + n),
            }),
        ),
        (
            "growing-names",
            index(4, all, &|n| {
                entry(4, FILE, 0, if n == 0 { b"" } else { b"a" }, n)
            }),
        ),
        (
            "long-names",
            index(2, all, &|_| entry(2, LINK, 0, &long, long.len())),
        ),
        ("no-entries", index(2, 0, &|_| vec![0; 64])),
        ("extensions", index(2, 0, &|_| b"JUNK\0\0\0\0".to_vec())),
        (
            "endless-extension",
            index(2, 0, &|_| b"aaaa\xff\xff\xff\xff".to_vec()),
        ),
        (
            "split",
            index(2, 0, &|_| b"link\0\0\0\x14....................".to_vec()),
        ),
    ]
}

/// Documents that such expressions meet, as JSON.
pub(crate) fn documents(size: usize) -> Vec<Input> {
    let bush = |depth: usize| {
        let mut text = "1".to_owned();
        for _ in 0..depth {
            text = format!("[{text},{text},{text},{text}]");
        }
        text
    };
    let mut documents = json(size);
    documents.retain(|(name, _)| {
        matches!(
            *name,
            "lists" | "objects" | "text" | "keys" | "object-lists"
        )
    });
    documents.push(("bush", bush(7)));
    documents
}

/// Web pages.
pub(crate) fn html(size: usize) -> Vec<Input> {
    inputs(
        size,
        &[
            ("paragraphs", "<html><body>", "<p>a", "</body></html>"),
            ("links", "<html><body>", "<a href=x>a</a>", "</body></html>"),
            ("ampersands", "<html><body><p>", "&amp;", "</body></html>"),
            ("open-tags", "<html><body>", "<b><i>", ""),
            ("attributes", "<html><body><p ", "a=b ", ">x</body></html>"),
            ("comments", "<html><body>", "<!-- -->", "</body></html>"),
            ("open-comments", "<html><body>", "<!--", ""),
            ("scripts", "<html><body>", "<script>", ""),
            ("less", "<html><body>", "<", ""),
            (
                "rows",
                "<html><body><table>",
                "<tr><td>a",
                "</table></body></html>",
            ),
            ("items", "<html><body><ul>", "<li>a", "</ul></body></html>"),
            (
                "headings",
                "<html><body>",
                "<h1>a</h1><p>a, b, c</p>",
                "</body></html>",
            ),
            ("close-tags", "<html><body>", "</p>", "</body></html>"),
            (
                "bases",
                "<html><head>",
                "<base href=/a/b/c/>",
                "</head></html>",
            ),
            ("formatting", "<html><body>", "<a><b><i><u><p>", ""),
            ("entities", "<html><body>", "&#x41;", "</body></html>"),
            (
                "styles",
                "<html><body>",
                "<p style='display:none'>a</p>",
                "</body></html>",
            ),
        ],
        &[
            ("divs", "<div>", "a", "</div>"),
            ("lists", "<ul><li>", "a", "</li></ul>"),
            ("quotes", "<blockquote>", "a", "</blockquote>"),
            ("tables", "<table><tr><td>", "a", "</td></tr></table>"),
            ("spans", "<span>", "a", "</span>"),
        ],
        &[("long-links", |size| {
            let base = format!(
                "<html><head><base href='https://x.example/{}/'></head><body>",
                "a".repeat(2000)
            );
            fill(size, &base, "<a href=x>a</a>", "</body></html>")
        })],
    )
}

/// Rules in TOML, with examples that are checked when they are read.
pub(crate) fn rules(size: usize) -> Vec<Input> {
    const RULE: &str =
        "[[rules]]\nname = \"r\"\ntools = [\"shell\"]\nverdict = \"ask\"\nreason = \"x\"\n";
    let mut files: Vec<Input> = vec![
        (
            "rules",
            count(size, "", "", |n| {
                RULE.replace("\"r\"", &format!("\"r{n}\"")) + "forbidden_patterns = [\"a.*b\"]\n"
            }),
        ),
        (
            "patterns",
            fill(
                size,
                &format!("{RULE}forbidden_patterns = [\"a\""),
                ",\"(\\\\w{50}){9}\"",
                "]\n",
            ),
        ),
        (
            "long-pattern",
            fill(
                size,
                &format!("{RULE}forbidden_patterns = [\""),
                "(a|b*)*",
                "\"]\n",
            ),
        ),
        (
            "globs",
            fill(
                size,
                &format!("{RULE}path = [\"a\""),
                ",\"**/a*a*a*a*b\"",
                "]\n",
            ),
        ),
        (
            "long-glob",
            fill(size, &format!("{RULE}path = [\""), "*a", "\"]\n"),
        ),
        ("nested", nest(size, "a = [", "1", "]")),
        ("keys", count(size, "", "", |n| format!("k{n} = 1\n"))),
        (
            "braces",
            fill(size, &format!("{RULE}path = [\""), "{a,b}", "\"]\n"),
        ),
    ];
    let doubling = count(400, "v0=aaaa; ", "echo $v5", |n| {
        format!("v{}=$v{n}$v{n}; ", n + 1)
    });
    for (name, text) in [
        ("doubling", doubling.as_str()),
        ("braces", "echo {1..200}{1..200}"),
    ] {
        let head = format!("{RULE}command = {{ name = \"rm\" }}\nexamples.pass = [");
        let example = format!("{},", serde_json::Value::from(text));
        files.push((name, fill(size, &head, &example, "]\n")));
    }
    for (name, text) in shell(size.min(20_000)) {
        let quoted = serde_json::Value::from(text).to_string();
        files.push((
            name,
            format!("{RULE}command = {{ name = \"rm\" }}\nexamples.pass = [{quoted}]\n"),
        ));
    }
    files
}

/// The entry of an archive: its name, whether it is packed, and its content.
fn entry(name: &str, packed: bool, content: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    let data = if packed {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    } else {
        content.to_vec()
    };
    let mut header = 20_u16.to_le_bytes().to_vec();
    header.extend(0_u16.to_le_bytes());
    header.extend(if packed { 8_u16 } else { 0 }.to_le_bytes());
    header.extend([0, 0, 33, 0]);
    header.extend(crc.sum().to_le_bytes());
    for number in [data.len(), content.len()] {
        header.extend(u32::try_from(number).unwrap().to_le_bytes());
    }
    header.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    header.extend(0_u16.to_le_bytes());
    (header, data)
}

fn zip(entries: impl IntoIterator<Item = (String, bool, Vec<u8>)>) -> Vec<u8> {
    let (mut file, mut directory, mut number) = (Vec::new(), Vec::new(), 0_u16);
    for (name, packed, content) in entries {
        let (header, data) = entry(&name, packed, &content);
        let offset = u32::try_from(file.len()).unwrap();
        file.extend(0x0403_4b50_u32.to_le_bytes());
        file.extend(&header);
        file.extend(name.as_bytes());
        file.extend(&data);
        directory.extend(0x0201_4b50_u32.to_le_bytes());
        directory.extend((3_u16 << 8 | 20).to_le_bytes());
        directory.extend(&header);
        directory.extend([0; 6]);
        directory.extend((0o100_644_u32 << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
        number += 1;
    }
    let start = u32::try_from(file.len()).unwrap();
    let length = u32::try_from(directory.len()).unwrap();
    file.extend(directory);
    file.extend(0x0605_4b50_u32.to_le_bytes());
    file.extend([0; 4]);
    file.extend(number.to_le_bytes());
    file.extend(number.to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0; 2]);
    file
}

const BUNDLE_ID: &str = "018faf50-b7b6-7a01-9a05-a22a6e0af101";

/// A stored tool, with a schema and a description that are given.
pub(crate) fn tool(
    slug: &str,
    number: usize,
    schema: &serde_json::Value,
    description: &str,
) -> serde_json::Value {
    serde_json::json!({
        "schemaVersion": "1", "bundleID": BUNDLE_ID,
        "toolID": format!("018faf50-b7b6-7a01-9a05-{number:012x}"),
        "slug": slug, "version": "v1", "displayName": "", "description": description,
        "type": "http", "isEnabled": true, "isBuiltIn": false, "argSchema": schema,
        "impl": {"method": "GET", "urlTemplate": "https://api.example.com/v1"},
        "tags": [], "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"
    })
}

/// Archives of bundles, each about so large when it is unpacked.
pub(crate) fn archives(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let bundle = serde_json::json!({
        "schemaVersion": "1", "bundleID": BUNDLE_ID, "slug": "acme", "displayName": "Acme",
        "description": "Orders", "isEnabled": true, "isBuiltIn": false,
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"
    });
    let bundle = (
        "bundle.json".to_owned(),
        true,
        bundle.to_string().into_bytes(),
    );
    let with =
        |entries: Vec<(String, bool, Vec<u8>)>| zip(std::iter::once(bundle.clone()).chain(entries));
    let one = size.min(4 * 1024 * 1024);
    let many = |count: usize, content: &dyn Fn(usize) -> Vec<u8>| {
        let entries = (0..count).map(|n| (format!("tools/t{n}.json"), true, content(n)));
        with(entries.collect())
    };
    let described = |n: usize, length: usize| {
        let text = String::from_utf8(noise(length)).unwrap();
        tool(
            &format!("t{n}"),
            n,
            &serde_json::json!({"type": "object"}),
            &text,
        )
        .to_string()
        .into_bytes()
    };
    let times = (size / one).max(1);
    let mut archives = vec![
        ("zeros", many(times, &|_| vec![b'0'; one])),
        ("blanks", many(times, &|_| vec![b' '; one])),
        (
            "small-tools",
            many((size / 700).clamp(1, 10_000), &|n| described(n, 10)),
        ),
        (
            "large-tools",
            many((size / 60_000).max(1), &|n| described(n, 50_000)),
        ),
        (
            "empty",
            many((size / 100).clamp(1, 10_000), &|_| Vec::new()),
        ),
    ];
    for (name, text) in json(one.saturating_sub(1000)) {
        archives.push((name, many(times, &|_| text.clone().into_bytes())));
        let with_schema = |n: usize| {
            let tool = tool(&format!("t{n}"), n, &serde_json::json!({"const": "@"}), "x");
            tool.to_string().replace("\"@\"", &text).into_bytes()
        };
        archives.push((name, many(times, &with_schema)));
    }
    archives
}
