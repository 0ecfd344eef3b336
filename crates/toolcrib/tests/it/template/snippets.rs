//! Pieces of templates with a value in every place that bash has for one, and what each must print.

/// A piece of a template; `{P}` is the value, `x_` its own variable.
pub(super) struct Snippet {
    pub(super) text: &'static str,
    /// The words it prints, each with a null byte after it.
    pub(super) prints: fn(&str) -> Vec<String>,
    /// Whether a value that begins with a dash is fine.
    pub(super) dashes: bool,
}

const fn free(text: &'static str, prints: fn(&str) -> Vec<String>) -> Snippet {
    Snippet {
        text,
        prints,
        dashes: true,
    }
}

const fn guarded(text: &'static str, prints: fn(&str) -> Vec<String>) -> Snippet {
    Snippet {
        text,
        prints,
        dashes: false,
    }
}

fn once(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

fn twice(value: &str) -> Vec<String> {
    vec![value.to_owned(), value.to_owned()]
}

fn line(value: &str) -> Vec<String> {
    vec![format!("{value}\n")]
}

fn joined(value: &str, before: &str, after: &str) -> Vec<String> {
    vec![format!("{before}{value}{after}")]
}

pub(super) const SNIPPETS: &[Snippet] = &[
    guarded(r"printf '%s\0' {P}", once),
    guarded(r#"printf '%s\0' "{P}""#, once),
    guarded(r"printf '%s\0' '{P}'", once),
    guarded(r"printf '%s\0' ''{P}''", once),
    free(r"printf '%s\0' $'a\t{P}\x62'", |v| joined(v, "a\t", "b")),
    guarded(r"printf '%s\0' $'{P}'", once),
    free(r"printf '%s\0' pre{P}post", |v| joined(v, "pre", "post")),
    free(r#"printf '%s\0' "a {P} b""#, |v| joined(v, "a ", " b")),
    free(r"printf '%s\0' 'a {P} b'", |v| joined(v, "a ", " b")),
    free(r#"printf '%s\0' x"{P}"'y{P}'z"#, |v| {
        vec![format!("x{v}y{v}z")]
    }),
    guarded(r#"printf '%s\0' {P}"{P}"'{P}'"#, |v| {
        vec![format!("{v}{v}{v}")]
    }),
    free(r"printf '%s\0' ,{P},{P}, .~{P} =~{P}", |v| {
        vec![format!(",{v},{v},"), format!(".~{v}"), format!("=~{v}")]
    }),
    free(r"printf '%s\0' --name={P} -n{P} -{P}", |v| {
        vec![format!("--name={v}"), format!("-n{v}"), format!("-{v}")]
    }),
    free(r"printf -- '%s\0' {P} '{P}'", twice),
    free(r#"printf -- '%s\0' {a,"b"}{P}"#, |v| {
        vec![format!("a{v}"), format!("b{v}")]
    }),
    free(r"printf '%s\0' '{{Q}}' {{{P}}} $P ${P}", |v| {
        vec!["{Q}".to_owned(), format!("{{{v}}}")]
    }),
    free(r#"printf '%s\0' '{"a":{"b":"{P}"}}'"#, |v| {
        joined(v, "{\"a\":{\"b\":\"", "\"}}")
    }),
    free(
        r"printf '%s\0' 'a b' # {P} isn't here, it's a comment `",
        |_| vec!["a b".to_owned()],
    ),
    // Here-documents and here-strings.
    free("cat <<EOF\n[{P}] $((1 + 1)) \\$x\nEOF\nprintf '\\0'", |v| {
        vec![format!("[{v}] 2 $x\n")]
    }),
    free("cat <<EOF\n{P}\nEOF\nprintf '\\0'", line),
    free(
        "cat <<'EOF'\n[{P}] $((1 + 1)) `x` \\$ \\\\ \\\n\"'\nEOF\nprintf '\\0'",
        |v| vec![format!("[{v}] $((1 + 1)) `x` \\$ \\\\ \\\n\"'\n")],
    ),
    free("cat <<\"E_1\"\n{P}\nE_1\nprintf '\\0'", line),
    free("cat <<\\EOF\n$x{P}\nEOF\nprintf '\\0'", |v| {
        vec![format!("$x{v}\n")]
    }),
    free("cat <<-EOF\n\t\t{P}\n\tEOF\nprintf '\\0'", line),
    free("cat <<-'EOF'\n\t\tx$y {P}\n\tEOF\nprintf '\\0'", |v| {
        vec![format!("x$y {v}\n")]
    }),
    free(
        "cat <<A; cat <<'B'\n1{P}\nA\n2{P}$z\nB\nprintf '\\0'",
        |v| vec![format!("1{v}\n2{v}$z\n")],
    ),
    free("cat <<< {P}; printf '\\0'", line),
    free("cat <<< \"x {P}\"; printf '\\0'", |v| {
        vec![format!("x {v}\n")]
    }),
    free("cat <<< 'x {P}'; printf '\\0'", |v| {
        vec![format!("x {v}\n")]
    }),
    free("exec 3<<< {P}; cat <&3; exec 3<&-; printf '\\0'", line),
    free(
        "x_=$(cat <<EOF\n{P}.\nEOF\n); printf '%s\\0' \"$x_\"",
        |v| joined(v, "", "."),
    ),
    free("{ cat; printf '\\0'; } <<< {P}", line),
    free(
        "while IFS= read -r -d '' x_; do printf '%s\\0' \"$x_\"; done < <(printf -- '%s\\0' {P})",
        once,
    ),
    // Substitutions.
    guarded(
        r#"x_="$(printf '%s.' {P})"; printf '%s\0' "${x_%.}:""#,
        |v| joined(v, "", ":"),
    ),
    free(r#"x_="$(printf '%s.' "+{P}")"; printf '%s\0' "$x_""#, |v| {
        joined(v, "+", ".")
    }),
    free(
        r#"x_=$(printf '%s.' "$(printf '%s' '+{P}-')"); printf '%s\0' "$x_""#,
        |v| joined(v, "+", "-."),
    ),
    free(r#"x_=`printf '%s.' +{P}`; printf '%s\0' "$x_""#, |v| {
        joined(v, "+", ".")
    }),
    free(r#"x_=`printf '%s.' "+{P}"`; printf '%s\0' "$x_""#, |v| {
        joined(v, "+", ".")
    }),
    free(r#"printf '%s\0' "`printf %s. +{P}`""#, |v| {
        joined(v, "+", ".")
    }),
    free(r"cat <(printf '%s\0' +{P})", |v| joined(v, "+", "")),
    guarded(r#"printf '%s\0' "${NOT_SET:-{P}}""#, once),
    guarded(r"printf '%s\0' ${NOT_SET:-{P}}", |v| {
        if v.is_empty() {
            vec![String::new()]
        } else {
            vec![v.to_owned()]
        }
    }),
    // The text in the braces of an expansion counts as its beginning.
    guarded(r#"printf '%s\0' "${NOT_SET-a {P} b}""#, |v| {
        joined(v, "a ", " b")
    }),
    free(r#"printf '%s\0' "-${HOME:+{P}}-""#, |v| joined(v, "-", "-")),
    guarded(r#"printf '%s\0' ${NOT_SET:-"{P}"}"#, once),
    guarded(r#": "${x_:={P}}"; printf '%s\0' "+$x_""#, |v| {
        joined(v, "+", "")
    }),
    // Assignments.
    free(r#"x_={P}; printf '%s\0' "+$x_""#, |v| joined(v, "+", "")),
    free(r#"x_="{P}"; printf '%s\0' "+$x_""#, |v| joined(v, "+", "")),
    free(r#"x_='{P}'; printf '%s\0' "+$x_""#, |v| joined(v, "+", "")),
    free(r#"x_=a{P}b{P}; printf '%s\0' "$x_""#, |v| {
        vec![format!("a{v}b{v}")]
    }),
    guarded(r#"x_=1; x_+={P}; printf '%s\0' "$x_""#, |v| {
        joined(v, "1", "")
    }),
    free(r#"x_={P} y=2; printf '%s\0' "+$x_" "$y""#, |v| {
        vec![format!("+{v}"), "2".to_owned()]
    }),
    free(r#"export x_={P}; printf '%s\0' "+$x_""#, |v| {
        joined(v, "+", "")
    }),
    free(r#"declare x_="{P}" z; printf '%s\0' "+$x_""#, |v| {
        joined(v, "+", "")
    }),
    free(r#"printf -v x_ '%s' +{P}; printf '%s\0' "$x_""#, |v| {
        joined(v, "+", "")
    }),
    guarded(
        r#"a=(1 {P} "q{P}" 'r {P}'); printf '%s\0' "${#a[@]}" "+${a[1]}" "${a[@]:2}""#,
        |v| {
            vec![
                "4".to_owned(),
                format!("+{v}"),
                format!("q{v}"),
                format!("r {v}"),
            ]
        },
    ),
    free(
        r#"read -r -d '' x_ <<< {P}; [[ $x_ == "${x_}" ]] && printf '%s\0' same"#,
        |_| once("same"),
    ),
    free(
        r#"IFS= read -r -d '' x_ < <(printf '%s\0' +{P}); printf '%s\0' "$x_""#,
        |v| joined(v, "+", ""),
    ),
    free(
        r#"mapfile -d '' -t m < <(printf '%s\0' +{P} b); printf '%s\0' "${m[@]}""#,
        |v| vec![format!("+{v}"), "b".to_owned()],
    ),
    free(
        r#"x_={P}; IFS=x; printf '%s\0' +{P} "+$x_"; IFS=$' \t\n'"#,
        |v| vec![format!("+{v}"), format!("+{v}")],
    ),
    // Compound commands.
    free(r#"for x_ in {P}; do printf '%s\0' "+$x_"; done"#, |v| {
        joined(v, "+", "")
    }),
    free(
        r#"for x_ in a "{P}" 'b{P}'; do printf '%s\0' "+$x_"; done"#,
        |v| vec!["+a".to_owned(), format!("+{v}"), format!("+b{v}")],
    ),
    free(
        r#"case {P} in "{P}") printf '%s\0' same;; *) printf '%s\0' other;; esac"#,
        |_| once("same"),
    ),
    free(
        r#"case "+{P}" in '+'{P}) printf '%s\0' same;; *) printf '%s\0' other;; esac"#,
        |_| once("same"),
    ),
    free(r#"[[ {P} == "{P}" ]] && printf '%s\0' same"#, |_| {
        once("same")
    }),
    free(r#"[[ "x{P}" == x{P} ]] && printf '%s\0' same"#, |_| {
        once("same")
    }),
    free(r"[[ a{P}b != *{P}* ]] || printf '%s\0' same", |_| {
        once("same")
    }),
    guarded(
        r#"if [ {P} = "{P}" ]; then printf '%s\0' same; else printf '%s\0' other; fi"#,
        |_| once("same"),
    ),
    guarded(
        r#"if test "{P}" != '{P}'; then printf '%s\0' other; else printf '%s\0' same; fi"#,
        |_| once("same"),
    ),
    free(
        r#"f() { printf '%s\0' "$#" "+$1" '+{P}'; }; f -- {P}"#,
        |v| vec!["2".to_owned(), "+--".to_owned(), format!("+{v}")],
    ),
    free(
        r#"f() { local x_={P}; printf '%s\0' "+$x_" "$@"; }; f a{P}"#,
        |v| vec![format!("+{v}"), format!("a{v}")],
    ),
    free(r"( printf '%s\0' +{P} )", |v| joined(v, "+", "")),
    free(r"{ printf '%s\0' +{P}; }", |v| joined(v, "+", "")),
    free(
        r#"until printf '%s\0' +{P}; do :; done; while :; do break; done"#,
        |v| joined(v, "+", ""),
    ),
    free(r"printf '%s\0' +{P} | cat | cat", |v| joined(v, "+", "")),
    free(
        r"printf '%s\0' 1{P} && printf '%s\0' 2{P} || printf '%s\0' 3{P}",
        |v| vec![format!("1{v}"), format!("2{v}")],
    ),
    free(r"printf '%s\0' +{P} & wait", |v| joined(v, "+", "")),
    free(r"! printf '%s\0' +{P}", |v| joined(v, "+", "")),
    free(r"set -- {P}; printf -- '%s\0' +$#", |_| once("+1")),
    guarded(r"echo {P}; printf '\0'", line),
    free(r"echo +{P}; printf '\0'", |v| vec![format!("+{v}\n")]),
    free(r#"echo "$(echo "$(echo '+{P}.')")"; printf '\0'"#, |v| {
        vec![format!("+{v}.\n")]
    }),
    // Other programs.
    guarded(r"/usr/bin/printf '%s\0' {P}", once),
    free(r"/usr/bin/printf -- '%s\0' {P}", once),
    free(r"env X=1 /usr/bin/printf '%s\0' +{P}", |v| {
        joined(v, "+", "")
    }),
    free(r"x_={P} /usr/bin/printenv x_; printf '\0'", line),
    guarded(r#"sh -c 'printf "%s\0" "$2"' sh {P} +{P}"#, |v| {
        joined(v, "+", "")
    }),
    free(
        r"/usr/bin/env -0 | tr '\n' ' ' | tr '\0' '\n' | cut -d= -f1 | { ! grep -ci toolcrib; } | tr -d '\n'; printf '\0'",
        |_| once("0"),
    ),
    // Redirections.
    free(
        r"printf '%s' x > +.txt; cat < +.txt; rm -- +.txt; printf '%s\0' +{P}",
        |v| joined(v, "x+", ""),
    ),
];
