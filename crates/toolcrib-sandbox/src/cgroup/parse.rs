//! Reads the kernel's text: `/proc/self/cgroup`, `/proc/self/mountinfo`, `/proc/<pid>/stat` and counter files.
//!
//! Pure functions over `&str`; lines that make no sense are skipped, since a newer kernel may add some.

use std::path::{Component, Path, PathBuf};

/// One line of `/proc/self/cgroup`: the cgroup this process is in, in one hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Membership {
    /// Empty for v2.
    pub(super) controllers: Vec<String>,
    /// As seen from the root of the cgroup namespace.
    pub(super) path: String,
}

/// A mounted cgroup hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Which part of the hierarchy is mounted: `/` or, in a container without a cgroup namespace, its own cgroup.
    pub(super) root: String,
    pub(super) point: PathBuf,
    /// `None` for v2, else the v1 controllers.
    pub(super) controllers: Option<Vec<String>>,
}

/// The part of `/proc/<pid>/stat` about the life of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) state: char,
    pub(super) threads: u64,
    /// Clock ticks since boot.
    pub(super) start: u64,
}

/// The hierarchies this process is in.
pub(super) fn memberships(text: &str) -> Vec<Membership> {
    text.lines()
        .filter_map(|line| {
            // A cgroup's name may itself hold a colon.
            let mut fields = line.splitn(3, ':');
            let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            if controllers.is_empty() != (id == "0") {
                return None;
            }
            let controllers = split(controllers);
            Some(Membership {
                controllers,
                path: path.to_owned(),
            })
        })
        .collect()
}

/// The mounted cgroup hierarchies of `/proc/self/mountinfo`.
pub(super) fn mounts(text: &str) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            // "id parent major:minor ROOT POINT options [tags…] - TYPE source SUPER-OPTIONS"
            let (front, back) = line.split_once(" - ")?;
            let mut front = front.split(' ').skip(3);
            let (root, point) = (unescape(front.next()?), unescape(front.next()?));
            let mut back = back.split(' ');
            let controllers = match back.next()? {
                "cgroup2" => None,
                "cgroup" => Some(split(back.nth(1)?)),
                _other_filesystem => return None,
            };
            Some(Mount {
                root,
                point: PathBuf::from(point),
                controllers,
            })
        })
        .collect()
}

/// The directory of cgroup `path` within `mount`; `None` when the mount does not show it.
pub(super) fn directory(mount: &Mount, path: &str) -> Option<PathBuf> {
    // "/../x": we are outside the root of our cgroup namespace, which no mount of this namespace shows.
    if Path::new(path)
        .components()
        .any(|part| part == Component::ParentDir)
    {
        return None;
    }
    Path::new(path).strip_prefix(&mount.root).ok().map(|below| {
        let mut directory = mount.point.clone();
        if below != Path::new("") {
            directory.push(below);
        }
        directory
    })
}

/// The number after `key` in a file of `key number` lines.
pub(super) fn counter(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        if name == key {
            value.trim().parse().ok()
        } else {
            None
        }
    })
}

/// The whole of a file that holds one number.
pub(super) fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// State, thread count and start time of `/proc/<pid>/stat`.
pub(super) fn life(stat: &str) -> Option<Life> {
    // The program's name comes first, in parentheses, and may contain spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    // Field 3, 20 and 22 of proc_pid_stat(5).
    let state = fields.next()?.chars().next()?;
    let threads = fields.nth(16)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    Some(Life {
        state,
        threads,
        start,
    })
}

fn split(list: &str) -> Vec<String> {
    list.split(',')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Undoes mountinfo's octal escapes (`\040` for a space).
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|octal| u8::from_str_radix(octal, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEMD_V2: &str =
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n";
    const SYSTEMD_V2_MOUNT: &str = "35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";

    fn mount(root: &str, point: &str) -> Mount {
        Mount {
            root: root.into(),
            point: point.into(),
            controllers: None,
        }
    }

    #[test]
    fn a_systemd_v2_scope_lies_below_the_one_mount() {
        let own = memberships(SYSTEMD_V2);
        let mounts = mounts(SYSTEMD_V2_MOUNT);
        assert_eq!(mounts, [mount("/", "/sys/fs/cgroup")]);
        assert_eq!(own[0].controllers, Vec::<String>::new());
        assert_eq!(
            directory(&mounts[0], &own[0].path),
            Some("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope".into())
        );
    }

    #[test]
    fn a_container_with_a_cgroup_namespace_is_at_the_mount_itself() {
        let own = memberships("0::/\n");
        let mounts =
            mounts("700 699 0:30 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n");
        assert_eq!(
            directory(&mounts[0], &own[0].path),
            Some("/sys/fs/cgroup".into())
        );
    }

    #[test]
    fn a_v1_container_without_a_cgroup_namespace_has_its_cgroup_as_mount_root() {
        let own = memberships(
            "4:cpu,cpuacct:/docker/ab\n3:memory:/docker/ab\n1:name=systemd:/docker/ab\n",
        );
        let text = "9 8 0:3 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:1 - cgroup cgroup rw,cpu,cpuacct\n";
        let mounts = mounts(text);
        assert_eq!(own[0].controllers, ["cpu", "cpuacct"]);
        assert_eq!(
            mounts[0].controllers,
            Some(vec!["rw".into(), "cpu".into(), "cpuacct".into()])
        );
        assert_eq!(
            directory(&mounts[0], &own[0].path),
            Some("/sys/fs/cgroup/cpu,cpuacct".into())
        );
        assert_eq!(
            directory(&mounts[0], "/docker/ab/x"),
            Some("/sys/fs/cgroup/cpu,cpuacct/x".into())
        );
        assert_eq!(directory(&mounts[0], "/docker/abc"), None);
    }

    #[test]
    fn a_hybrid_lists_v1_hierarchies_and_the_unified_one() {
        let own = memberships("8:pids:/\n4:memory:/api/a4:6\n0::/\n");
        let controllers: Vec<_> = own.iter().map(|own| own.controllers.join(",")).collect();
        assert_eq!(controllers, ["pids", "memory", ""]);
        assert_eq!(own[1].path, "/api/a4:6");
    }

    #[test]
    fn a_cgroup_outside_the_namespace_root_has_no_directory() {
        assert_eq!(directory(&mount("/", "/sys/fs/cgroup"), "/../other"), None);
        assert_eq!(directory(&mount("/../..", "/sys/fs/cgroup"), "/"), None);
    }

    #[test]
    fn other_file_systems_and_torn_lines_are_skipped() {
        let text = "1 0 8:1 / / rw - ext4 /dev/sda rw\nnonsense\n2 1 0:4 / /mnt/c\\040g rw - cgroup2 none rw\n";
        assert_eq!(mounts(text), [mount("/", "/mnt/c g")]);
        assert_eq!(memberships("nonsense\n5::/x\n"), []);
    }

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let oom_control = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(counter(oom_control, "oom_kill"), Some(3));
        let events = "low 0\nhigh 0\nmax 12\noom 2\noom_kill 5\noom_group_kill 1\n";
        assert_eq!(counter(events, "oom_kill"), Some(5));
        assert_eq!(counter("max 7\n", "max"), Some(7));
        assert_eq!(
            counter("usage_usec 1500\nuser_usec 1\n", "usage_usec"),
            Some(1500)
        );
        assert_eq!(counter("", "max"), None);
        assert_eq!(number("4096\n"), Some(4096));
        assert_eq!(number("max\n"), None);
    }

    #[test]
    fn a_program_name_full_of_parentheses_does_not_shift_the_fields() {
        let stat = "17 (a) R 1 (b) S 1 17 17 0 -1 4194304 102 0 0 0 0 0 0 0 20 0 3 0 1105731 3133440 416\n";
        assert_eq!(
            life(stat),
            Some(Life {
                state: 'S',
                threads: 3,
                start: 1_105_731
            })
        );
        assert_eq!(life("17 (cut"), None);
    }
}
