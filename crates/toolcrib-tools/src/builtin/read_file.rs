//! `read_file`: the content of a file, or of some of its lines.
//!
//! S1 reads whole files of up to 1 MB, S3 ranges of lines from files of up to 10 MB and 10,000
//! lines at once; both hold. A range is streamed: lines before it are never kept, those after it
//! never read.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::BoxFuture;
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Encoding;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, MB};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::Tool;
use crate::workspace::{Metadata, Workspace, WorkspacePath};

/// The largest file read as a whole.
const MAX_WHOLE: u64 = MB;
/// The largest file that lines are read from.
const MAX_RANGED: u64 = 10 * MB;
/// The most lines read at once.
const MAX_LINES: u64 = 10_000;

/// What the operator sets.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The file name extensions that may be read, in any case, with or without dot; none means
    /// all (`readExtensions`). A link is judged by its own name.
    pub extensions: Vec<String>,
}

impl ReadOptions {
    /// The extensions in lower case and without dot.
    pub(super) fn plain_extensions(&self) -> Arc<[String]> {
        let plain = |extension: &String| extension.trim_start_matches('.').to_lowercase();
        self.extensions.iter().map(plain).collect()
    }
}

/// The tool.
pub(crate) struct ReadFile {
    spec: Arc<ToolSpec>,
    extensions: Arc<[String]>,
}

impl ReadFile {
    pub(crate) fn new(options: ReadOptions) -> Self {
        ReadFile {
            spec: Arc::new(spec()),
            extensions: options.plain_extensions(),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::typed_spec::<Args, Content>(
        "read_file",
        "Read file",
        "Read a text file in the workspace: whole up to 1 MB, or a range of up to 10,000 lines from a file of up to \
         10 MB.",
        Effects::READ,
    );
    spec.keywords = crate::builtin::keywords(&[
        "open", "view", "cat", "show", "display", "print", "head", "tail", "less", "content",
        "contents", "text", "source", "image", "load",
    ]);
    spec.traits = Traits {
        destroys: None,
        idempotent: None,
        open_world: Some(false),
    };
    spec.examples = vec![
        json!({"path": "README.md"}),
        json!({"path": "src/main.rs", "start_line": 10, "end_line": 20}),
    ];
    spec.roles = vec![("path".to_owned(), Role::ReadPath)];
    spec.limits = LimitsPatch {
        timeout_ms: Some(30_000),
        // Room for the longest content there can be: what was read must not be cut again.
        max_output_bytes: Some(MAX_RANGED),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// File to read, relative to the workspace
    path: String,
    /// How to return the content; base64 is for binary files and takes no line range
    #[serde(default)]
    encoding: Encoding,
    /// First line to read, counted from 1
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line to read, inclusive; the end of the file if left out
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Content<'a> {
    /// The content, line endings as they are
    content: &'a str,
    /// Size of the whole file in bytes
    #[schemars(with = "i64")]
    size: u64,
    /// When the file last changed, RFC 3339
    modified: String,
    /// First line returned, if lines were asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    start_line: Option<u64>,
    /// Last line returned, if lines were asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    end_line: Option<u64>,
}

/// What of the file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole(Encoding),
    /// Lines, counted from 1, both ends included.
    Lines {
        first: u64,
        last: Option<u64>,
    },
}

impl Tool for ReadFile {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            let part = args.part()?;
            let workspace = cx.workspace()?.clone();
            let extensions = self.extensions.clone();
            cx.blocking(move || {
                let path = workspace.path(&args.path)?;
                check_extension(&path, &extensions)?;
                read(&workspace, &path, part)
            })
            .await
        })
    }
}

impl Args {
    fn part(&self) -> Result<Part, ToolError> {
        match (self.encoding, self.start_line, self.end_line) {
            (encoding, None, None) => Ok(Part::Whole(encoding)),
            (Encoding::Base64, _, _) => Err(invalid(
                "/encoding",
                "must not be base64 together with start_line or end_line; base64 reads whole files",
            )),
            (Encoding::Utf8, Some(first), Some(last)) if first > last => Err(invalid(
                "/start_line",
                &format!("is {first}, after end_line, which is {last}"),
            )),
            (Encoding::Utf8, first, last) => Ok(Part::Lines {
                first: first.unwrap_or(1),
                last,
            }),
        }
    }
}

fn invalid(pointer: &str, message: &str) -> ToolError {
    super::invalid("read_file", pointer, message)
}

pub(super) fn check_extension(path: &WorkspacePath, allowed: &[String]) -> Result<(), ToolError> {
    let extension = Path::new(path.as_str())
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    if allowed.is_empty() || extension.is_some_and(|extension| allowed.contains(&extension)) {
        return Ok(());
    }
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let message = format!(
        "cannot read `{path}`: the setting `readExtensions` allows only files that end in {}",
        text::or_list(&allowed)
    );
    Err(ToolError::new(ErrorCode::PermissionDenied, message))
}

fn read(workspace: &Workspace, path: &WorkspacePath, part: Part) -> Result<ToolOutput, ToolError> {
    let (file, metadata) = workspace.open_file(path)?;
    match part {
        Part::Whole(encoding) => {
            let bytes = read_whole(file, path, &metadata)?;
            let size = bytes.len();
            let (content, blocks) = match encoding {
                Encoding::Utf8 => (text_of(bytes, path)?, Vec::new()),
                Encoding::Base64 => {
                    let kind = media_type(&bytes);
                    let content = BASE64.encode(bytes);
                    let block = block(kind, path, content.clone());
                    (content, vec![block])
                }
            };
            Ok(output(content, size as u64, &metadata, None)?.with_content(blocks))
        }
        Part::Lines { first, last } => {
            if metadata.size > MAX_RANGED {
                return Err(too_large_for_lines(path, metadata.size));
            }
            let lines = read_lines(file, first, last).map_err(|fault| match fault {
                RangeFault::PastEnd { lines } => {
                    invalid("/start_line", &format!("is {first}, but the file has {lines} lines"))
                }
                RangeFault::TooManyLines => {
                    let message = format!(
                        "cannot read `{path}`: the range has more than {MAX_LINES} lines; ask for fewer at once"
                    );
                    ToolError::new(ErrorCode::FileTooLarge, message).with_detail("maxLines", MAX_LINES)
                }
                RangeFault::TooManyBytes { read } => too_large_for_lines(path, read),
                RangeFault::Io(error) => io_fault(path, &error),
            })?;
            let content = text_of(lines.bytes, path)?;
            output(content, metadata.size, &metadata, Some((first, lines.last)))
        }
    }
}

/// The media type of a picture or a sound that models can take, by how its file begins.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'A',
            b'V',
            b'E',
            ..,
        ] => Some("audio/wav"),
        [b'I', b'D', b'3', ..] | [0xff, 0xfb | 0xf3 | 0xf2, ..] => Some("audio/mpeg"),
        _ => None,
    }
}

/// A file's bytes as MCP clients take them: a picture, a sound, or its own resource.
fn block(kind: Option<&'static str>, path: &WorkspacePath, data: String) -> Value {
    let mut fields = JsonObject::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    if let Some(kind) = kind {
        let (word, _) = kind.split_once('/').unwrap_or((kind, ""));
        put("type", word.into());
        put("data", data.into());
        put("mimeType", kind.into());
        return fields.into();
    }
    // Where it is in the workspace; no one opens it by this.
    let mut uri = url::Url::parse("workspace:///").expect("a valid address");
    uri.set_path(path.as_str());
    let mut resource = JsonObject::new();
    resource.insert("uri".to_owned(), String::from(uri).into());
    resource.insert("mimeType".to_owned(), "application/octet-stream".into());
    resource.insert("blob".to_owned(), data.into());
    put("type", "resource".into());
    put("resource", resource.into());
    fields.into()
}

fn output(
    content: String,
    size: u64,
    metadata: &Metadata,
    lines: Option<(u64, u64)>,
) -> Result<ToolOutput, ToolError> {
    let value = Content {
        content: &content,
        size,
        modified: metadata.modified.to_string(),
        start_line: lines.map(|(first, _)| first),
        end_line: lines.map(|(_, last)| last),
    };
    Ok(super::typed_value(&value)?.with_text(content))
}

/// Reads the file, which may grow meanwhile, but never more than is allowed.
fn read_whole(
    file: impl Read,
    path: &WorkspacePath,
    metadata: &Metadata,
) -> Result<Vec<u8>, ToolError> {
    if metadata.size > MAX_WHOLE {
        return Err(too_large(path, metadata.size));
    }
    // One byte more than fits shows that it does not fit.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.size).unwrap_or(0) + 1);
    file.take(MAX_WHOLE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| io_fault(path, &error))?;
    if bytes.len() as u64 > MAX_WHOLE {
        return Err(too_large(path, bytes.len() as u64));
    }
    Ok(bytes)
}

fn too_large(path: &WorkspacePath, size: u64) -> ToolError {
    let hint = if size > MAX_RANGED {
        format!("lines can be read from files of up to {MAX_RANGED} bytes")
    } else {
        "ask for a line range with start_line and end_line".to_owned()
    };
    let message = format!(
        "cannot read `{path}`: {size} bytes are over the limit of {MAX_WHOLE} bytes; {hint}"
    );
    ToolError::new(ErrorCode::FileTooLarge, message)
        .with_detail("size", size)
        .with_detail("maxBytes", MAX_WHOLE)
}

fn too_large_for_lines(path: &WorkspacePath, size: u64) -> ToolError {
    let message = format!(
        "cannot read lines of `{path}`: {size} bytes are over the limit of {MAX_RANGED} bytes, even for a line range"
    );
    ToolError::new(ErrorCode::FileTooLarge, message)
        .with_detail("size", size)
        .with_detail("maxBytes", MAX_RANGED)
}

fn text_of(bytes: Vec<u8>, path: &WorkspacePath) -> Result<String, ToolError> {
    String::from_utf8(bytes).map_err(|error| {
        let message = format!("cannot read `{path}` as text: it is not UTF-8; ask for the whole file with encoding base64");
        ToolError::new(ErrorCode::NotText, message).caused_by(error.utf8_error())
    })
}

fn io_fault(path: &WorkspacePath, error: &io::Error) -> ToolError {
    path.fault("read", Errno::from_io_error(error).unwrap_or(Errno::IO))
}

/// Some lines of a file.
#[derive(Debug, PartialEq, Eq)]
struct Lines {
    bytes: Vec<u8>,
    /// The number of the last one.
    last: u64,
}

#[derive(Debug)]
enum RangeFault {
    /// The first line wanted is after the end; there are this many.
    PastEnd {
        lines: u64,
    },
    TooManyLines,
    TooManyBytes {
        read: u64,
    },
    Io(io::Error),
}

impl From<io::Error> for RangeFault {
    fn from(error: io::Error) -> Self {
        RangeFault::Io(error)
    }
}

/// Reads the lines `first` to `last` (or to the end), with their line endings. A last line without
/// one counts; an empty file has no lines.
fn read_lines(input: impl Read, first: u64, last: Option<u64>) -> Result<Lines, RangeFault> {
    let mut input = BufReader::with_capacity(64 * 1024, input.take(MAX_RANGED + 1));
    let mut bytes = Vec::new();
    let (mut read, mut line) = (0, 0);
    while last.is_none_or(|last| line < last) {
        let is_wanted = line + 1 >= first;
        let length = if is_wanted {
            input.read_until(b'\n', &mut bytes)?
        } else {
            input.skip_until(b'\n')?
        };
        if length == 0 {
            break;
        }
        read += length as u64;
        line += 1;
        if read > MAX_RANGED {
            return Err(RangeFault::TooManyBytes { read });
        }
        if is_wanted && line - first >= MAX_LINES {
            return Err(RangeFault::TooManyLines);
        }
    }
    if line < first {
        Err(RangeFault::PastEnd { lines: line })
    } else {
        Ok(Lines { bytes, last: line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    fn lines(text: &str, first: u64, last: Option<u64>) -> (String, u64) {
        let lines = read_lines(text.as_bytes(), first, last).unwrap();
        (String::from_utf8(lines.bytes).unwrap(), lines.last)
    }

    #[test]
    fn a_range_is_inclusive_and_keeps_its_line_endings() {
        let text = "one\r\ntwo\n\nfour";
        for (first, last, expected) in [
            (1, Some(1), ("one\r\n", 1)),
            (1, Some(2), ("one\r\ntwo\n", 2)),
            (2, Some(3), ("two\n\n", 3)),
            (3, None, ("\nfour", 4)),
            (4, Some(9), ("four", 4)),
            (1, None, (text, 4)),
        ] {
            let (content, end) = lines(text, first, last);
            assert_eq!((content.as_str(), end), expected, "{first}..={last:?}");
        }
    }

    #[test]
    fn a_final_newline_ends_the_last_line_and_starts_no_other() {
        assert_eq!(lines("a\nb\n", 2, None), ("b\n".to_owned(), 2));
        assert!(matches!(
            read_lines(&b"a\nb\n"[..], 3, None),
            Err(RangeFault::PastEnd { lines: 2 })
        ));
        assert!(matches!(
            read_lines(&b""[..], 1, None),
            Err(RangeFault::PastEnd { lines: 0 })
        ));
    }

    #[test]
    fn ten_thousand_lines_pass_and_one_more_does_not() {
        let text = "x\n".repeat(20_000);
        assert_eq!(lines(&text, 5, Some(10_004)).1, 10_004);
        assert!(matches!(
            read_lines(text.as_bytes(), 5, Some(10_005)),
            Err(RangeFault::TooManyLines)
        ));
        assert!(matches!(
            read_lines(text.as_bytes(), 10_000, None),
            Err(RangeFault::TooManyLines)
        ));
        assert_eq!(lines(&text, 10_001, None).1, 20_000);
        // What counts is the lines there are: a far end is a way to say "to the end".
        assert_eq!(lines("a\nb", 1, Some(u64::MAX)).1, 2);
    }

    #[test]
    fn nothing_after_the_range_is_read() {
        struct EndsInFire(u32);
        impl Read for EndsInFire {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(1).expect("read past the range");
                buf[..2].copy_from_slice(b"a\n");
                Ok(2)
            }
        }
        assert_eq!(
            read_lines(EndsInFire(3), 2, Some(3)).unwrap(),
            Lines {
                bytes: b"a\na\n".to_vec(),
                last: 3
            }
        );
    }

    #[test]
    fn a_file_that_grows_without_end_is_read_no_further_than_its_limit() {
        let fault = read_lines(io::repeat(b'x'), 1, None).unwrap_err();
        assert!(
            matches!(fault, RangeFault::TooManyBytes { read } if read == MAX_RANGED + 1),
            "{fault:?}"
        );
        let fault = read_lines(io::repeat(b'\n'), u64::MAX, None).unwrap_err();
        assert!(
            matches!(fault, RangeFault::TooManyBytes { .. }),
            "{fault:?}"
        );

        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("log"), "").unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let path = workspace.path("log").unwrap();
        let metadata = workspace.metadata(&path).unwrap();
        let error = read_whole(io::repeat(b'x'), &path, &metadata).unwrap_err();
        assert_eq!(error.code(), ErrorCode::FileTooLarge);
    }

    #[test]
    fn an_error_while_reading_says_what_was_read() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(Errno::IO.into())
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let path = Workspace::open(directory.path())
            .unwrap()
            .path("log")
            .unwrap();
        let Err(RangeFault::Io(error)) = read_lines(Broken, 1, None) else {
            panic!("an input/output error")
        };
        let error = io_fault(&path, &error);
        assert_eq!(error.code(), ErrorCode::ExecutionError);
        assert_eq!(
            error.message(),
            "cannot read `log`: the disk reports an input/output error"
        );
    }

    #[test]
    fn parameters_that_contradict_each_other_are_refused_with_a_pointer() {
        let part = |args: Value| serde_json::from_value::<Args>(args).unwrap().part();
        assert_eq!(part(json!({"path": "a"})), Ok(Part::Whole(Encoding::Utf8)));
        assert_eq!(
            part(json!({"path": "a", "end_line": 5})),
            Ok(Part::Lines {
                first: 1,
                last: Some(5)
            })
        );
        assert_eq!(
            part(json!({"path": "a", "start_line": 5})),
            Ok(Part::Lines {
                first: 5,
                last: None
            })
        );
        for (args, pointer) in [
            (
                json!({"path": "a", "encoding": "base64", "start_line": 1}),
                "/encoding",
            ),
            (
                json!({"path": "a", "start_line": 2, "end_line": 1}),
                "/start_line",
            ),
        ] {
            let error = part(args.clone()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArguments, "{args}");
            assert_eq!(
                error.details().unwrap()["faults"][0]["pointer"],
                pointer,
                "{args}"
            );
        }
    }

    #[test]
    fn extensions_are_compared_without_dot_and_case() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let tool = ReadFile::new(ReadOptions {
            extensions: vec![".MD".to_owned(), "txt".to_owned()],
        });
        let check = |path: &str| check_extension(&workspace.path(path).unwrap(), &tool.extensions);
        for allowed in ["a.md", "b/a.Md", "x.y.TXT"] {
            assert_eq!(check(allowed), Ok(()), "{allowed}");
        }
        for refused in ["id_rsa", "a.md.key", ".md", "md", "a."] {
            let error = check(refused).unwrap_err();
            assert_eq!(error.code(), ErrorCode::PermissionDenied, "{refused}");
            assert!(error.message().contains("`readExtensions`"), "{error}");
        }
    }

    #[test]
    fn the_published_schema_follows_the_rules_for_authors() {
        let spec = ReadFile::new(ReadOptions::default()).spec();
        Schema::authored(spec.input_schema.as_value().clone()).unwrap();
        assert_eq!(spec.reference(), "core/read-file@v1");
        assert!(spec.effects.is_read_only());
    }
}
