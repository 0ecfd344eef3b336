//! The wall against a real kernel: every test attacks or overloads it, as root and as an ordinary user.
#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

mod bad_input;
mod edges;
mod excluded;
mod held;
mod holes;
mod lifetimes;
mod limits;
mod network;
mod no_namespaces;
mod output;
mod planted_repositories;
mod protected;
mod protected_odd;
mod protected_repositories;
mod proxy;
mod random_kills;
mod read_only;
mod replaced;
mod runner;
mod shared_directory;
mod stage;
mod terminal;
mod users;
