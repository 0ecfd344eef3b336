//! Ways to damage a file: [`SURE`]; how it looks, and what must not hang on it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Runs something that must not hang.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    what: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = send.send(what());
    });
    match receive.recv_timeout(limit) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it would have sent something"),
        },
    }
}

/// Whatever can be seen of a file without changing it.
pub(super) fn picture(path: &Path) -> String {
    let Ok(found) = fs::symlink_metadata(path) else {
        return String::from("not there");
    };
    let content = if found.is_file() && found.len() < 1 << 20 {
        format!("{:?}", fs::read(path))
    } else {
        format!("{:?}", fs::read_link(path).ok())
    };
    format!(
        "{} {:o} {} {:?} {content}",
        found.ino(),
        found.mode(),
        found.len(),
        found.modified()
    )
}

/// One way to damage a file.
pub(super) type Damaging = (&'static str, fn(&Path));

/// Ways after which no one can take the file for a record.
pub(super) const SURE: &[Damaging] = &[
    ("empty", |path| fs::write(path, "").unwrap()),
    ("one NUL", |path| fs::write(path, "\0").unwrap()),
    ("NULs of its size", |path| {
        let size = fs::metadata(path).unwrap().len();
        fs::write(path, vec![0; usize::try_from(size).unwrap()]).unwrap();
    }),
    ("NULs behind it", |path| {
        change(path, |text| format!("{text}\0\0\0\0"));
    }),
    ("huge", |path| {
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(1 << 33)
            .unwrap();
    }),
    ("over the limit", |path| {
        change(path, |text| text + &" ".repeat(5 << 20));
    }),
    ("wrong UTF-8", |path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes
            .windows(4)
            .position(|four| four == b"For " || four == b"The ")
            .unwrap();
        bytes[at] = 0xff;
        fs::write(path, bytes).unwrap();
    }),
    ("half a surrogate", |path| {
        change(path, |text| text.replacen("\"The", "\"\\ud800The", 1));
    }),
    ("UTF-16", |path| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(
            path,
            text.encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<_>>(),
        )
        .unwrap();
    }),
    ("a byte order mark", |path| {
        change(path, |text| format!("\u{feff}{text}"));
    }),
    ("null", |path| fs::write(path, "null\n").unwrap()),
    ("a number", |path| fs::write(path, "17").unwrap()),
    ("an array", |path| change(path, |text| format!("[{text}]"))),
    ("an object without anything", |path| {
        fs::write(path, "{}").unwrap();
    }),
    ("two records", |path| {
        change(path, |text| format!("{text}{text}"));
    }),
    ("deep arrays", |path| {
        fs::write(path, "[".repeat(200_000)).unwrap();
    }),
    ("deep objects", |path| {
        fs::write(path, "{\"a\":".repeat(200_000)).unwrap();
    }),
    ("deep nesting in a field", |path| {
        let deep = format!(
            "{{\"deep\": {}1{},",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        change(path, |text| text.replacen('{', &deep, 1));
    }),
    ("deep nesting in a field of ours", |path| {
        let deep = format!("{{\"impl\": {}1{},", "[".repeat(300), "]".repeat(300));
        change(path, |text| {
            text.replacen("{", &deep, 1)
                .replace("\"impl\": {", "\"impl2\": {")
        });
    }),
    ("a field twice", |path| {
        change(path, |text| text.replacen('{', "{\"slug\": \"x\",", 1));
    }),
    ("a slug with `_`", |path| {
        change_field(path, "slug", "\"read_file\"");
    }),
    ("a slug that is a number", |path| {
        change_field(path, "slug", "7");
    }),
    ("an id of version 4", |path| {
        change_field(path, "bundleID", "\"018faf50-b7b6-4a01-9a05-000000000001\"");
    }),
    ("another bundle's id", |path| {
        change_field(path, "bundleID", "\"018faf50-b7b6-7a01-9a05-0000000000ff\"");
    }),
    ("a time that is none", |path| {
        change_field(path, "createdAt", "\"yesterday\"");
    }),
    ("a switch that is a word", |path| {
        change_field(path, "isEnabled", "\"yes\"");
    }),
    ("HTML", |path| {
        fs::write(path, "<!doctype html><p>404").unwrap();
    }),
    ("a conflict of git's", |path| {
        change(path, |text| {
            format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> x\n")
        });
    }),
    ("a directory", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        fs::write(path.join("x"), "x").unwrap();
    }),
    ("a dangling link", |path| link(path, Path::new("nowhere"))),
    ("a link to itself", |path| {
        link(path, Path::new(path.file_name().unwrap()));
    }),
    ("a link to a good one", |path| {
        let elsewhere = path.with_extension("moved");
        fs::rename(path, &elsewhere).unwrap();
        symlink(elsewhere, path).unwrap();
    }),
    ("a link to /dev/zero", |path| {
        link(path, Path::new("/dev/zero"));
    }),
    ("a pipe", |path| {
        fs::remove_file(path).unwrap();
        let done = std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .unwrap();
        assert!(done.success());
    }),
    ("a socket", |path| {
        fs::remove_file(path).unwrap();
        // Names of sockets are short, so it is made beside the home.
        let short = tempfile::tempdir().unwrap();
        drop(std::os::unix::net::UnixListener::bind(short.path().join("s")).unwrap());
        fs::rename(short.path().join("s"), path).unwrap();
    }),
];

pub(super) fn change(path: &Path, how: impl FnOnce(String) -> String) {
    fs::write(path, how(fs::read_to_string(path).unwrap())).unwrap();
}

/// Gives a field another value, in the text.
pub(super) fn change_field(path: &Path, field: &str, value: &str) {
    change(path, |text| {
        let start = text.find(&format!("\"{field}\": ")).unwrap() + field.len() + 4;
        let end = start + text[start..].find([',', '\n']).unwrap();
        format!("{}{value}{}", &text[..start], &text[end..])
    });
}

pub(super) fn link(path: &Path, target: &Path) {
    fs::remove_file(path).unwrap();
    symlink(target, path).unwrap();
}
