//! What `bundle` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use toolcrib::model::ids::BundleId;

use crate::complete;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib bundle new acme --description 'Tools of the Acme API'
  toolcrib bundle add acme weather.json       put a tool in it
  toolcrib bundle list                        list the bundles
  toolcrib bundle disable acme                switch all of its tools off
  toolcrib bundle export acme                 as acme.zip, to share
  toolcrib bundle import acme.zip             imported switched off
  toolcrib bundle rm acme                     into the bin; `bundle restore` brings it back

A bundle groups tools under one switch. `core` has the built-in tools, `local`, `user` and `global` those of \
files; all others are kept in Toolcrib's home, one file for each version of a tool. A bundle is named by its \
slug or its id; put `--` before one that begins with a dash.")]
pub(crate) enum BundleCommand {
    /// List the bundles
    List(BundleListArgs),
    /// Show a bundle and the tools in it
    #[command(after_help = "\
Examples:
  toolcrib bundle show acme
  toolcrib bundle show core --json")]
    Show(BundleArgs),
    /// Create a bundle
    New(BundleNewArgs),
    /// Change a bundle's name, description or slug
    Edit(BundleEditArgs),
    /// Put tools into a bundle, from files
    Add(BundleAddArgs),
    /// Switch bundles on, with the tools in them
    #[command(after_help = "\
Examples:
  toolcrib bundle enable acme
  toolcrib bundle enable acme --yes      without being asked about an imported one

For an imported bundle you see what its tools would run and reach, and are asked. Tools that are switched \
off one by one stay off.")]
    Enable(BundleSwitchArgs),
    /// Switch bundles off, with the tools in them
    #[command(after_help = "\
Examples:
  toolcrib bundle disable acme
  toolcrib bundle disable core           no built-in tools are offered any more

Nothing is lost: `toolcrib bundle enable` brings its tools back as they were. As long as a bundle is off, \
nothing can be put into it.")]
    Disable(BundleNamesArgs),
    /// Put a bundle in the bin, with the tools in it
    Rm(BundleRmArgs),
    /// Take a bundle out of the bin
    #[command(after_help = "\
Examples:
  toolcrib bundle list --all             also lists the bin
  toolcrib bundle restore acme
  toolcrib bundle restore 018faf50-b7b6-7a01-9a05-a22a6e0af101

It comes back as it was, with its tools. If another bundle has taken its slug, remove or rename that one \
first (exit 9).")]
    Restore(BundleRestoreArgs),
    /// Write a bundle into a ZIP file, to share it
    Export(BundleExportArgs),
    /// Import a bundle from a ZIP file, switched off
    Import(BundleImportArgs),
    /// Compare two bundles, or a bundle with an exported one
    Diff(BundleDiffArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle list
  toolcrib bundle list --all             also those that are off or in the bin
  toolcrib bundle list --json            for programs")]
pub(crate) struct BundleListArgs {
    /// Also list bundles that are off, in the bin or damaged
    #[arg(short, long)]
    pub(crate) all: bool,
}

/// A bundle and nothing else.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// The bundle: slug or id
    #[arg(add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) bundle: String,
}

/// A bundle in the bin.
#[derive(Debug, Args)]
pub(crate) struct BundleRestoreArgs {
    /// The bundle: slug or id
    #[arg(add = ArgValueCompleter::new(complete::deleted_bundles))]
    pub(crate) bundle: String,
}

/// Bundles and nothing else.
#[derive(Debug, Args)]
pub(crate) struct BundleNamesArgs {
    /// The bundles: slugs or ids
    #[arg(required = true, value_name = "BUNDLE", add = ArgValueCompleter::new(complete::switchable_bundles))]
    pub(crate) bundles: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle new acme
  toolcrib bundle new acme --name 'Acme API' --description 'Orders and invoices'
  toolcrib bundle new météo --disabled

A slug has letters and digits of any script and dashes, up to 64. Two bundles cannot share one, unless one \
of them is in the bin.")]
pub(crate) struct BundleNewArgs {
    /// Its slug: what it is called on the command line and in URLs
    pub(crate) slug: String,
    /// Its name in lists [default: the slug]
    #[arg(long, value_name = "DISPLAY", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
    /// Its contents
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,
    /// Create it switched off
    #[arg(long)]
    pub(crate) disabled: bool,
    /// Its id, a UUIDv7 [default: a new one]
    #[arg(long, value_name = "UUID", value_parser = |id: &str| BundleId::parse(id))]
    pub(crate) id: Option<BundleId>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle edit acme --description 'Orders, invoices, customers'
  toolcrib bundle edit acme --name 'Acme API' --slug acme-api

Fields that are not named stay, and so does the id. Its tools are then called by the new slug: \
`acme-api/weather`. Rules and secrets that name the old slug are not changed; update them yourself.")]
#[command(group = clap::ArgGroup::new("change").args(["name", "description", "slug"]).required(true).multiple(true))]
pub(crate) struct BundleEditArgs {
    /// The bundle: slug or id
    #[arg(add = ArgValueCompleter::new(complete::own_bundles))]
    pub(crate) bundle: String,
    /// Its name in lists
    #[arg(long, value_name = "DISPLAY", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
    /// Its contents
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,
    /// Another slug
    #[arg(long, value_name = "NEW", allow_hyphen_values = true)]
    pub(crate) slug: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle add acme weather.json
  toolcrib bundle add acme tools/*.yaml
  toolcrib bundle add acme weather.json --version v2      beside the existing v1

JSON files are HTTP tools, functions or commands as in docs/bundles.md; comments are allowed. A YAML tool \
becomes one of type `command`. All files are checked first, as by `toolcrib check`: if one is not valid, \
none is added (exit 4). An existing version is never replaced (exit 9): edit it, or add another one beside \
it.")]
pub(crate) struct BundleAddArgs {
    /// The bundle: slug or id
    #[arg(add = ArgValueCompleter::new(complete::own_bundles))]
    pub(crate) bundle: String,
    /// Files of tools: .json, .yaml or .yml
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Their version, instead of the one in the files [default: v1 if a file names none]
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub(crate) version: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BundleSwitchArgs {
    /// The bundles: slugs or ids
    #[arg(required = true, value_name = "BUNDLE", add = ArgValueCompleter::new(complete::switchable_bundles))]
    pub(crate) bundles: Vec<String>,
    /// Do not ask about imported ones
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle rm acme
  toolcrib bundle restore acme           bring it back

A bundle in the bin offers no tools and keeps all of them. Two days later it is removed for good if it is \
empty; one with tools stays until `toolcrib rm` has removed those.")]
pub(crate) struct BundleRmArgs {
    /// The bundle: slug or id
    #[arg(add = ArgValueCompleter::new(complete::own_bundles))]
    pub(crate) bundle: String,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle export acme                    writes acme.zip
  toolcrib bundle export acme -o /tmp/a.zip
  toolcrib bundle export acme -o - | ssh host toolcrib bundle import - --yes

Exporting a bundle twice gives the same bytes. A bundle that contains the value of one of your secrets is \
refused: name the secret instead.")]
pub(crate) struct BundleExportArgs {
    /// The bundle: slug or id
    #[arg(add = ArgValueCompleter::new(complete::own_bundles))]
    pub(crate) bundle: String,
    /// The file to write, - for stdout [default: SLUG.zip here, ID.zip for a slug that is not plain ASCII]
    #[arg(short, long, alias = "out", value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle import acme.zip --dry-run      what is in it, and what it would change
  toolcrib bundle import acme.zip
  toolcrib bundle import acme.zip --slug acme-2  beside the existing one
  toolcrib bundle import acme.zip --update       replaces the existing one

The bundle is imported completely or not at all, and is switched off. `toolcrib bundle enable` shows what its tools would run and \
reach, then switches it on.")]
pub(crate) struct BundleImportArgs {
    /// The file, - for stdin
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Show what would happen without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Import it under another slug, with new ids
    #[arg(
        long,
        value_name = "NEW",
        allow_hyphen_values = true,
        conflicts_with = "update"
    )]
    pub(crate) slug: Option<String>,
    /// Replace the bundle that has the same id
    #[arg(long)]
    pub(crate) update: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib bundle diff acme acme-2               two bundles
  toolcrib bundle diff acme.zip acme             an exported bundle with the one here
  toolcrib bundle diff acme.zip                  what `import --update` would change here

Exits with 0 whether they differ or not; `--json` says which tools do.")]
pub(crate) struct BundleDiffArgs {
    /// A bundle, or a ZIP file of one
    #[arg(value_name = "A", add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) first: String,
    /// Another bundle [default: the one here with the id or slug of A]
    #[arg(value_name = "B", add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) second: Option<String>,
}
