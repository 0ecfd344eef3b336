//! Times as people read them: in the time zone of this machine, to the second. Programs get RFC 3339 in UTC.
//!
//! The zone is what `TZ` says, else `/etc/localtime`, as for other programs; where neither can be read it is UTC. No database of zones is
//! built in: the system has one, and keeps it up to date.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The zone of the machine.
const LOCALTIME: &str = "/etc/localtime";
/// The largest file of a zone that is read; the largest there are have a few kilobytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Date and time: `2026-11-18 21:04:05`.
pub(crate) fn second(time: Timestamp) -> String {
    shown(time, "%Y-%m-%d %H:%M:%S")
}

/// Date and time without seconds: `2026-11-18 21:04`.
pub(crate) fn minute(time: Timestamp) -> String {
    shown(time, "%Y-%m-%d %H:%M")
}

/// The time of the day: `21:04:05`.
pub(crate) fn clock(time: Timestamp) -> String {
    shown(time, "%H:%M:%S")
}

/// The time of the day, with the date where that is not today's.
pub(crate) fn moment(time: Timestamp, now: Timestamp) -> String {
    moment_in(time, now, zone())
}

/// A time that came as text, as a server sends it; what is not a time stays as it is.
pub(crate) fn of_text(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), second)
}

fn shown(time: Timestamp, format: &str) -> String {
    let local = time.to_zoned(zone().clone());
    local.strftime(format).to_string()
}

fn moment_in(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let local = |time: Timestamp| time.to_zoned(zone.clone());
    let format = match local(time).date() == local(now).date() {
        true => "%H:%M:%S",
        false => "%Y-%m-%d %H:%M:%S",
    };
    local(time).strftime(format).to_string()
}

/// The zone of this machine.
pub(crate) fn zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(|| {
        let text = |name: &str| std::env::var(name).ok();
        let databases = match text("TZDIR").filter(|directory| directory.starts_with('/')) {
            Some(directory) => vec![PathBuf::from(directory)],
            None => vec![
                PathBuf::from("/usr/share/zoneinfo"),
                PathBuf::from("/etc/zoneinfo"),
            ],
        };
        zone_of(text("TZ").as_deref(), Path::new(LOCALTIME), &databases).unwrap_or(TimeZone::UTC)
    })
}

/// The zone that `TZ` names (a file, a name of the database, or a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`), else that of the machine.
fn zone_of(variable: Option<&str>, localtime: &Path, databases: &[PathBuf]) -> Option<TimeZone> {
    let Some(name) = variable else {
        return read(localtime);
    };
    let name = name.strip_prefix(':').unwrap_or(name);
    if name.is_empty() {
        return Some(TimeZone::UTC);
    }
    if name.starts_with('/') {
        return read(Path::new(name));
    }
    let is_within = !name.split('/').any(|part| part == "..");
    let mut files = databases.iter().map(|directory| directory.join(name));
    let found = is_within.then(|| files.find_map(|file| read(&file)));
    found.flatten().or_else(|| TimeZone::posix(name).ok())
}

fn read(path: &Path) -> Option<TimeZone> {
    // A FIFO there would block.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    TimeZone::tzif("local", &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_moment_of_another_day_has_its_date() {
        let now = at("2026-11-16T22:30:00Z");
        let vienna = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let time = |text: &str| moment_in(at(text), now, &vienna);
        assert_eq!(time("2026-11-16T22:59:05Z"), "23:59:05");
        assert_eq!(time("2026-11-16T23:04:05Z"), "2026-11-17 00:04:05");
    }

    #[test]
    fn the_zone_is_the_variables_or_the_machines() {
        let dir = tempfile::tempdir().unwrap();
        let none = dir.path().join("none");
        let shown = |variable: Option<&str>| {
            zone_of(variable, &none, &[dir.path().to_owned()]).map(|zone| {
                let local = at("2026-07-01T12:00:00Z").to_zoned(zone);
                local.strftime("%H:%M").to_string()
            })
        };
        assert_eq!(shown(Some("UTC+5")).as_deref(), Some("07:00"));
        assert_eq!(
            shown(Some("CET-1CEST,M3.5.0,M10.5.0/3")).as_deref(),
            Some("14:00")
        );
        assert_eq!(shown(Some("")).as_deref(), Some("12:00"));
        assert_eq!(shown(None), None);
        // A file that is not a zone, and a path that leads out of the database.
        std::fs::write(dir.path().join("Broken"), "x").unwrap();
        assert_eq!(shown(Some("Broken")), None);
        assert_eq!(shown(Some("../Broken")), None);
        // A zone of one rule, as a file: version 2, no transitions.
        let mut head = b"TZif2".to_vec();
        head.extend([0; 15]);
        for count in [0u32, 0, 0, 0, 1, 4] {
            head.extend(count.to_be_bytes());
        }
        let mut block = head.clone();
        block.extend(7200i32.to_be_bytes());
        block.extend([0, 0]);
        block.extend(b"XST\0");
        let mut file = block.clone();
        file.extend(&block);
        file.extend(b"\nXST-2\n");
        std::fs::create_dir(dir.path().join("Area")).unwrap();
        std::fs::write(dir.path().join("Area/City"), &file).unwrap();
        assert_eq!(shown(Some("Area/City")).as_deref(), Some("14:00"));
        assert_eq!(shown(Some(":Area/City")).as_deref(), Some("14:00"));
        let absolute = dir.path().join("Area/City");
        assert_eq!(shown(absolute.to_str()).as_deref(), Some("14:00"));
        let machine = zone_of(None, &absolute, &[]);
        assert!(machine.is_some());
    }
}
