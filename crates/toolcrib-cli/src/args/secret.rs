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

HTTP tools name a secret as `${WEATHER_API_KEY}`; an argument can never stand for one. Values are kept in \
files that only you can read, are sent to the hosts they are bound to, and are replaced by `[REDACTED]` in \
results, errors, events, questions and logs, also in base64, URL-encoded and escaped. That is for accidents; \
a tool that turns a value around is not caught.")]
pub(crate) enum SecretCommand {
    /// Keep a secret, or replace one
    Set(SecretSetArgs),
    /// List names, whom they are for, and a short hash of each value
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

The value is asked for on a terminal, without showing it; elsewhere it is read from stdin, and newlines \
behind one line are dropped, of many lines the last one. It is never taken from the command line. It has 4 \
bytes at least, 64 KB at most. Setting a secret again replaces its value; hosts and bundles stay as they \
were unless others are named. A new one is for any, unless some are named.")]
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
    /// Send it to any host of `allowedHosts`, also if it was for some only
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) any_host: bool,
    /// Let only tools of this bundle use it; may be repeated [default: as before]
    #[arg(long = "bundle", value_name = "BUNDLE")]
    pub(crate) bundles: Vec<String>,
    /// Let tools of any bundle use it, also if it was for some only
    #[arg(long, conflicts_with = "bundles")]
    pub(crate) any_bundle: bool,
    /// Take the value from this variable of the environment
    #[arg(long, value_name = "VAR")]
    pub(crate) from_env: Option<String>,
}
