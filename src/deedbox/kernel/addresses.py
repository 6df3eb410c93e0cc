"""Tells public internet addresses from all others, in every spelling and through every tunnel."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# Written out, because `ipaddress.is_global` answers another question (is the block registered as globally
# reachable) and so lets multicast, 6to4, NAT64 and others through.
NON_PUBLIC: tuple[Network, ...] = (
    IPv4Network("0.0.0.0/8"),  # this network; Linux connects 0.0.0.0 to loopback
    IPv4Network("10.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),  # carrier-grade NAT; some clouds keep their metadata here
    IPv4Network("127.0.0.0/8"),
    IPv4Network("168.63.129.16/32"),  # Azure's platform channel, seen only from inside
    IPv4Network("169.254.0.0/16"),  # link-local, with most clouds' metadata
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.0.2.0/24"),
    IPv4Network("192.88.99.0/24"),  # 6to4 relays
    IPv4Network("192.168.0.0/16"),
    IPv4Network("198.18.0.0/15"),
    IPv4Network("198.51.100.0/24"),
    IPv4Network("203.0.113.0/24"),
    IPv4Network("224.0.0.0/4"),
    IPv4Network("240.0.0.0/4"),
    # Only 2000::/3 is global unicast: the next three lines are everything else.
    IPv6Network("::/3"),  # loopback, unspecified, IPv4-compatible, NAT64, discard
    IPv6Network("4000::/2"),
    IPv6Network("8000::/1"),  # unique local, link-local, site-local, multicast
    IPv6Network("2001::/23"),  # protocol assignments, with Teredo
    IPv6Network("2001:db8::/32"),
    IPv6Network("2002::/16"),  # 6to4
    IPv6Network("3fff::/20"),
)

_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_DOTS = str.maketrans({"\u3002": ".", "\uff61": "."})
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")


def is_public(address: Address) -> bool:
    """Whether the address, taken as it is written, lies in none of the non-public networks."""
    return not any(address.version == network.version and address in network for network in NON_PUBLIC)


def is_permitted(address: Address, allow: Sequence[Network] = ()) -> bool:
    """Whether the address and every address inside it is public or in an allowed network."""
    return all(is_public(one) or _within(one, allow) for one in readings(address))


def readings(address: Address) -> Iterator[Address]:
    """The addresses that packets to this one may reach: itself, and those that a tunnel takes out of it."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped  # the very same peer, so the outer form is no address of its own
    else:
        yield address
        yield from _embedded(address)


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    compatible = address in _COMPATIBLE and not (address.is_loopback or address.is_unspecified)
    if compatible or address in _NAT64 or address in _TRANSLATED:
        yield IPv4Address(int(address) & 0xFFFFFFFF)
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def literal(host: str) -> Address | None:
    """The address that a host spells in any way a resolver would accept, or None for a name.

    Raises ValueError for a host that is neither: it ends in a number or has a colon, but is no address.
    """
    text = unicodedata.normalize("NFKC", host).translate(_DOTS).lower()
    if ":" in text or text.startswith("["):
        return _literal6(text)
    text = text.removesuffix(".")
    if not _NUMBER.fullmatch(text.rpartition(".")[2]):
        return None
    return _literal4(text)


def _literal6(text: str) -> IPv6Address:
    bracketed = text.startswith("[") and text.endswith("]")
    address = IPv6Address(text[1:-1] if bracketed else text)
    if address.scope_id is not None:
        raise ValueError("An address with a zone has a meaning on one machine only")
    return address


def _literal4(text: str) -> IPv4Address:
    """As inet_aton reads it: up to four parts, decimal, octal or hexadecimal; the last fills the rest."""
    parts = [_number(part) for part in text.split(".")]
    *heads, tail = parts
    if len(heads) > 3 or any(head > 255 for head in heads) or tail >= 256 ** (4 - len(heads)):
        raise ValueError("Not an IPv4 address")
    value = tail
    for position, head in enumerate(heads):
        value += head << (24 - 8 * position)
    return IPv4Address(value)


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:], 16)
    if not part.isascii() or not part.isdigit():
        raise ValueError("Not a number")
    return int(part, 8) if part.startswith("0") else int(part)


def networks(text: str) -> tuple[Network, ...]:
    """The networks in a comma-separated setting; ValueError names the part that is none."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
