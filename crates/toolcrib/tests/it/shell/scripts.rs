//! Random bash, made of what people write to hide a command. Programs are called `zap`, `burn` and `wipe`, which exist only
//! as stubs: whatever runs, nothing is harmed.

use proptest::prelude::*;

const PROGRAMS: &[&str] = &["zap", "burn", "wipe"];
const ARGUMENTS: &[&str] = &[
    "x", "-rf", "a b", "y*z", "", "$v", "it's", "\\", "{x,y}", "~", "#no", "a=b", "!", "}", "-c",
    "--", "0", "k]",
];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// A text written in one of bash's many ways.
fn spelled(text: &'static str) -> BoxedStrategy<String> {
    let escaped: String = text.chars().flat_map(|c| ['\\', c]).collect();
    let hex: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let octal: String = text.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let middle = (0..=text.len())
        .rev()
        .find(|at| text.is_char_boundary(*at) && *at <= text.len() / 2)
        .unwrap_or(0);
    let (head, tail) = text.split_at(middle);
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !text.is_empty();
    let safe = if plain { text.to_owned() } else { quoted(text) };
    prop_oneof![
        4 => Just(safe.clone()),
        2 => Just(double_quoted(text)),
        1 => Just(if text.is_empty() { "''".to_owned() } else { escaped }),
        1 => Just(format!("$'{hex}'")),
        1 => Just(format!("$'{octal}'")),
        1 => Just(format!("{}{}", quoted(head), double_quoted(tail))),
        1 => Just(format!("{safe}''")),
    ]
    .boxed()
}

fn word() -> BoxedStrategy<String> {
    prop_oneof![
        6 => prop::sample::select(ARGUMENTS).prop_flat_map(spelled),
        1 => prop::sample::select(&["$v", "\"$v\"", "${v}", "$HOME", "\"$HOME/x\"", "~/x", "*", "s?b", "[a-s]ub", "{a,b}", "p{a,b{c,d}}q", "{1..3}", "{a,b", "a{b}c", "{}", "${u:-d}", "\"${u:-$v}\"", "$((1+2))", "${#v}", "$?", "\"$@\"", "$1", "a=~", "x:~", "${v%p}", "${v/z/y}", "$'a\\'b'", "$\"q\"", "{,x}", "{x,}{y,z}", "\\", "a#b", "$", "\"a$\""]).prop_map(str::to_owned),
    ]
    .boxed()
}

fn name() -> BoxedStrategy<String> {
    prop_oneof![
        8 => prop::sample::select(PROGRAMS).prop_flat_map(spelled),
        1 => prop::sample::select(&["$v", "${v}", "\"$v\"", "$(echo zap)", "`echo burn`", "${u:-wipe}", "{zap,burn}", "z?p", "./zap", "f", "g", "$v$u", "$u zap", "''zap", "za\\\np", "${v}p", "~/zap", "\"$(echo zap)\"", "[", "nosuch", "v=1"]).prop_map(str::to_owned),
    ]
    .boxed()
}

fn redirect() -> BoxedStrategy<String> {
    prop::sample::select(&[
        "",
        "",
        "",
        "",
        "> out",
        ">>out",
        "2>&1",
        "2>/dev/null",
        "< in",
        "&> out",
        "<<< here",
        "3> out",
        ">| out",
        "{fd}> out",
        "<&-",
        ">&2",
        "> $v.txt",
        "<> out",
    ])
    .prop_map(str::to_owned)
    .boxed()
}

fn assignment() -> BoxedStrategy<String> {
    prop_oneof![
        8 => Just(String::new()),
        1 => prop::sample::select(&["v=zap ", "u= ", "v='burn x' ", "A=1 ", "v+=p ", "arr=(zap x) ", "arr[1]=x ", "v=$u ", "v=\"$v\" ", "v=~ ", "V={a,b} ", "v=*.c ", "v= "]).prop_map(str::to_owned),
    ]
    .boxed()
}

/// A command without any others in it.
fn simple() -> BoxedStrategy<String> {
    (
        assignment(),
        name(),
        prop::collection::vec(word(), 0..4),
        redirect(),
    )
        .prop_map(|(assignment, name, words, redirect)| {
            let mut text = format!("{assignment}{name}");
            for word in words {
                text.push(' ');
                text.push_str(&word);
            }
            if !redirect.is_empty() {
                text.push(' ');
                text.push_str(&redirect);
            }
            text
        })
        .boxed()
}

const LONE: &[&str] = &[
    "v=zap",
    "v='zap x'",
    "u=",
    "v=",
    "unset v",
    "readonly v=zap",
    "export v=burn",
    "declare -i n=3",
    "declare v=wipe",
    "read v < in",
    "cd sub",
    "cd ..",
    "set -e",
    "set +e",
    "shift",
    "true",
    "false",
    ":",
    "IFS=z",
    "set -- zap x",
    "local v=1",
    "v=$(echo zap)",
    "((n=1))",
    "((n++))",
    "let n=2",
    "arr=(zap burn)",
    "shopt -s nullglob",
    "set -f",
    "# no",
    "pushd sub >/dev/null",
    "printf -v v zap",
    "w=v",
    "v=${u:=zap}",
    "exec 3>&1",
    "hash -r",
    "exec < /dev/null",
    "v=zap u=x",
    "a=${v}p",
];

/// Commands around a command.
fn around(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let forms: &[&str] = &[
        "{}; {}",
        "{} && {}",
        "{} || {}",
        "{} | {}",
        "{} & {}",
        "{}\n{}",
        "( {} )",
        "{ {}; }",
        "! {}",
        "time {}",
        "time -p {}",
        "if {}; then {}; fi",
        "if {}; then {}; else {}; fi",
        "if true; then {}\nelif {}; then {}; fi",
        "for i in 1 2; do {}; done",
        "for i in \"{}\"; do {}; done",
        "for i in $({}); do {}; done",
        "while {}; do {}; break; done",
        "until {}; do {}; break; done",
        "for ((i=0;i<2;i++)); do {}; done",
        "case x in x) {};; esac",
        "case $({}) in *) {} ;; esac",
        "case x in y) {};; (x) {};& z) {} ;; esac",
        "f() { {}; }",
        "f() { {}; }; f",
        "function g { {}; }; g a b",
        "f() ( {} ); f x",
        "zap() { {}; }; zap",
        "echo $({})",
        "echo \"$({})\"",
        "echo `{}`",
        "zap \"$({})\" x",
        "cat <({})",
        "echo x > >({})",
        "v=$({})",
        "v=`{}` burn",
        "arr=($({}))",
        "zap ${u:-$({})}",
        "zap \"${u:-`{}`}\"",
        "((n = 1 + $({}) 0))",
        "echo $((1 + $({}) 2))",
        "[[ -n $({}) ]] && {}",
        "[[ x == $({}) || -z x ]]",
        "[ \"$({})\" = x ] || {}",
        "env {}",
        "env A=1 {}",
        "timeout 5 {}",
        "nice {}",
        "nice -n 5 {}",
        "nohup {}",
        "command {}",
        "exec {}",
        "builtin {}",
        "eval {}",
        "eval '{}'",
        "sh -c '{}'",
        "bash -c '{}'",
        "bash -c \"{}\"",
        "sh -ec '{}' a b",
        "bash <<'E'\n{}\nE\n",
        "bash <<E\n{}\nE\n",
        "bash <<< '{}'",
        "cat <<E\n$({})\nE\n",
        "cat <<-E\n\t`{}`\n\tE\n",
        "cat <<'E'\n$({})\nE\n",
        "cat <<E && {}\nbody $({})\nE\n",
        "trap '{}' EXIT",
        "find . -maxdepth 0 -exec {} \\;",
        "echo x | xargs {}",
        "echo x | xargs -I@ {} @",
        "coproc {}",
        "{} |& {}",
        "{} # {}",
        "{} \\\n x",
        "env -S 'zap x' ",
        "echo '{}' | sh",
        "setsid -w {}",
        "stdbuf -o0 {}",
        "{ {}\n} > out",
        "( {} ) 2>&1 | {}",
        "zap <<E x\n$v $({})\nE\n",
        "x={}",
        "arr[$({})0]=x",
        "echo ${v:$({})0:1}",
        "echo ${arr[$({})0]}",
        "echo \"${v#$({})}\"",
        "echo $[ 1 $({}) ]",
        "{}; }",
        "({}",
        "{} ) {}",
        "echo \"{}",
        "echo '{}",
        "if {}; fi",
        "{};; {}",
        "{} &&",
        "; {}",
        "|| {}",
        "{} <",
        "f() {}",
        "echo $({}",
        "${{}}",
        "do {}",
        "{ {} }",
        "while read l; do {}; done <<E\na\nE\n",
        "select i in a; do {}; break; done < in",
        "source <(echo '{}')",
        "mapfile -C '{}' -c 1 m < in",
        "test -v 'arr[$({})]'",
        "unset 'arr[$({})]'",
        "read 'arr[$({})]' < in",
        "declare 'arr[$({})]=1'",
        "printf -v 'arr[$({})]' x",
        "let 'arr[$({})]=1'",
        "[[ -v arr[$({})] ]]",
        "[[ 'arr[$({})]' -eq 0 ]]",
        "n='arr[$({})]'; ((n))",
        "n='arr[$({})]'; echo $((n))",
        "PS4='$({})'; set -x; :",
        "BASH_ENV=in bash -c :",
        "PATH=sub:$PATH {}",
        "alias zap='{}'; zap",
        "w='$({})'; echo \"${w@P}\"",
        "w=v; echo ${!w}",
        "v=zap; f() { v=burn; }; f; $v x",
        "v=zap; for v in burn; do :; done; $v",
        "v=zap; (v=burn); $v",
        "v=zap; true && v=burn; $v x",
        "v=zap; v=burn | cat; $v x",
        "v=zap; echo x | read v; $v",
        "v=zap; eval v=burn; $v",
        "for v in zap burn; do $v x; done",
        "exec -a q {}",
        "command -p {}",
        "command -v {}",
        "sh -c '\"$0\" x' zap",
        "bash -c '\"$@\"' _ zap x",
        "set -- zap; \"$@\"",
        "f() { \"$@\"; }; f zap x",
        "f() { $1 x; }; f zap",
        "{} & wait",
        "trap '{}' ERR; false",
        "trap '{}' DEBUG; :",
        "cd sub && {}",
        "(cd sub; {}); {}",
        "cd sub || {}",
        "{} < <({})",
        "{fd}<<< x {}",
        "$(echo {})",
        "`echo {}`",
        "\"{}\"",
        "'{}'",
    ];
    let forms: Vec<&'static str> = forms.to_vec();
    (
        prop::sample::select(forms),
        inner.clone(),
        inner.clone(),
        inner,
    )
        .prop_map(|(form, one, two, three)| {
            let mut fill = [one, two, three].into_iter();
            let mut text = String::new();
            let mut rest = form;
            while let Some(at) = rest.find("{}") {
                text.push_str(&rest[..at]);
                text.push_str(&fill.next().unwrap_or_else(|| "zap x".to_owned()));
                rest = &rest[at + 2..];
            }
            text.push_str(rest);
            text
        })
        .boxed()
}

/// A whole script that mostly follows the grammar.
pub(super) fn script() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        6 => simple(),
        2 => prop::sample::select(LONE).prop_map(str::to_owned),
    ]
    .boxed();
    let nested = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            5 => around(inner.boxed()),
            1 => simple(),
        ]
        .boxed()
    });
    let prelude = prop_oneof![4 => Just(String::new()), 2 => prop::sample::select(LONE).prop_map(|line| format!("{line}\n"))];
    let separator = prop::sample::select(&["\n", "; ", " && ", "\n\n"]);
    (prelude, nested.boxed(), separator, simple())
        .prop_map(|(prelude, body, separator, last)| {
            let separator = if body.ends_with('\n') { "" } else { separator };
            format!("{prelude}{body}{separator}{last}\n")
        })
        .boxed()
}

const TOKENS: &[&str] = &[
    "zap", "burn", "x", " ", " ", " ", "\n", ";", "&", "|", "&&", "||", "(", ")", "{", "}", "$(",
    "`", "\"", "'", "\\", "$", "${", "$((", "))", "<<E", "\nE\n", "<", ">", ">>", "<(", "#", "=",
    "a=", "[", "]", "[[", "]]", "((", "if", "then", "fi", "do", "done", "while", "for", "in",
    "case", "esac", ";;", "!", "time", "$'", "$\"", "\\\n", "~", "*", "{a,b}", "$v", "v=zap",
    "f()", "function", "eval", "sh -c", "coproc", "2>", "&>", "<<<", "<<-E", "\t", "\r", "-c", "1",
    "@", "+", "?", ":", ",", "..",
];

/// A heap of signs and words.
pub(super) fn soup() -> BoxedStrategy<String> {
    prop::collection::vec(prop::sample::select(TOKENS), 1..14)
        .prop_map(|tokens| {
            let mut text = String::new();
            for token in tokens {
                text.push_str(token);
                if token.len() > 3 && !token.ends_with(['\n', ' ']) {
                    text.push(' ');
                }
            }
            text
        })
        .boxed()
}

/// A script with a sign too many or a few missing.
pub(super) fn damaged() -> BoxedStrategy<String> {
    let damage = (
        any::<prop::sample::Index>(),
        0usize..3,
        prop::sample::select(TOKENS),
    );
    (script(), prop::collection::vec(damage, 1..3))
        .prop_map(|(mut text, damages)| {
            for (place, missing, token) in damages {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                let at = places[place.index(places.len())];
                let rest: String = text[at..].chars().skip(missing).collect();
                text.truncate(at);
                text.push_str(token);
                text.push_str(&rest);
            }
            text
        })
        .boxed()
}
