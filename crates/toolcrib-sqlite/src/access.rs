//! What a connection is for: [`Access`].

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading. The file is open for reading only.
    Read,
    /// Reading and writing a file that is there.
    Write,
    /// Reading and writing; the file is created if it does not exist.
    Create,
}

impl Access {
    /// Whether it writes.
    pub fn writes(self) -> bool {
        match self {
            Access::Read => false,
            Access::Write | Access::Create => true,
        }
    }
}
