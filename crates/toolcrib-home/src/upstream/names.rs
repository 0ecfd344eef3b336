//! What the tools of a server are called here: [`slugs`].
//!
//! A server may call its tools anything: names with dots or blanks, two that look alike, names of a kilobyte. Here each has a slug and a wire
//! name that models can be given, the same in every process as long as the pins are the same, in whatever order the server lists them. No
//! tool loses a name to a later one: the tool accepted first has it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::names::{Slug, WireName};

/// Since when someone has a tool. A tool that does not have it yet comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Since {
    /// It was accepted then, or so long ago that no one wrote it down.
    Accepted(Option<Timestamp>),
    /// No one has accepted it.
    New,
}

/// The wire name and slug of each tool of a server, by the names that the server gives them, in the order they are given here. Of two that would
/// be called the same, the younger gets a digest of its name added.
pub(crate) fn slugs<'a>(
    names: impl IntoIterator<Item = (&'a str, Since)>,
) -> Vec<(WireName, Slug)> {
    let names: Vec<(&str, Since)> = names.into_iter().collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&place| (names[place].1, names[place].0));
    let mut taken: BTreeMap<Slug, ()> = BTreeMap::new();
    let mut made: Vec<Option<(WireName, Slug)>> = vec![None; names.len()];
    for place in order {
        let name = names[place].0;
        let mut wire = WireName::fit(name);
        if taken.contains_key(&Slug::from_wire(&wire)) {
            // A text that is not a name gets a digest of itself.
            wire = WireName::fit(&format!("{name} "));
        }
        let slug = Slug::from_wire(&wire);
        taken.insert(slug.clone(), ());
        made[place] = Some((wire, slug));
    }
    made.into_iter().flatten().collect()
}

/// The wire name of a tool: its own, if no one has it, else `NAME_tool`, else that with a digest.
pub(crate) fn free(
    upstream: &Slug,
    own: &WireName,
    is_taken: impl Fn(&WireName) -> bool,
) -> WireName {
    let mut prefixed = format!("{}_{own}", upstream.as_str().replace('-', "_"));
    let mut name = own.clone();
    while is_taken(&name) {
        name = WireName::fit(&prefixed);
        // A text that is not a name gets a digest of itself: each time another, since someone may have foreseen one.
        prefixed.push(' ');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_one_that_models_can_be_given_and_none_becomes_anothers() {
        let long = "x".repeat(1000);
        let names = ["get", "a.b", "a_b", "a-b", "а", "evil\u{202e}\n", &long, ""];
        let since = |name| (name, Since::Accepted(None));
        let made = slugs(names.map(since));
        assert_eq!(made[0].0.as_str(), "get");
        let mut found: Vec<&str> = made.iter().map(|(_, slug)| slug.as_str()).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), names.len(), "{made:?}");
        for (wire, slug) in &made {
            assert!(WireName::parse(wire.as_str()).is_ok(), "{wire}");
            assert!(Slug::parse(slug.as_str()).is_ok(), "{slug}");
        }
        // In another order they are called the same.
        let mut turned = slugs(names.into_iter().rev().map(since));
        turned.reverse();
        assert_eq!(made, turned);
    }

    #[test]
    fn the_older_of_two_keeps_its_name() {
        let at = |second| Since::Accepted(Timestamp::from_second(second).ok());
        let plain = |names: Vec<(WireName, Slug)>| -> Vec<bool> {
            names
                .iter()
                .map(|(wire, _)| wire.as_str() == "a_b")
                .collect()
        };
        assert_eq!(plain(slugs([("a.b", at(1)), ("a_b", at(2))])).len(), 2);
        assert_eq!(
            plain(slugs([("a_b", at(2)), ("a-b", Since::New)])),
            [true, false]
        );
        let first = slugs([("a.b", at(2)), ("a_b", at(1))]);
        assert_eq!(plain(first), [false, true]);
    }

    #[test]
    fn a_name_that_is_taken_is_prefixed_and_that_one_too_if_it_must_be() {
        let (files, own) = (Slug::parse("my-files").unwrap(), WireName::fit("get"));
        let free_of =
            |taken: &[&str]| free(&files, &own, |name| taken.contains(&name.as_str())).to_string();
        assert_eq!(free_of(&[]), "get");
        assert_eq!(free_of(&["get"]), "my_files_get");
        let third = free_of(&["get", "my_files_get"]);
        assert!(
            third.starts_with("my_files_get") && third != "my_files_get",
            "{third}"
        );
        let fourth = free_of(&["get", "my_files_get", &third]);
        assert!(
            fourth.starts_with("my_files_get") && fourth != third,
            "{fourth}"
        );
    }
}
