//! Bundles that are named on the command line: one of the store, or an archive.

use std::io::Read as _;
use std::path::Path;

use toolcrib::crib::{BundleKind, BundleRow};
use toolcrib::model::names::Slug;
use toolcrib::model::text::visible;
use toolcrib::store::archive::{Archive, Contents, MAX_ARCHIVE_BYTES, contents};
use toolcrib::{Crib, ErrorCode, ToolError};

use crate::failure::CliError;

/// A bundle, wherever it is.
pub(super) enum NamedBundle {
    /// One of the store.
    Here(Contents),
    /// One in an archive.
    Archive(Archive),
}

impl NamedBundle {
    /// The bundle that a word names. Slugs and ids have neither dots nor slashes, so that names of files are never taken for them.
    pub(super) fn find(word: &str, crib: &Crib) -> Result<NamedBundle, CliError> {
        if word == "-" || Slug::parse(word).is_err() {
            return Ok(NamedBundle::Archive(read_archive(Path::new(word))?));
        }
        let view = crib.bundle(word).map_err(|error| {
            let error = CliError::from(error);
            match Path::new(word).exists() {
                true => error.with_hint(format!("for the file of that name, type `./{word}`")),
                false => error,
            }
        })?;
        refuse_own(&BundleRow::from(&view))?;
        let contents = contents(crib.store(), view.bundle.bundle_id).map_err(ToolError::from)?;
        Ok(NamedBundle::Here(contents))
    }

    pub(super) fn contents(&self) -> &Contents {
        match self {
            NamedBundle::Here(contents) => contents,
            NamedBundle::Archive(archive) => &archive.contents,
        }
    }

    /// Warnings about it.
    pub(super) fn notes(&self) -> &[String] {
        match self {
            NamedBundle::Here(_) => &[],
            NamedBundle::Archive(archive) => &archive.notes,
        }
    }
}

/// Refuses bundles that are not the store's: their tools are compiled in, or are files.
pub(super) fn refuse_own(bundle: &BundleRow) -> Result<(), CliError> {
    let (what, hint) = match bundle.kind {
        BundleKind::Store => return Ok(()),
        BundleKind::BuiltIn => (
            "has the built-in tools, which every Toolcrib has",
            "`toolcrib bundle list` lists your bundles",
        ),
        BundleKind::Files => (
            "has the tools of files, which can be copied as they are",
            "`toolcrib bundle add BUNDLE FILE…` puts files into a bundle",
        ),
        BundleKind::Upstream => (
            "has the tools of an MCP server, which are the server's",
            "`toolcrib upstream show NAME` says how it is reached",
        ),
    };
    let message = format!("`{}` {what}: there is no archive of it", bundle.slug);
    Err(CliError::from(ToolError::new(ErrorCode::ReadOnly, message)).with_hint(hint))
}

/// Reads an archive from a file, or with `-` from stdin.
fn read_archive(file: &Path) -> Result<Archive, CliError> {
    archive_of(&read_bytes(file)?)
}

/// The archive that these bytes are.
pub(super) fn archive_of(bytes: &[u8]) -> Result<Archive, CliError> {
    let archive = Archive::read(bytes).map_err(|error| {
        let error = ToolError::from(error);
        let hint = "ask its author for another one";
        match error.code() {
            ErrorCode::InvalidArguments => CliError::from(error).with_hint(hint),
            _ => error.into(),
        }
    })?;
    Ok(archive)
}

/// The bytes of an archive in a file, or with `-` in stdin; never more of them than an archive may have.
pub(super) fn read_bytes(file: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let most = MAX_ARCHIVE_BYTES as u64 + 1;
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|opened| opened.take(most).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let shown = file.display().to_string();
            let message = format!("cannot read `{}`: {error}", visible(&shown));
            Err(CliError::usage(message)
                .with_hint("name a ZIP file that `toolcrib bundle export` made"))
        }
    }
}
