//! Messages name files of Toolcrib's home by short names, because a message may go to a caller who need not know where the home is. To the
//! user of this machine the command line gives the whole path: [`in_full`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use toolcrib::config::Surroundings;

use crate::args::Global;

/// The home of this command; `None` with a server that may have another one.
pub(crate) fn home(global: &Global) -> Option<PathBuf> {
    let elsewhere = std::env::var_os("TOOLCRIB_SERVER").is_some_and(|value| !value.is_empty());
    if global.server.is_some() || elsewhere && !global.no_server {
        return None;
    }
    let surroundings = Surroundings::of_process();
    match &global.home {
        Some(home) => Some(surroundings.resolve(home)),
        None => surroundings.home().ok(),
    }
}

/// How messages name the home.
const HOME: &str = "Toolcrib's home";

/// A message with the paths of the files of the home that it names: what is `` `clients.json` in Toolcrib's home `` elsewhere is
/// `` `/home/ada/.local/share/toolcrib/clients.json` `` here.
pub(crate) fn in_full<'t>(text: &'t str, home: &Path) -> Cow<'t, str> {
    if !text.contains(HOME) {
        return Cow::Borrowed(text);
    }
    let mut full = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(at) = rest.find(HOME) {
        let (before, after) = (&rest[..at], &rest[at + HOME.len()..]);
        let name = before.strip_suffix("` in ").and_then(|before| {
            let (start, name) = before.rsplit_once('`')?;
            is_name(name).then_some((start, name))
        });
        match name {
            Some((start, name)) => {
                full.push_str(start);
                full.push_str(&format!("`{}`", home.join(name).display()));
                rest = after.strip_prefix(" directory").unwrap_or(after);
            }
            None => {
                let directory = after.starts_with(" directory");
                let said = if directory { " directory" } else { "" };
                full.push_str(&format!("{before}{HOME}{said} (`{}`)", home.display()));
                rest = &after[said.len()..];
            }
        }
    }
    full.push_str(rest);
    Cow::Owned(full)
}

/// Whether this is a path below the home, as messages write it.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !matches!(part, "" | "." | "..") && part.chars().all(is_plain)
    };
    name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_home_are_named_by_their_paths() {
        for (text, full) in [
            ("nothing of it", "nothing of it"),
            (
                "`clients.json` in Toolcrib's home directory cannot be read: x; mend it",
                "`/h/clients.json` cannot be read: x; mend it",
            ),
            (
                "the secret `A`: `chmod 600` the file `secrets/f2.json` in Toolcrib's home",
                "the secret `A`: `chmod 600` the file `/h/secrets/f2.json`",
            ),
            (
                "cannot use `x`: it is not a regular file; move it out of Toolcrib's home",
                "cannot use `x`: it is not a regular file; move it out of Toolcrib's home (`/h`)",
            ),
            (
                "use the one in Toolcrib's home directory, or `a` in Toolcrib's home",
                "use the one in Toolcrib's home directory (`/h`), or `/h/a`",
            ),
            (
                "`../../etc/passwd` in Toolcrib's home",
                "`../../etc/passwd` in Toolcrib's home (`/h`)",
            ),
        ] {
            assert_eq!(in_full(text, Path::new("/h")), full);
        }
    }
}
