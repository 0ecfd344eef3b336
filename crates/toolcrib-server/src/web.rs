//! The files of the web admin: those that the build script embedded, or a directory for work on the page.

use std::borrow::Cow;
use std::path::PathBuf;

include!(concat!(env!("OUT_DIR"), "/web.rs"));

/// The largest file that is read from a directory.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Where the files of the web admin come from.
#[derive(Debug, Clone, Default)]
pub enum Web {
    /// Those of this build, if it has any.
    #[default]
    BuiltIn,
    /// What `npm run build` wrote into this directory, read again for each request.
    Directory(PathBuf),
}

impl Web {
    /// Whether there is a page at all.
    pub fn is_there(&self) -> bool {
        match self {
            Web::BuiltIn => !FILES.is_empty(),
            Web::Directory(directory) => directory.join("index.html").is_file(),
        }
    }

    /// A file by its name below `/ui/`: `index.html`, `assets/NAME`.
    pub(crate) fn file(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Web::BuiltIn => FILES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, bytes)| Cow::Borrowed(*bytes)),
            Web::Directory(directory) => {
                let path = directory.join(name);
                let size = std::fs::metadata(&path).ok()?.len();
                (size <= MAX_BYTES)
                    .then(|| std::fs::read(path).ok())?
                    .map(Cow::Owned)
            }
        }
    }
}

/// The content type of a file, by its name.
pub(crate) fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
