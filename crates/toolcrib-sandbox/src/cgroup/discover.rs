//! Finds the hierarchies to use, by trying: v1 beneath our own cgroup, v2 there or beside it.
//!
//! On v2 a cgroup that has processes cannot hand controllers to its children (the root of all excepted), and our own
//! cgroup has one: us. So the parent is tried too, which works as root and wherever systemd delegated the parent.
//! Moving ourselves into a child to free our own cgroup was the alternative; a library must not move its host process.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    Missing, Version, files,
    owner::Owner,
    parse::{self, Membership, Mount},
    tree::{Serves, Tree},
};

const V1_ADVICE: &str =
    "run as root, or have an administrator give this user its own cgroup in that hierarchy";
const V2_ADVICE: &str = "run under `systemd-run --user --scope -p Delegate=yes`, or in a service with `Delegate=yes` and \
                         `DelegateSubgroup=main`";
const CONTAINER_ADVICE: &str = "mount it, or give the container a writable one (`--cgroupns=private` with a writable \
                                `/sys/fs/cgroup`)";

/// What there is.
#[derive(Debug)]
pub(super) struct Controllers {
    /// Every hierarchy a slot needs a directory in; v2 first.
    pub(super) trees: Vec<Tree>,
    pub(super) memory: Result<Version, Missing>,
    pub(super) pids: Result<Version, Missing>,
    pub(super) cpu_time: Result<Version, Missing>,
    pub(super) kill: Result<(), Missing>,
}

/// Looks at this process's own place in the hierarchies, and tries them.
pub(super) fn discover() -> Controllers {
    let sources = || -> std::io::Result<_> {
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        Ok((own, mounts, Owner::current()?))
    };
    match sources() {
        Ok((own, mounts, owner)) => {
            search(&parse::memberships(&own), &parse::mounts(&mounts), &owner)
        }
        Err(error) => Controllers::nothing(&format!(
            "cannot read about cgroups in `/proc/self`: {error}; mount `/proc`"
        )),
    }
}

impl Controllers {
    fn nothing(reason: &str) -> Self {
        let missing = Missing {
            reason: reason.to_owned(),
        };
        Self {
            trees: Vec::new(),
            memory: Err(missing.clone()),
            pids: Err(missing.clone()),
            cpu_time: Err(missing.clone()),
            kill: Err(missing),
        }
    }
}

fn search(own: &[Membership], mounts: &[Mount], owner: &Owner) -> Controllers {
    let is_v1 = |controller: &str| own.iter().any(|own| lists(&own.controllers, controller));
    let wanted = Serves {
        memory: !is_v1("memory"),
        pids: !is_v1("pids"),
        cpu: true,
        kill: true,
    };
    let unified = Unified::search(own, mounts, wanted, owner);

    let mut trees = Vec::new();
    let mut choose = |controller: &str, serves: fn(&Serves) -> bool| {
        if is_v1(controller) {
            v1(controller, own, mounts, owner, &mut trees).map(|()| Version::V1)
        } else {
            unified.offers(controller, serves).map(|()| Version::V2)
        }
    };
    let memory = choose("memory", |serves| serves.memory);
    let pids = choose("pids", |serves| serves.pids);
    // The unified hierarchy is entered for `cgroup.kill` anyway: counting there saves the child an attach.
    let cpu_time = match unified.offers("cpu.stat", |serves| serves.cpu) {
        Err(_) if is_v1("cpuacct") => choose("cpuacct", |serves| serves.cpu),
        offered => offered.map(|()| Version::V2),
    };
    let kill = unified.offers("cgroup.kill", |serves| serves.kill);
    if let Some(tree) = unified.tree.filter(|tree| tree.serves != Serves::default()) {
        trees.insert(0, tree);
    }
    Controllers {
        trees,
        memory,
        pids,
        cpu_time,
        kill,
    }
}

/// Finds and tries the v1 hierarchy of `controller`; one shared by several controllers is listed once.
fn v1(
    controller: &str,
    own: &[Membership],
    mounts: &[Mount],
    owner: &Owner,
    trees: &mut Vec<Tree>,
) -> Result<(), Missing> {
    let path = own
        .iter()
        .find(|own| lists(&own.controllers, controller))
        .map(|own| own.path.as_str());
    let base = path.and_then(|path| {
        let carries = |mount: &&Mount| {
            mount
                .controllers
                .as_ref()
                .is_some_and(|names| lists(names, controller))
        };
        mounts
            .iter()
            .filter(carries)
            .find_map(|mount| parse::directory(mount, path))
    });
    let Some(base) = base else {
        let reason =
            format!("the v1 `{controller}` hierarchy is not mounted here; {CONTAINER_ADVICE}");
        return Err(Missing { reason });
    };
    if trees.iter().any(|tree| tree.base == base) {
        return Ok(());
    }
    match Tree::probe(base, Version::V1, owner) {
        Ok(tree) if tree.serves != Serves::default() => {
            trees.push(tree);
            Ok(())
        }
        Ok(tree) => {
            let reason = format!(
                "a cgroup made in `{}` has no `{controller}` files",
                tree.base.display()
            );
            Err(Missing { reason })
        }
        Err(error) => Err(Missing {
            reason: format!("no `{controller}` cgroup: {error}; {V1_ADVICE}"),
        }),
    }
}

/// The outcome of the search in the v2 hierarchy.
struct Unified {
    tree: Option<Tree>,
    /// What stood in the way at each place tried, in words.
    obstacles: Vec<String>,
    advice: &'static str,
}

impl Unified {
    fn search(own: &[Membership], mounts: &[Mount], wanted: Serves, owner: &Owner) -> Self {
        let own = own.iter().find(|own| own.controllers.is_empty());
        let place = own.and_then(|own| {
            let unified = mounts.iter().filter(|mount| mount.controllers.is_none());
            unified
                .into_iter()
                .find_map(|mount| Some((parse::directory(mount, &own.path)?, &mount.point)))
        });
        let Some((own, top)) = place else {
            let obstacles = vec![
                "no cgroup2 file system is mounted that shows this process's cgroup".to_owned(),
            ];
            return Self {
                tree: None,
                obstacles,
                advice: CONTAINER_ADVICE,
            };
        };

        let (mut tried, mut obstacles) = (Vec::new(), Vec::new());
        for base in candidates(&own, top) {
            match Tree::probe(base, Version::V2, owner) {
                Ok(tree) => {
                    obstacles.extend(lacks(&tree, wanted));
                    let satisfied = score(tree.serves, wanted) == score(wanted, wanted);
                    tried.push(tree);
                    if satisfied {
                        break;
                    }
                }
                Err(error) => obstacles.push(error),
            }
        }
        let offers: Vec<_> = tried.iter().map(|tree| tree.serves).collect();
        let tree = best(&offers, wanted).map(|index| tried.swap_remove(index));
        Self {
            tree,
            obstacles,
            advice: V2_ADVICE,
        }
    }

    /// Whether the tree found has what `serves` asks for; `what` names it in the reason.
    fn offers(&self, what: &str, serves: fn(&Serves) -> bool) -> Result<(), Missing> {
        if self.tree.as_ref().is_some_and(|tree| serves(&tree.serves)) {
            return Ok(());
        }
        let obstacles = self.obstacles.join("; ");
        Err(Missing {
            reason: format!("no `{what}` on cgroup v2: {obstacles}; {}", self.advice),
        })
    }
}

/// Where on v2 to try, in order: our own cgroup, then the one above unless that is out of sight.
fn candidates(own: &Path, top: &Path) -> Vec<PathBuf> {
    let above = own.parent().filter(|_| own != top).map(Path::to_owned);
    std::iter::once(own.to_owned()).chain(above).collect()
}

/// The index of the offer that has most of what is wanted; the earlier one of equals.
fn best(offers: &[Serves], wanted: Serves) -> Option<usize> {
    let scores = offers.iter().map(|offer| score(*offer, wanted)).enumerate();
    scores
        .rev()
        .max_by_key(|(_, score)| *score)
        .map(|(index, _)| index)
}

/// Compares as: memory before pids before killing before CPU time. Unwanted controllers do not count.
fn score(offer: Serves, wanted: Serves) -> [bool; 4] {
    [
        offer.memory && wanted.memory,
        offer.pids && wanted.pids,
        offer.kill && wanted.kill,
        offer.cpu && wanted.cpu,
    ]
}

/// Says why cgroups made in this tree lack a controller that is wanted.
fn lacks(tree: &Tree, wanted: Serves) -> Vec<String> {
    let base = tree.base.display();
    let available = files::read(&tree.base, "cgroup.controllers").unwrap_or_default();
    let missing = [
        ("memory", wanted.memory && !tree.serves.memory),
        ("pids", wanted.pids && !tree.serves.pids),
    ];
    let missing = missing.iter().filter(|(_, is_missing)| *is_missing);
    let mut reasons: Vec<_> = missing
        .map(|(name, _)| {
            if available.split_ascii_whitespace().any(|word| word == *name) {
                format!("`{base}` has processes in it or is not ours, so its children get no `{name}` controller")
            } else {
                format!("`{base}` itself was not given the `{name}` controller")
            }
        })
        .collect();
    if !tree.serves.kill {
        reasons.push(format!(
            "a cgroup made in `{base}` has no `cgroup.kill` (Linux 5.14 has it)"
        ));
    }
    reasons
}

fn lists(names: &[String], name: &str) -> bool {
    names.iter().any(|entry| entry == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Serves = Serves {
        memory: true,
        pids: true,
        cpu: true,
        kill: true,
    };
    const BARE: Serves = Serves {
        memory: false,
        pids: false,
        cpu: true,
        kill: true,
    };

    fn search_text(own: &str, mounts: &str) -> Controllers {
        search(
            &parse::memberships(own),
            &parse::mounts(mounts),
            &Owner::current().unwrap(),
        )
    }

    #[test]
    fn under_systemd_the_parent_is_tried_after_our_own_cgroup() {
        let top = Path::new("/sys/fs/cgroup");
        let scope = top.join("user.slice/app.slice/run-1.scope");
        assert_eq!(
            candidates(&scope, top),
            [scope.clone(), top.join("user.slice/app.slice")]
        );
    }

    #[test]
    fn in_a_cgroup_namespace_nothing_above_its_root_is_tried() {
        let top = Path::new("/sys/fs/cgroup");
        assert_eq!(candidates(top, top), [top]);
    }

    #[test]
    fn the_parent_wins_only_with_controllers_that_are_wanted() {
        assert_eq!(best(&[BARE, ALL], ALL), Some(1));
        assert_eq!(best(&[ALL, ALL], ALL), Some(0));
        // In a hybrid the controllers are on v1: our own cgroup does.
        assert_eq!(best(&[BARE, ALL], BARE), Some(0));
        assert_eq!(
            best(
                &[
                    Serves { pids: true, ..BARE },
                    Serves {
                        memory: true,
                        ..BARE
                    }
                ],
                ALL
            ),
            Some(1)
        );
        assert_eq!(best(&[], ALL), None);
    }

    #[test]
    fn a_system_without_cgroups_says_so_for_everything() {
        let found = search_text("", "");
        assert!(found.trees.is_empty());
        let reason = found.memory.unwrap_err().reason;
        assert!(
            reason.starts_with("no `memory` on cgroup v2: no cgroup2 file system is mounted"),
            "{reason}"
        );
        assert!(found.pids.is_err() && found.cpu_time.is_err() && found.kill.is_err());
    }

    #[test]
    fn an_own_cgroup_we_may_not_use_is_named_with_what_to_do() {
        // The directory does not exist, which reads like one that may not be written.
        let mounts = "35 24 0:30 / /nonexistent/cgroup rw - cgroup2 cgroup2 rw\n";
        let reason = search_text("0::/user.slice/session-3.scope\n", mounts)
            .memory
            .unwrap_err()
            .reason;
        assert!(
            reason.contains("`/nonexistent/cgroup/user.slice/session-3.scope/cgroup.procs`"),
            "{reason}"
        );
        assert!(
            reason.contains("`/nonexistent/cgroup/user.slice/cgroup.procs`"),
            "{reason}"
        );
        assert!(reason.ends_with(V2_ADVICE), "{reason}");
    }

    #[test]
    fn a_v1_controller_is_not_looked_for_on_v2() {
        let mounts = "35 24 0:30 / /nonexistent/unified rw - cgroup2 cgroup2 rw\n";
        let found = search_text("4:memory:/a\n0::/\n", mounts);
        let reason = found.memory.unwrap_err().reason;
        assert!(
            reason.starts_with("the v1 `memory` hierarchy is not mounted here"),
            "{reason}"
        );
    }

    #[test]
    fn a_cgroup_without_controllers_says_which_obstacle_it_met() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("cgroup.procs"), "").unwrap();
        fs::write(base.path().join("cgroup.controllers"), "memory\n").unwrap();
        let tree = Tree::probe(
            base.path().to_owned(),
            Version::V2,
            &Owner::current().unwrap(),
        )
        .unwrap();
        let reasons = lacks(&tree, ALL);
        assert!(
            reasons[0].ends_with("so its children get no `memory` controller"),
            "{reasons:?}"
        );
        assert!(
            reasons[1].ends_with("itself was not given the `pids` controller"),
            "{reasons:?}"
        );
    }
}
