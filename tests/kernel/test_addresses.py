"""Which addresses are public, and which spellings are addresses at all."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deedbox.kernel.addresses import is_permitted, literal, networks, readings

_NON_PUBLIC = (
    "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.1.2.3 168.63.129.16 "
    "169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 "
    "198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 "
    ":: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:10.0.0.1 64:ff9b::a9fe:a9fe "
    "64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 2001:0:a9fe:a9fe:: 2001::1 2001:20::1 2001:db8::1 2002:a9fe:a9fe:: "
    "2002:7f00:1:: 2002:808:808:: 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1"
)
NON_PUBLIC = _NON_PUBLIC.split()
_PUBLIC = (
    "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 "
    "168.63.129.17 172.15.0.1 172.32.0.1 192.0.1.1 192.167.1.1 198.17.0.1 198.20.0.1 223.255.255.255 "
    "::ffff:8.8.8.8 2606:4700::1111 2a00:1450:4001::1 2001:200::1 2003::1 2001:4860:4860::8888"
)
PUBLIC = _PUBLIC.split()


@pytest.mark.parametrize("text", NON_PUBLIC)
def test_a_non_public_address_is_not_permitted(text: str) -> None:
    assert not is_permitted(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_a_public_address_is_permitted(text: str) -> None:
    assert is_permitted(ip_address(text))


def test_an_allowed_network_is_permitted_and_its_neighbours_are_not() -> None:
    allow = networks("127.0.0.0/8, fd00::/8")
    assert is_permitted(ip_address("127.0.0.1"), allow)
    assert is_permitted(ip_address("::ffff:127.0.0.1"), allow)
    assert is_permitted(ip_address("fd00::1"), allow)
    assert not is_permitted(ip_address("10.0.0.1"), allow)
    assert not is_permitted(ip_address("::1"), allow)
    assert not is_permitted(ip_address("::ffff:10.0.0.1"), allow)


def test_loopback_of_version_six_can_be_allowed_by_itself() -> None:
    assert is_permitted(ip_address("::1"), networks("::1/128"))
    assert not is_permitted(ip_address("::2"), networks("::/96"))


def test_allowing_an_address_does_not_allow_a_tunnel_to_it() -> None:
    allow = networks("127.0.0.0/8")
    for tunnel in ("2002:7f00:1::", "64:ff9b::127.0.0.1", "::127.0.0.1"):
        assert not is_permitted(ip_address(tunnel), allow)


def test_allowing_a_translator_does_not_allow_what_is_private_behind_it() -> None:
    allow = networks("64:ff9b::/96,2002::/16,2001::/32")
    assert is_permitted(ip_address("64:ff9b::8.8.8.8"), allow)
    assert is_permitted(ip_address("2002:808:808::"), allow)
    assert not is_permitted(ip_address("64:ff9b::10.0.0.1"), allow)
    assert not is_permitted(ip_address("2002:a00:1::"), allow)


def test_a_teredo_address_is_read_as_its_server_and_its_client() -> None:
    # the client's address is stored inverted: 192.0.2.45 is 3fff:fdd2
    found = set(readings(ip_address("2001:0:808:808:8000:63bf:3fff:fdd2")))
    assert {IPv4Address("8.8.8.8"), IPv4Address("192.0.2.45")} <= found
    assert not is_permitted(ip_address("2001:0:808:808:8000:63bf:3fff:fdd2"), networks("2001::/32"))


@pytest.mark.parametrize(
    "spelling",
    [
        *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.0.0.1", "0177.0.0.1", "017700000001"),
        *("0x7f.1", "127.0x0.0.01", "127.0.0.1.", "１２７.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1"),
    ],
)
def test_every_spelling_of_loopback_is_read_as_loopback(spelling: str) -> None:
    assert literal(spelling) == IPv4Address("127.0.0.1")


@pytest.mark.parametrize("spelling", ["::1", "[::1]", "0:0:0:0:0:0:0:1", "::0001", "::0.0.0.1"])
def test_every_spelling_of_loopback_in_version_six_is_read_as_loopback(spelling: str) -> None:
    assert literal(spelling) == IPv6Address("::1")


@pytest.mark.parametrize("name", ["localhost", "example.com", "example.com.", "1e100.net", "0x.example", "a.b1"])
def test_a_name_is_no_address(name: str) -> None:
    assert literal(name) is None


@pytest.mark.parametrize(
    "text",
    [
        *("256.1.1.1", "1.2.3.4.5", "1.2.3.256", "1..2", "4294967296", "0x100000000", "08.1.1.1", "example.1"),
        *("0x", "1.0x", "::1%lo", "fe80::1%1", ":::", "[::1", "-1.2", "1.-2.3.4", ".1"),
    ],
)
def test_what_ends_like_an_address_but_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        literal(text)


@given(st.integers(0, 2**32 - 1))
def test_an_address_survives_every_way_of_writing_it(value: int) -> None:
    address = IPv4Address(value)
    a, b, c, d = address.packed
    low16, low24 = c << 8 | d, b << 16 | c << 8 | d
    ways = [f"{value}", f"{value:#x}", f"0{value:o}", f"{a}.{low24}", f"{a}.{b}.{low16}", f"{a:#x}.0{b:o}.{c}.{d}"]
    assert {literal(way) for way in ways} == {address}


def test_a_setting_of_networks_is_read_and_a_wrong_one_is_named() -> None:
    assert networks(" 127.0.0.0/8 ,::1/128,") == (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    assert networks("") == ()
    with pytest.raises(ValueError, match=r"10\.0\.0\.1/8"):
        networks("10.0.0.1/8")
