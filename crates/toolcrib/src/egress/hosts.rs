//! Who may be reached: [`AllowedHosts`], the setting, and [`Reach`], what one request may do.

use super::error::Refusal;
use super::target::Target;

/// The setting `allowedHosts`: `host`, `*.host`, `host:port`, a literal address or `localhost` with a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {}

impl AllowedHosts {
    /// Reads entries; the error says which one is wrong and what to write.
    pub fn parse<'a>(_entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        unimplemented!()
    }

    /// Whether an entry names this target.
    pub fn contains(&self, _target: &Target) -> bool {
        unimplemented!()
    }
}

/// Which targets one request, and every hop of it, may go to. Addresses are judged besides, always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Those of the setting `allowedHosts`.
    Listed,
    /// Those, and the host that a person approved.
    ListedOr(Target),
    /// These only, whatever the setting says: what a tool in the sandbox was permitted.
    Only(AllowedHosts),
}

/// What there is to say about a target before anything is sent or anybody asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The setting names it.
    Listed,
    /// It is not named, and nothing speaks against asking a person.
    Unlisted,
    /// It is never reached: a refused scheme or address.
    Refused(Refusal),
}
