//! The client against servers that are written for the test: on pipes in memory, and over an exchange that has a script. And against the
//! server of this crate, without a socket in between.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod both_ends;
mod fake;
mod hostile;
mod over_http;
mod pipes;
mod scripted;
