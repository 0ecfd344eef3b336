//! The decisions, all of them pure: whether a target may be reached, and whether an address may be dialled for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::hosts::{AllowedHosts, HostVerdict, Reach};
use crate::target::{AddressEntry, EgressError, Refusal};
use crate::target::{Host, Target};
use crate::target::{Kind, Range, refused};

/// What the settings permit.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// The setting `allowedHosts`.
    pub(super) allowed: AllowedHosts,
    /// The setting `network.privateHosts`.
    pub(super) private: AllowedHosts,
}

/// Names that clouds have for their metadata service. Their addresses are refused anyway; behind a proxy no one sees those.
const METADATA_NAMES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Ports of protocols that an HTTP request could be mistaken for, as browsers refuse them (the Fetch standard's "bad ports"). One that
/// an entry of the settings has in it is meant.
const BAD_PORTS: &[u16] = &[
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080, 11211,
];

impl Guard {
    /// What can be said about a target without asking anybody for its addresses.
    pub(super) fn standing(&self, target: &Target) -> HostVerdict {
        if let Err(refusal) = self.judge_target(target, &Reach::Listed) {
            return HostVerdict::Refused(refusal);
        }
        match self.allowed.contains(target) {
            true => HostVerdict::Listed,
            false => HostVerdict::Unlisted,
        }
    }

    /// Lets a target pass that is within reach and that nothing speaks against so far.
    pub(super) fn admit(&self, target: &Target, reach: &Reach) -> Result<(), EgressError> {
        self.judge_target(target, reach)
            .map_err(EgressError::Refused)?;
        if reach.includes(target, &self.allowed) {
            return Ok(());
        }
        let entry = target.entry();
        let message = match reach {
            Reach::Listed | Reach::ListedOr(_) => format!(
                "`{target}` is not a host that may be reached; `toolcrib config set --add allowedHosts {entry}` allows it"
            ),
            Reach::Only(_) => {
                format!("`{target}` is not among the hosts that this tool was permitted to reach")
            }
            Reach::Configured(_) => {
                format!("`{target}` is another server than the one in the settings")
            }
        };
        Err(EgressError::Refused(message.into()))
    }

    /// Lets the addresses of a target pass, if every one of them may be dialled.
    ///
    /// One refused address refuses the name: who answers with a public and a private one means the private one to be dialled when the
    /// public one does not answer, and honest names have no such mixture.
    pub(super) fn judge_addresses(
        &self,
        target: &Target,
        reach: &Reach,
        addresses: &[IpAddr],
    ) -> Result<(), EgressError> {
        for address in addresses {
            if let Err(range) = self.judge_address(target, reach, *address) {
                return Err(EgressError::Refused(refusal(target, range)));
            }
        }
        Ok(())
    }

    /// Whether this address may be dialled for the target.
    pub(super) fn judge_address(
        &self,
        target: &Target,
        reach: &Reach,
        address: IpAddr,
    ) -> Result<(), Range> {
        let Some(range) = refused(address) else {
            return Ok(());
        };
        let is_permitted = match &target.host {
            Host::Address(literal) => {
                *literal == address && reach.permits_address(target, &self.allowed)
            }
            Host::Name(_) if target.is_local_name() => {
                range.kind == Kind::Loopback && reach.permits_address(target, &self.allowed)
            }
            Host::Name(_) => range.kind == Kind::Private && self.private.names_host(target),
        };
        if is_permitted { Ok(()) } else { Err(range) }
    }

    /// The addresses that need no asking: a literal one, and those of this machine's own names.
    pub(super) fn known_addresses(target: &Target) -> Option<Vec<IpAddr>> {
        match &target.host {
            Host::Address(address) => Some(vec![*address]),
            // By definition (RFC 6761), whatever a resolver would say.
            Host::Name(_) if target.is_local_name() => {
                Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Host::Name(_) => None,
        }
    }

    fn judge_target(&self, target: &Target, reach: &Reach) -> Result<(), Refusal> {
        for address in Guard::known_addresses(target).unwrap_or_default() {
            self.judge_address(target, reach, address)
                .map_err(|range| refusal(target, range))?;
        }
        if let Host::Name(name) = &target.host
            && METADATA_NAMES.contains(&name.as_str())
        {
            let message =
                format!("`{target}` is a cloud's metadata service, which is never reached");
            return Err(message.into());
        }
        let is_meant = || match reach {
            Reach::Only(hosts) => hosts.names_port(target),
            Reach::Configured(configured) => configured == target,
            Reach::Listed | Reach::ListedOr(_) => false,
        };
        if BAD_PORTS.contains(&target.port) && !self.allowed.names_port(target) && !is_meant() {
            let message = format!(
                "port {} belongs to another protocol than HTTP; if a web server is there, `toolcrib config set --add allowedHosts {target}` allows it",
                target.port
            );
            let entry = Some(AddressEntry {
                host: target.to_string(),
                what: "a port of another protocol than HTTP".to_owned(),
            });
            return Err(Refusal { message, entry });
        }
        Ok(())
    }
}

/// Why addresses of a range are refused for this target, and who could permit them.
fn refusal(target: &Target, range: Range) -> Refusal {
    let Range { kind, name } = range;
    let is_offered = match &target.host {
        Host::Address(_) => matches!(kind, Kind::Private | Kind::Loopback | Kind::LinkLocal),
        Host::Name(_) => target.is_local_name(),
    };
    let entry = is_offered.then(|| AddressEntry {
        host: target.to_string(),
        what: format!("an address of {name}"),
    });
    let message = match (&target.host, kind) {
        (Host::Address(_), Kind::Special) => {
            format!("`{target}` is an address for {name}, where no server is")
        }
        (Host::Address(_), Kind::Metadata) => {
            format!("`{target}` is {name}, which is never reached")
        }
        (Host::Address(_), Kind::Private | Kind::Loopback | Kind::LinkLocal) => format!(
            "`{target}` is an address of {name}; `toolcrib config set --add allowedHosts {target}` allows it"
        ),
        (Host::Name(_), _) if target.is_local_name() => format!(
            "`{target}` is this machine; `toolcrib config set --add allowedHosts {target}` allows it"
        ),
        (Host::Name(host), Kind::Private) => format!(
            "`{host}` has an address of {name}; `toolcrib config set --add network.privateHosts {host}` allows it"
        ),
        (Host::Name(host), Kind::Loopback | Kind::LinkLocal | Kind::Metadata) => {
            format!("`{host}` has an address of {name}, which is never reached by a name")
        }
        (Host::Name(host), Kind::Special) => {
            format!("`{host}` has an address for {name}, where no server is")
        }
    };
    Refusal { message, entry }
}

#[cfg(test)]
mod tests;
