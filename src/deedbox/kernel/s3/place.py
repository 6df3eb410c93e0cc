"""A place for objects, written `s3://bucket/prefix`, and the credentials for it."""

import re
from urllib.parse import urlsplit

import msgspec

from deedbox.kernel.crypto import Secret

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"([A-Za-z0-9!_.*'()-]+/)*")


class BucketPrefix(msgspec.Struct, frozen=True):
    """A bucket, and what every name in it begins with: nothing, or something that ends with a slash."""

    bucket: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


class Access(msgspec.Struct, frozen=True):
    """The store, and who asks. What is not given is left to boto3: its own files, variables and machine roles."""

    endpoint: str | None = None
    region: str | None = None
    access_key: Secret | None = None
    secret_key: Secret | None = None


def place(url: str) -> BucketPrefix:
    """The place that the address names; ValueError says what is wrong with it."""
    parts = urlsplit(url)
    if parts.scheme != "s3" or parts.query or parts.fragment:
        raise ValueError("it does not begin with s3://, or has more than a bucket and a prefix")
    if not _BUCKET.fullmatch(parts.netloc):
        raise ValueError("its bucket is not a name of 3 to 63 small letters, digits, dots and hyphens")
    path = parts.path.strip("/")
    prefix = f"{path}/" if path else ""
    if not _PREFIX.fullmatch(prefix) or any(word in (".", "..") for word in path.split("/")):
        raise ValueError("its prefix has an empty part or a sign that names of objects should not have")
    return BucketPrefix(parts.netloc, prefix)
