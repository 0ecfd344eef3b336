//! Where Toolcrib keeps its own data, and what other places have to do with that.
//!
//! A program that writes there can answer questions, make grants, set the rules and trust bundles; one that reads there has the secrets.
//! So no tool is given a place in it, and of a place above it it is left out.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The directory of Toolcrib's own data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct OwnData {
    /// Where it is, links followed as far as it exists.
    real: PathBuf,
    /// The links that lead to it, each where it lies itself.
    links: Vec<PathBuf>,
}

impl OwnData {
    pub(super) fn of(home: &Path) -> Self {
        // It may not be there yet.
        let there = home.ancestors().find_map(|above| {
            let rest = home.strip_prefix(above).ok()?;
            Some(above.canonicalize().ok()?.join(rest))
        });
        OwnData {
            real: there.unwrap_or_else(|| home.to_owned()),
            links: links_on_the_way(home),
        }
    }

    /// Where it is on the host, without links.
    #[doc(hidden)]
    pub fn path(&self) -> &Path {
        &self.real
    }

    /// Whether a place, given without links, is this directory or something in it, also under another name of the host's mounts.
    #[doc(hidden)]
    pub fn holds(&self, place: &Path) -> bool {
        if place.starts_with(&self.real) {
            return true;
        }
        let own = identity(&self.real);
        own.is_some() && place.ancestors().any(|above| identity(above) == own)
    }

    /// Whether it lies in a place that is given without links.
    #[doc(hidden)]
    pub fn lies_in(&self, place: &Path) -> bool {
        self.real.starts_with(place)
    }

    /// Whether it lies in a place only under another name, so that nothing can be laid over it there.
    #[doc(hidden)]
    pub fn lies_elsewhere_in(&self, place: &Path) -> bool {
        let Some(found) = identity(place).filter(|_| !self.lies_in(place)) else {
            return false;
        };
        self.real
            .ancestors()
            .any(|above| identity(above) == Some(found))
    }

    /// Whether who may write a place can have another directory taken for this one: a link that leads here lies in it.
    #[doc(hidden)]
    pub fn is_found_through(&self, place: &Path) -> bool {
        self.links.iter().any(|link| link.starts_with(place))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Every link that is followed on the way to a path, where it lies; forty is the kernel's own bound.
fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    let mut rest: Vec<PathBuf> = vec![path.to_owned()];
    let mut place = PathBuf::from("/");
    while let Some(next) = rest.pop() {
        let mut parts = next.components();
        let Some(part) = parts.next() else { continue };
        rest.push(parts.as_path().to_owned());
        match part {
            Component::RootDir => place = PathBuf::from("/"),
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir | Component::Prefix(_) => {}
            Component::Normal(name) => match fs::read_link(place.join(name)) {
                Ok(to) if links.len() < 40 => {
                    links.push(place.join(name));
                    rest.push(to);
                }
                Ok(_) => return links,
                Err(_) => place.push(name),
            },
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::OwnData;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_on_the_way_is_found_where_it_lies() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for made in ["a", "b/c", "data/toolcrib"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink("../b/c", root.join("a/first")).unwrap();
        symlink(root.join("data"), root.join("b/c/second")).unwrap();
        let own = OwnData::of(&root.join("a/first/second/toolcrib"));
        assert_eq!(own.path(), root.join("data/toolcrib"));
        for (place, expected) in [("a", true), ("b", true), ("b/c", true), ("data", false)] {
            assert_eq!(own.is_found_through(&root.join(place)), expected, "{place}");
        }
        assert!(own.lies_in(&root.join("data")) && own.lies_in(&root));
        assert!(own.holds(&root.join("data/toolcrib/secrets/x")));
        assert!(!own.holds(&root.join("data")) && !own.holds(&root.join("data/toolcrib2")));
    }

    #[test]
    fn links_in_a_circle_come_to_an_end() {
        let directory = tempfile::tempdir().unwrap();
        symlink("b", directory.path().join("a")).unwrap();
        symlink("a", directory.path().join("b")).unwrap();
        OwnData::of(&directory.path().join("a/toolcrib"));
    }
}
