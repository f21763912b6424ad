//! Which addresses may be connected to on the word of somebody else: what a server of the internet says must not lead into
//! the network of whoever reads it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::{Error, ErrorKind};

/// How near an address is. Somebody at one of them may name addresses that are no nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// On the internet.
    Public,
    /// In a private network.
    Private,
    /// On this machine.
    Loopback,
    /// On this link: where clouds keep the credentials of their machines. Never on anybody's word but its own.
    Link,
}

impl Reach {
    /// How near this address is.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        match (a, b) {
            _ if address.is_loopback() => Self::Loopback,
            _ if address.is_link_local() || address.is_broadcast() || address.is_multicast() => Self::Link,
            (0, _) => Self::Loopback, // "this host", which Linux takes for the loopback
            // carriers' networks, benchmarks, IETF protocols, what is reserved
            (100, 64..=127) | (198, 18..=19) | (240.., _) => Self::Private,
            (192, 0) if c == 0 => Self::Private,
            _ if address.is_private() => Self::Private,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let segments = address.segments();
        let embedded = |high: u16, low: u16| {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match segments {
            _ if address.is_loopback() || address.is_unspecified() => Self::Loopback,
            // IPv4 in other clothes: mapped, compatible, NAT64, 6to4
            [0, 0, 0, 0, 0, 0xffff | 0, high, low] => embedded(high, low),
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
            [0x2002, high, low, ..] => embedded(high, low),
            [first, ..] if first & 0xffc0 == 0xfe80 || first & 0xff00 == 0xff00 => Self::Link,
            [first, ..] if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 => Self::Private,
            [0x64, 0xff9b, 1, ..] => Self::Private,
            _ => Self::Public,
        }
    }

    /// Whether somebody this near may name that address.
    pub(super) fn admits(self, address: IpAddr) -> bool {
        Self::of(address) <= self
    }

    pub(super) fn refusal(self, host: &str) -> Error {
        let from = match self {
            Self::Public => "a server on the internet",
            Self::Private => "a server in a private network",
            Self::Loopback | Self::Link => "a server on this machine",
        };
        let message = format!("{host} is not asked: it is nearer than who named it, {from}, may lead");
        Error::new(ErrorKind::Auth, message).with_context("stage", "address").with_hint(
            "What a server says of its login must not lead into a private network; the server has to be mended",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_near_as_they_are_however_they_are_written() {
        let table = [
            (Reach::Public, &["8.8.8.8", "2606:4700::1111", "172.32.0.1", "::ffff:8.8.8.8", "64:ff9b::808:808"][..]),
            (
                Reach::Private,
                &["10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "2002:a00:1::"],
            ),
            (
                Reach::Loopback,
                &["127.0.0.1", "127.9.9.9", "::1", "::", "0.0.0.0", "::ffff:127.0.0.1", "64:ff9b::7f00:1"],
            ),
            (Reach::Link, &["169.254.169.254", "fe80::1", "::ffff:169.254.1.1", "224.0.0.1", "ff02::1"]),
        ];
        for (reach, addresses) in table {
            for address in addresses {
                assert_eq!(Reach::of(address.parse().unwrap()), reach, "{address}");
            }
        }
    }

    #[test]
    fn nobody_leads_nearer_than_they_are() {
        let (public, private, loopback, link) = ("8.8.8.8", "10.0.0.1", "127.0.0.1", "169.254.169.254");
        let admitted = |reach: Reach| {
            [public, private, loopback, link].map(|address| u8::from(reach.admits(address.parse().unwrap())))
        };
        assert_eq!(admitted(Reach::Public), [1, 0, 0, 0]);
        assert_eq!(admitted(Reach::Private), [1, 1, 0, 0]);
        assert_eq!(admitted(Reach::Loopback), [1, 1, 1, 0]);
    }
}
