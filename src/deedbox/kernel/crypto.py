"""Secrets and their safe-keeping: hashes, comparison, and a box that encrypts what must be stored."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deedbox.kernel.errors import SetupError

_FORMAT = b"\x01"
_KEY_ID_BYTES = 4
_NONCE_BYTES = 12
_HEADER_BYTES = len(_FORMAT) + _KEY_ID_BYTES + _NONCE_BYTES


class Secret:
    """Text that must not leak: printing hides it, comparing takes constant time, only `reveal` opens it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and same(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(sha256(self._text))


def sha256(text: str) -> bytes:
    """What is stored of a key or token: enough to recognise it, useless to whoever reads the database."""
    return hashlib.sha256(text.encode()).digest()


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def same(one: bytes, other: bytes) -> bool:
    """Whether both are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(one, other)


class Box:
    """Encrypts values for the database with AES-256-GCM under the newest key of a key ring file.

    A sealed value names its key, and the place it belongs to (`table.column:row`) is authenticated with it, so that
    it opens nowhere else. The ring is read again when its file changes: a running server follows a rotation."""

    def __init__(self, ring: Path) -> None:
        self._ring = ring
        self._read_at = -1
        self._keys: dict[bytes, AESGCM] = {}
        self._newest = b""
        self._refresh()

    @property
    def newest(self) -> bytes:
        self._refresh()
        return self._newest

    def seal(self, plain: bytes, place: str) -> bytes:
        self._refresh()
        nonce = os.urandom(_NONCE_BYTES)
        return b"".join((_FORMAT, self._newest, nonce, self._keys[self._newest].encrypt(nonce, plain, place.encode())))

    def open(self, sealed: bytes, place: str) -> bytes:
        """The plain bytes; raises ValueError for what this ring did not seal at this place."""
        self._refresh()
        key = self._keys.get(key_of(sealed))
        if key is None or sealed[:1] != _FORMAT:
            raise ValueError(f"{place} was sealed with a key that is not in {self._ring.name}")
        nonce = sealed[_HEADER_BYTES - _NONCE_BYTES : _HEADER_BYTES]
        try:
            return key.decrypt(nonce, sealed[_HEADER_BYTES:], place.encode())
        except InvalidTag as error:
            raise ValueError(f"{place} was altered or belongs elsewhere") from error

    def _refresh(self) -> None:
        changed = self._ring.stat().st_mtime_ns
        if changed != self._read_at:
            self._keys = {name: AESGCM(key) for name, key in _read(self._ring)}
            self._newest = list(self._keys)[-1]
            self._read_at = changed


def key_of(sealed: bytes) -> bytes:
    """The id of the key that sealed this value."""
    return sealed[len(_FORMAT) : len(_FORMAT) + _KEY_ID_BYTES]


def make_ring(path: Path) -> None:
    """A key ring file with one new key, unless there is one already."""
    if not path.exists():
        _write(path, [_new_key()], replace=False)


def add_key(path: Path, *, drop: set[bytes]) -> bytes:
    """Adds a new key, which seals from now on, and forgets the keys in `drop`; returns the new key's id."""
    added = _new_key()
    _write(path, [*(key for key in _read(path) if key[0] not in drop), added], replace=True)
    return added[0]


def key_ids(path: Path) -> list[bytes]:
    """The ids of the ring's keys, oldest first."""
    return [name for name, _ in _read(path)]


def _new_key() -> tuple[bytes, bytes]:
    return os.urandom(_KEY_ID_BYTES), os.urandom(32)


def _read(path: Path) -> list[tuple[bytes, bytes]]:
    try:
        entries = json.loads(path.read_text(encoding="ascii"))["keys"]
        keys = [(bytes.fromhex(entry["id"]), base64.b64decode(entry["key"])) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"The master key file {path} cannot be read: {error}.",
            "Restore it from a backup: without it, what was encrypted with it is lost.",
        ) from error
    if not keys or any(len(key) != 32 for _, key in keys):
        raise SetupError(f"The master key file {path} holds no usable key.", "Restore it from a backup.")
    return keys


def _write(path: Path, keys: list[tuple[bytes, bytes]], *, replace: bool) -> None:
    entries = [{"id": name.hex(), "key": base64.b64encode(key).decode()} for name, key in keys]
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".master-")
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump({"keys": entries}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    if replace:
        os.replace(name, path)
    else:
        # Of two processes that start at once, one makes the ring and both use it.
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
        os.unlink(name)
    directory = os.open(path.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
