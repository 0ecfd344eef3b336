//! Archives that other programs make and read.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use toolcrib::store::archive::Archive;

use super::{bundle, tool};

fn python(script: &str, arguments: &[&Path], input: &[u8]) -> (bool, Vec<u8>, String) {
    let mut child = Command::new("python3")
        .arg("-c")
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let ran = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    (ran.status.success(), ran.stdout, said)
}

/// What python's `zipfile` makes of a list of names and texts, written in a way that `how` says.
fn zipfile(how: &str, files: &[(&str, String)]) -> Vec<u8> {
    let script = format!(
        r"
import io, json, sys, zipfile, stat
class Pipe(io.RawIOBase):
    def __init__(self): self.out = b''
    def writable(self): return True
    def write(self, data): self.out += bytes(data); return len(data)
files = json.load(sys.stdin)
{how}
sys.stdout.buffer.write(out)
"
    );
    let input = serde_json::to_vec(files).unwrap();
    let (ok, out, said) = python(&script, &[], &input);
    assert!(ok, "{said}");
    out
}

const PLAIN: &str = r"
target = io.BytesIO()
with zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED) as z:
    for name, text in files: z.writestr(name, text)
out = target.getvalue()
";
const STORED: &str = r"
target = io.BytesIO()
with zipfile.ZipFile(target, 'w') as z:
    for name, text in files: z.writestr(name, text)
out = target.getvalue()
";
const STREAMED: &str = r"
target = Pipe()
with zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED) as z:
    for name, text in files: z.writestr(name, text)
out = target.out
";
const LINK: &str = r"
target = io.BytesIO()
with zipfile.ZipFile(target, 'w') as z:
    for name, text in files: z.writestr(name, text)
    link = zipfile.ZipInfo('tools/link.json')
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    z.writestr(link, '/etc/passwd')
out = target.getvalue()
";
const APPENDED: &str = r"
target = io.BytesIO()
with zipfile.ZipFile(target, 'w') as z:
    for name, text in files: z.writestr(name, text)
out = b'#!/usr/bin/env python3\n' + target.getvalue()
";
const BOMB: &str = r"
target = io.BytesIO()
with zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED) as z:
    for name, text in files: z.writestr(name, text)
    for n in range(5): z.writestr(f'tools/{n}.json', b'\0' * (4 << 20))
out = target.getvalue()
";
const MANY: &str = r"
target = io.BytesIO()
with zipfile.ZipFile(target, 'w') as z:
    for name, text in files: z.writestr(name, text)
    for n in range(11_000): z.writestr(f'tools/{n}.json', '')
out = target.getvalue()
";
const LZMA: &str = r"
target = io.BytesIO()
with zipfile.ZipFile(target, 'w', zipfile.ZIP_LZMA) as z:
    for name, text in files: z.writestr(name, text)
out = target.getvalue()
";

fn files() -> Vec<(&'static str, String)> {
    vec![
        ("bundle.json", bundle().to_string()),
        ("tools/a.json", tool("a", "v1").to_string()),
        ("tools/天気.json", tool("天気", "v1").to_string()),
    ]
}

#[test]
fn what_python_packs_is_read() {
    for how in [PLAIN, STORED, STREAMED] {
        let archive = Archive::read(&zipfile(how, &files())).unwrap();
        assert_eq!(archive.contents.tools.len(), 2, "{how}");
    }
}

#[test]
fn what_python_packs_and_no_one_should_is_refused() {
    for (how, why) in [
        (LINK, "symbolic link"),
        (APPENDED, "begins at byte"),
        (BOMB, "200 times"),
        (MANY, "or more entries"),
        (LZMA, "method 14"),
    ] {
        let error = Archive::read(&zipfile(how, &files())).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn what_zip_packs_is_read_without_its_directories() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("tools")).unwrap();
    for (name, content) in files() {
        std::fs::write(dir.path().join(name), content).unwrap();
    }
    std::fs::remove_file(dir.path().join("tools/天気.json")).unwrap();
    let zip = |options: &[&str]| {
        let _ = std::fs::remove_file(dir.path().join("out.zip"));
        let ran = Command::new("zip")
            .current_dir(dir.path())
            .args(options)
            .args(["-q", "-r", "out.zip", "bundle.json", "tools"])
            .status();
        match ran {
            Ok(status) => {
                assert!(status.success());
                Some(std::fs::read(dir.path().join("out.zip")).unwrap())
            }
            Err(_) => {
                eprintln!("SKIPPED: `zip` is not installed");
                None
            }
        }
    };
    if let Some(bytes) = zip(&["-D"]) {
        assert_eq!(Archive::read(&bytes).unwrap().contents.tools.len(), 1);
    }
    if let Some(bytes) = zip(&[]) {
        let error = Archive::read(&bytes).unwrap_err().to_string();
        assert!(error.contains("`zip -D`"), "{error}");
    }
}
