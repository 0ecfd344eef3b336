//! What `secret` takes.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib secret set WEATHER_API_KEY --host api.weather.example   asks for the value
  pass show github | toolcrib secret set GITHUB_TOKEN --host api.github.com
  toolcrib secret list
  toolcrib secret rm WEATHER_API_KEY

HTTP tools name a secret as `${WEATHER_API_KEY}`; an argument can never take its place. Values are stored in \
files that only you can read, are sent only to the hosts they are bound to, and are replaced by `[REDACTED]` \
in results, errors, events, questions and logs, also in base64, URL-encoded and escaped. This prevents \
accidents; it does not catch a tool that disguises a value.")]
pub(crate) enum SecretCommand {
    /// Save a secret, or replace one
    Set(SecretSetArgs),
    /// List the names, the hosts and bundles they are for, and a short hash of each value
    #[command(after_help = "\
The hash is the last four digits of the value's SHA-256: enough to tell two values apart, too little to find \
one. To compare: printf %s \"$VALUE\" | sha256sum")]
    List,
    /// Remove secrets
    Rm {
        /// Their names
        #[arg(required = true, value_name = "NAME", add = ArgValueCompleter::new(complete::secrets))]
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib secret set WEATHER_API_KEY --host api.weather.example
  toolcrib secret set DEPLOY_KEY < ~/.keys/deploy.pem
  toolcrib secret set GITHUB_TOKEN --from-env GH_TOKEN --host api.github.com --bundle github

On a terminal you are asked for the value, and it is not shown. Elsewhere it is read from stdin, without the \
newline at its end. It is never taken from the command line. A value has 4 bytes to 64 KB. Setting a secret \
again replaces its value; hosts and bundles stay as they were unless others are named. A new secret is for \
any host and bundle, unless some are named.")]
pub(crate) struct SecretSetArgs {
    /// Its name: letters, digits and `_`
    #[arg(add = ArgValueCompleter::new(complete::secrets))]
    pub(crate) name: String,
    /// Refused: see above
    #[arg(hide = true)]
    pub(crate) value: Vec<OsString>,
    /// Send it to this host only, written as in `allowedHosts`; may be repeated [default: as before]
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Send it to any host of `allowedHosts`, even if it was limited before
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) any_host: bool,
    /// Let only tools of this bundle use it; may be repeated [default: as before]
    #[arg(long = "bundle", value_name = "BUNDLE")]
    pub(crate) bundles: Vec<String>,
    /// Let tools of any bundle use it, even if it was limited before
    #[arg(long, conflicts_with = "bundles")]
    pub(crate) any_bundle: bool,
    /// Take the value from this variable of the environment
    #[arg(long, value_name = "VAR")]
    pub(crate) from_env: Option<String>,
}
