//! Heaps of signs with values in them: whatever compiles is really run, and no value does anything.
//!
//! Nothing in the heaps touches the canary, only the values would, if something read them as code. So this looks for places that
//! ought to be refused. `TOOLCRIB_TEMPLATE_CASES=100000` tries more.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use toolcrib::template::{Code, Form, Invocation};

use super::programs::Yard;
use super::{names, property, values};

/// Pieces of texts; `{P}` and `{Q}` are values.
const PIECES: &[&str] = &[
    "{P}",
    "{P}",
    "{P}",
    "{P}",
    "{P}",
    "{Q}",
    "\"{P}\"",
    "'{P}'",
    "$'{P}'",
    "\"a {P}\"",
    "x{P}",
    "-{P}",
    "--x={P}",
    "echo ",
    "echo ",
    "printf '%s' ",
    "printf -v x ",
    "printf -v ",
    "cat ",
    "cat <<< ",
    "eval ",
    "sh -c ",
    "bash -c ",
    "sh -s ",
    "env ",
    "env -S ",
    "command ",
    "builtin ",
    "exec ",
    "test -v ",
    "[ -v ",
    " ]",
    "test ",
    "[[ ",
    " ]]",
    "[[ -v ",
    " -eq 1",
    " == ",
    " =~ ",
    "-n ",
    "$((",
    "))",
    "((",
    "$[",
    "]",
    "let ",
    "let x=",
    "declare ",
    "declare -a x=",
    "declare -A m=",
    "declare -i x=",
    "declare -n r=",
    "declare x=",
    "local ",
    "export x=",
    "export ",
    "readonly ",
    "typeset -a ",
    "unset ",
    "read x <<< ",
    "read ",
    "read -a ",
    "mapfile ",
    "mapfile -t x <<< ",
    "getopts a ",
    "trap ",
    " EXIT",
    "trap '",
    "alias x=",
    "source ",
    ". ",
    "source /dev/stdin <<< ",
    "set -- ",
    "set ",
    "shopt -s extglob; ",
    "x=",
    "x+=",
    "y=$x",
    "a=(",
    ")",
    "a[",
    "]=1",
    "a=([",
    "]=1)",
    "m[x]=",
    "$x",
    "\"$x\"",
    "${x}",
    "${!x}",
    "${x@P}",
    "${x@Q}",
    "${a[",
    "]}",
    "${x:-",
    "${x:=",
    "${x:+",
    "${x#",
    "${x/a/",
    "${x:",
    "${#x}",
    "}",
    "\"${x:-",
    "}\"",
    "$(",
    ")",
    "\"$(",
    ")\"",
    "`",
    "\"`",
    "`\"",
    "<(",
    ">(",
    "{ ",
    "; }",
    "( ",
    " )",
    "'",
    "\"",
    "\\",
    "$'",
    "$\"",
    "; ",
    "; ",
    "\n",
    " && ",
    " || ",
    " | ",
    " | sh",
    " | cat",
    " | while read x; do ",
    "; done",
    " & ",
    "! ",
    "time ",
    " # ",
    "for x in ",
    "; do ",
    "for ((i=0;i<",
    ";i++)); do ",
    "case ",
    " in ",
    ") ",
    ";; esac",
    "*) ",
    "if ",
    "; then ",
    "; fi",
    "else ",
    "f() { ",
    "; }; f ",
    "$1",
    "\"$1\"",
    "\"$@\"",
    "function g { ",
    " > f",
    " >& ",
    " >&",
    " &> ",
    " < ",
    " <& ",
    " 2>&1",
    " >> ",
    " <> ",
    " <<EOF\n",
    " <<'EOF'\n",
    " <<-EOF\n",
    "\nEOF\n",
    " <<\"E\"\n",
    "\nE\n",
    "{a,",
    "}",
    "{1..",
    "~",
    "*",
    "?",
    "[a-z]",
    "@(",
    "=",
    "-",
    " ",
    " ",
    " ",
    "awk ",
    "awk 'BEGIN { print \"",
    "\" }'",
    "sed -n ",
    "sed 's/a/",
    "/'",
    "xargs ",
    "xargs sh -c ",
    "find . -name ",
    "find . -exec ",
    " \\;",
    "find . -maxdepth 0 -exec echo ",
    "perl -e ",
    "perl -ne 'print' ",
    "coproc ",
    "select x in ",
    "$x_",
    "_",
    "PS4=",
    "set -x; ",
    "BASH_ENV=",
    "ENV=",
    "IFS=",
    "OPTIND=",
    "RANDOM=",
    "compgen -W ",
    "hash -p ",
    "enable ",
    "type ",
    "wait ",
    "kill -0 ",
    "ulimit -n ",
    "shift ",
    "return ",
    "exit ",
    "pushd ",
    "cd ",
    "true ",
    ": ",
    "tr a b <<< ",
    "sort ",
    "head -n ",
    "nice ",
    "timeout 1 ",
    "tee /dev/null <<< ",
    "dd if=",
    "expr ",
    "bc <<< ",
];

/// Values that run something wherever they are read as code.
const VALUES: &[&str] = &[
    "$(touch CANARY)",
    "`touch CANARY`",
    "; touch CANARY;",
    "\ntouch CANARY\n",
    "touch CANARY",
    "a[$(touch CANARY)]",
    "x[$(touch CANARY)]=1",
    "([$(touch CANARY)]=1)",
    "'; touch CANARY; '",
    "\"; touch CANARY; \"",
    "' $(touch CANARY) '",
    "\" $(touch CANARY) \"",
    "} ; touch CANARY ; {",
    ") ; touch CANARY ; (",
    "\nEOF\ntouch CANARY\n",
    "1+a[$(touch CANARY)]",
    "${x:=$(touch CANARY)}",
    "@(x|$(touch CANARY))",
    "BEGIN { system(\"touch CANARY\") }",
    "s/a/b/e;1e touch CANARY",
    "system(\"touch CANARY\")",
    "touch CANARY|",
    "|touch CANARY",
    "+c",
    "x=$(touch CANARY)",
    "-exec touch CANARY ;",
    "> CANARY",
    "PATH",
    "x",
    "!",
    "(",
    "0",
];

#[test]
fn no_value_does_anything_in_a_heap_of_signs() {
    let yard = Yard::new();
    let canary = yard.canary().to_string_lossy().into_owned();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &property::seed());
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let some = |most: usize| {
        proptest::collection::vec(proptest::sample::select(PIECES), 0..most)
            .prop_map(|pieces| pieces.concat())
    };
    // The first pieces of the list have values in them.
    let heap = (some(4), proptest::sample::select(&PIECES[..13]), some(5))
        .prop_map(|(before, value, after)| format!("{before}{value}{after}"))
        .boxed();
    let value = proptest::sample::select(VALUES).boxed();
    let (mut templates, mut compiled, mut runs) = (0, 0, 0);
    let names = names("P Q", "");
    while runs < property::cases() / 10 {
        let text = heap.new_tree(&mut runner).unwrap().current();
        let mut draw = || {
            let value = value.new_tree(&mut runner).unwrap().current();
            value.replace("CANARY", &canary)
        };
        templates += 1;
        let Ok(code) = Code::compile(&Form::Bash, &text, &names) else {
            continue;
        };
        compiled += 1;
        let plain = code.prepare(&values(json!({"P": "x", "Q": "x"})));
        for _ in 0..3 {
            let (p, q) = (draw(), draw());
            // A file of that name is the template's doing, not the value's.
            if (p.contains("> ") || q.contains("> ")) && text.contains('>') {
                continue;
            }
            let Ok(prepared) = code.prepare(&values(json!({"P": p, "Q": q}))) else {
                continue;
            };
            if let Ok(plain) = &plain {
                assert_eq!(
                    plain.arguments, prepared.arguments,
                    "{text:?} with {p:?}, {q:?}"
                );
            }
            // A heap may wait for ever or send signals to its group: it gets a group and its own time.
            let mut arguments = ["-s", "KILL", "5", prepared.program.as_str()]
                .map(str::to_owned)
                .to_vec();
            arguments.extend(prepared.arguments);
            yard.run(&Invocation {
                program: "timeout".to_owned(),
                arguments,
                ..prepared
            });
            runs += 1;
            assert!(!yard.canary().exists(), "{text:?} with {p:?}, {q:?}");
        }
        yard.clean();
    }
    println!("{templates} templates, {compiled} compiled, {runs} runs");
}
