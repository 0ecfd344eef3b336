//! Addresses that may not be reached: a table of ranges, each with its name.
//!
//! An address that carries another one (NAT64, 6to4, ISATAP …) is judged by what it carries or refused whole: where such a packet
//! ends is decided elsewhere. Of IPv6 only global unicast, 2000::/3, is public; what is not known to be public is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address that is not public belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Kind {
    /// A private network, which a name of the setting `network.privateHosts` may belong to.
    Private,
    /// This machine.
    Loopback,
    /// The local link: printers, routers, other virtual machines.
    LinkLocal,
    /// The service of a cloud that hands out the credentials of the machine.
    Metadata,
    /// Nothing that a server could have.
    Special,
}

/// A range of addresses that are not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Range {
    /// What it belongs to.
    #[doc(hidden)]
    pub kind: Kind,
    /// Its name, for a person.
    #[doc(hidden)]
    pub name: &'static str,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u32, kind: Kind, name: &'static str) -> V4 {
    let address = u32::from_be_bytes([a, b, c, d]);
    V4 {
        address,
        bits,
        range: Range { kind, name },
    }
}

struct V4 {
    address: u32,
    bits: u32,
    range: Range,
}

/// The most telling first: a metadata address is also link-local.
const IPV4: &[V4] = &[
    v4(
        169,
        254,
        169,
        254,
        32,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v4(
        169,
        254,
        170,
        2,
        32,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v4(
        169,
        254,
        170,
        23,
        32,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v4(
        100,
        100,
        100,
        200,
        32,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v4(
        168,
        63,
        129,
        16,
        32,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v4(
        192,
        0,
        0,
        192,
        32,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v4(0, 0, 0, 0, 8, Kind::Special, "this network"),
    v4(10, 0, 0, 0, 8, Kind::Private, "a private network"),
    v4(
        100,
        64,
        0,
        0,
        10,
        Kind::Private,
        "a provider's shared network",
    ),
    v4(127, 0, 0, 0, 8, Kind::Loopback, "this machine"),
    v4(169, 254, 0, 0, 16, Kind::LinkLocal, "the local link"),
    v4(172, 16, 0, 0, 12, Kind::Private, "a private network"),
    v4(192, 0, 0, 0, 24, Kind::Special, "protocol assignments"),
    v4(192, 0, 2, 0, 24, Kind::Special, "documentation"),
    v4(192, 88, 99, 0, 24, Kind::Special, "6to4 relays"),
    v4(192, 168, 0, 0, 16, Kind::Private, "a private network"),
    v4(198, 18, 0, 0, 15, Kind::Special, "benchmarks"),
    v4(198, 51, 100, 0, 24, Kind::Special, "documentation"),
    v4(203, 0, 113, 0, 24, Kind::Special, "documentation"),
    v4(224, 0, 0, 0, 4, Kind::Special, "multicast"),
    v4(255, 255, 255, 255, 32, Kind::Special, "broadcast"),
    v4(240, 0, 0, 0, 4, Kind::Special, "reserved addresses"),
];

struct V6 {
    address: u128,
    bits: u32,
    range: Range,
}

const fn v6(segments: [u16; 8], bits: u32, kind: Kind, name: &'static str) -> V6 {
    let [a, b, c, d, e, f, g, h] = segments;
    let address = Ipv6Addr::new(a, b, c, d, e, f, g, h).to_bits();
    V6 {
        address,
        bits,
        range: Range { kind, name },
    }
}

/// The most telling first. An address that is in no range and not in 2000::/3 either is refused as well.
const IPV6: &[V6] = &[
    v6(
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
        128,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v6(
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],
        128,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v6(
        [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
        128,
        Kind::Metadata,
        "a cloud's metadata service",
    ),
    v6(
        [0, 0, 0, 0, 0, 0, 0, 1],
        128,
        Kind::Loopback,
        "this machine",
    ),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, Kind::Special, "this network"),
    v6(
        [0, 0, 0, 0, 0, 0, 0, 0],
        96,
        Kind::Special,
        "IPv4-compatible addresses",
    ),
    v6(
        [0x64, 0xff9b, 1, 0, 0, 0, 0, 0],
        48,
        Kind::Special,
        "a local translator to IPv4",
    ),
    v6(
        [0x100, 0, 0, 0, 0, 0, 0, 0],
        64,
        Kind::Special,
        "addresses to discard",
    ),
    v6(
        [0x2001, 0, 0, 0, 0, 0, 0, 0],
        32,
        Kind::Special,
        "Teredo tunnels",
    ),
    v6(
        [0x2001, 0, 0, 0, 0, 0, 0, 0],
        23,
        Kind::Special,
        "protocol assignments",
    ),
    v6(
        [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0],
        32,
        Kind::Special,
        "documentation",
    ),
    v6(
        [0x2002, 0, 0, 0, 0, 0, 0, 0],
        16,
        Kind::Special,
        "6to4 tunnels",
    ),
    v6(
        [0x3fff, 0, 0, 0, 0, 0, 0, 0],
        20,
        Kind::Special,
        "documentation",
    ),
    v6(
        [0x5f00, 0, 0, 0, 0, 0, 0, 0],
        16,
        Kind::Special,
        "segment routing",
    ),
    v6(
        [0xfc00, 0, 0, 0, 0, 0, 0, 0],
        7,
        Kind::Private,
        "a private network",
    ),
    v6(
        [0xfe80, 0, 0, 0, 0, 0, 0, 0],
        10,
        Kind::LinkLocal,
        "the local link",
    ),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Kind::Private, "a site"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Kind::Special, "multicast"),
];

/// Global unicast.
const PUBLIC: V6 = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, Kind::Special, "");

/// What an address outside every range is.
const UNKNOWN: Range = Range {
    kind: Kind::Special,
    name: "reserved addresses",
};

/// The range of addresses that are not public this one is in; `None` for a public address.
#[doc(hidden)]
pub fn refused(address: IpAddr) -> Option<Range> {
    match canonical(address) {
        IpAddr::V4(address) => refused_v4(address),
        IpAddr::V6(address) => refused_v6(address),
    }
}

/// An address in its one spelling: an IPv4 address that is mapped into IPv6 is that IPv4 address, which is what is dialled.
#[doc(hidden)]
pub fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn refused_v4(address: Ipv4Addr) -> Option<Range> {
    let bits = address.to_bits();
    let found = IPV4
        .iter()
        .find(|range| (bits ^ range.address) >> (32 - range.bits) == 0);
    found.map(|found| found.range)
}

fn refused_v6(address: Ipv6Addr) -> Option<Range> {
    let segments = address.segments();
    let last = Ipv4Addr::from_bits(address.to_bits() as u32);
    // NAT64: a translator makes the last four bytes the destination.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return refused_v4(last);
    }
    let within = |range: &V6| (address.to_bits() ^ range.address) >> (128 - range.bits) == 0;
    if let Some(found) = IPV6.iter().find(|range| within(range)) {
        return Some(found.range);
    }
    if !within(&PUBLIC) {
        return Some(UNKNOWN);
    }
    // ISATAP: so is a router of a site that still has it, by the interface's part.
    if matches!(segments[4..6], [0 | 0x200, 0x5efe]) {
        return refused_v4(last);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(address: &str) -> Option<Kind> {
        refused(address.parse().unwrap()).map(|range| range.kind)
    }

    #[test]
    fn the_first_and_last_address_of_every_range_is_refused() {
        for range in IPV4 {
            let last = range.address | u32::MAX.checked_shr(range.bits).unwrap_or(0);
            for address in [range.address, last] {
                let address = Ipv4Addr::from_bits(address);
                assert!(refused(address.into()).is_some(), "{address}");
                let mapped = address.to_ipv6_mapped();
                assert_eq!(refused(mapped.into()), refused(address.into()), "{mapped}");
                let translated =
                    Ipv6Addr::from_bits((0x64_ff9b << 96) | u128::from(address.to_bits()));
                assert!(refused(translated.into()).is_some(), "{translated}");
            }
        }
        for range in IPV6 {
            let last = range.address | u128::MAX.checked_shr(range.bits).unwrap_or(0);
            for address in [range.address, last].map(Ipv6Addr::from_bits) {
                assert!(refused(address.into()).is_some(), "{address}");
            }
        }
    }

    #[test]
    fn what_lies_beside_a_range_is_public() {
        for public in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "223.255.255.255",
            "93.184.216.34",
            "168.63.129.15",
            "2606:2800:220:1:248:1893:25c8:1946",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "2000::1",
            "64:ff9b::5db8:d822",
            "::ffff:93.184.216.34",
            "2606::5efe:5db8:d822",
        ] {
            assert_eq!(kind(public), None, "{public}");
        }
    }

    #[test]
    fn addresses_have_the_kind_that_decides_who_may_permit_them() {
        for (address, expected) in [
            ("127.0.0.1", Kind::Loopback),
            ("127.255.255.254", Kind::Loopback),
            ("::1", Kind::Loopback),
            ("::ffff:127.0.0.1", Kind::Loopback),
            ("64:ff9b::7f00:1", Kind::Loopback),
            ("169.254.169.254", Kind::Metadata),
            ("::ffff:a9fe:a9fe", Kind::Metadata),
            ("64:ff9b::a9fe:a9fe", Kind::Metadata),
            ("fd00:ec2::254", Kind::Metadata),
            ("100.100.100.200", Kind::Metadata),
            ("168.63.129.16", Kind::Metadata),
            ("169.254.1.1", Kind::LinkLocal),
            ("fe80::1", Kind::LinkLocal),
            ("febf::1", Kind::LinkLocal),
            ("10.1.2.3", Kind::Private),
            ("100.64.0.1", Kind::Private),
            ("fd12:3456::1", Kind::Private),
            ("2606::5efe:a00:1", Kind::Private),
            ("2606::200:5efe:a00:1", Kind::Private),
            ("0.0.0.0", Kind::Special),
            ("::", Kind::Special),
            ("::127.0.0.1", Kind::Special),
            ("2002:7f00:1::", Kind::Special),
            ("2001:0:7f00:1::", Kind::Special),
            ("255.255.255.255", Kind::Special),
            ("ff02::1", Kind::Special),
            ("4000::1", Kind::Special),
            ("64:ff9b:1::7f00:1", Kind::Special),
            ("64:ff9b:0:1::7f00:1", Kind::Special),
        ] {
            assert_eq!(kind(address), Some(expected), "{address}");
        }
    }
}
