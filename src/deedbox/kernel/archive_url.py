"""The address of the long-term archive, as the setting writes it."""

import ipaddress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

import msgspec

from deedbox.kernel.s3.place import BucketPrefix, place


class ArchiveFolder(msgspec.Struct, frozen=True):
    path: Path


class Web(msgspec.Struct, frozen=True):
    """What every address of a package begins with, without a slash at its end."""

    url: str


ArchivePlace: TypeAlias = ArchiveFolder | BucketPrefix | Web


def archive_place(url: str) -> ArchivePlace:
    """The place that the address names: `s3://…`, `https://…`, `file:///…` or a path; ValueError if it names none."""
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return place(url)
    if parts.scheme in ("http", "https"):
        return _web(url)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("a folder is written file:///its/path")
        return ArchiveFolder(Path(unquote(parts.path)))
    if "://" in url or not url.strip() or not url.isprintable():
        raise ValueError("it is neither a folder nor an address that begins with s3:// or https://")
    return ArchiveFolder(Path(url))


def _web(url: str) -> Web:
    parts = urlsplit(url)
    if not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("it names no host, or has more than a host and a path")
    if not url.isprintable() or not url.isascii() or " " in url:
        raise ValueError("it has a sign that an address cannot have")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("the archive's key would travel in clear: begin it with https://")
    return Web(url.rstrip("/"))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
