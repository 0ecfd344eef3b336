//! Toolcrib's own files: [`DurableDir`], on which the store, the state files and the call log build.
//!
//! A write is a temporary file, `fsync`, a rename and `fsync` of the directory, under a lock that
//! the kernel frees when its holder dies. Whatever kills the process at whatever moment, a reader
//! finds the old content or the new one. Readers need no lock, and never create anything. A test kills
//! the writer at each of its system calls and looks.
//!
//! Everything goes through the open directory, not through its path: what is meant for a directory
//! that was moved or replaced meanwhile never lands in another one. What the files mean is the
//! business of others. All functions block; async callers hand them to a blocking thread.

mod count;
mod dir;
mod error;
mod followed;
mod format;
mod lock;
mod name;
mod set_aside;
mod stamp;
mod tree;
mod write;

pub use count::Generation;
#[doc(hidden)]
pub use followed::{Followed, Stamps};
pub use format::{FORMAT, HomeFormat};
pub use name::is_temp as is_leftover;
pub use set_aside::{set_aside, set_aside_unguarded};
pub use stamp::{Entry, Stamp};
pub use tree::NewDir;

pub use dir::DurableDir;
pub use error::StorageError;
pub use lock::DirLock;
