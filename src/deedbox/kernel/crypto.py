"""Secrets: how they are hashed, compared, and encrypted for the database."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deedbox.kernel.errors import SetupError

_FORMAT = b"\x01"
_KEY_ID_BYTES = 4
_KEY_BYTES = 32
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


class _Ring(NamedTuple):
    """One reading of the key ring file, replaced as a whole: threads that encrypt during a rotation see old or new."""

    version: tuple[int, int, int]
    keys: dict[bytes, AESGCM]
    newest: bytes


class ValueCipher:
    """Encrypts values for the database with AES-256-GCM under the newest key of a key ring file.

    An encrypted value names its key, and the place it belongs to (`table.column:row`) is authenticated with it, so that
    it opens nowhere else. The ring is read again when its file changes: a running server follows a rotation."""

    def __init__(self, ring: Path) -> None:
        self._path = ring
        self._ring = _load(ring)

    @property
    def newest(self) -> bytes:
        return self._current().newest

    def encrypt(self, plain: bytes, place: str) -> bytes:
        ring = self._current()
        nonce = os.urandom(_NONCE_BYTES)
        return b"".join((_FORMAT, ring.newest, nonce, ring.keys[ring.newest].encrypt(nonce, plain, place.encode())))

    def decrypt(self, encrypted: bytes, place: str) -> bytes:
        """The plain bytes; raises ValueError for what this ring did not encrypt for this place."""
        key = self._current().keys.get(key_of(encrypted))
        if key is None or encrypted[:1] != _FORMAT:
            raise ValueError(f"{place} was encrypted with a key that is not in {self._path.name}")
        nonce = encrypted[_HEADER_BYTES - _NONCE_BYTES : _HEADER_BYTES]
        try:
            return key.decrypt(nonce, encrypted[_HEADER_BYTES:], place.encode())
        except InvalidTag as error:
            raise ValueError(f"{place} was altered or belongs elsewhere") from error

    def _current(self) -> _Ring:
        if _version(self._path) != self._ring.version:
            self._ring = _load(self._path)
        return self._ring


def key_of(encrypted: bytes) -> bytes:
    """The id of the key that encrypted this value."""
    return encrypted[len(_FORMAT) : len(_FORMAT) + _KEY_ID_BYTES]


def create_key_file(path: Path) -> None:
    """A key ring file with one new key, unless there is one already."""
    if not path.exists():
        # Of two processes that start at once, one makes the ring and both use it.
        with _draft(path, [_new_key()], rotating=False) as draft, contextlib.suppress(FileExistsError):
            os.link(draft, path)


def add_key(path: Path, *, drop: set[bytes]) -> bytes:
    """Adds a new key, which encrypts from now on, and forgets the keys in `drop`; returns the new key's id.

    The ring says that it is being rotated until `end_rotation`, so that one cut short can be resumed."""
    added = _new_key()
    kept = [key for key in _read(path) if key[0] not in drop]
    with _draft(path, [*kept, added], rotating=True) as draft:
        os.replace(draft, path.resolve())
    return added[0]


def end_rotation(path: Path) -> None:
    """Every stored value is under the newest key now."""
    with _draft(path, _read(path), rotating=False) as draft:
        os.replace(draft, path.resolve())


def has_open_rotation(path: Path) -> bool:
    """Whether a rotation was begun and has not ended."""
    return bool(_contents(path).get("rotating"))


def key_ids(path: Path) -> list[bytes]:
    """The ids of the ring's keys, oldest first."""
    return [name for name, _ in _read(path)]


def _new_key() -> tuple[bytes, bytes]:
    return os.urandom(_KEY_ID_BYTES), os.urandom(_KEY_BYTES)


def _unreadable(path: Path, reason: Exception) -> SetupError:
    return SetupError(
        f"The master key file {path} cannot be read: {reason}.",
        "Restore it from a backup: without it, what was encrypted with it is lost.",
    )


def _version(path: Path) -> tuple[int, int, int]:
    # The time alone is too coarse: two rotations may fall into one tick of the file system's clock.
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    return status.st_mtime_ns, status.st_ino, status.st_size


def _load(path: Path) -> _Ring:
    version = _version(path)
    keys = {name: AESGCM(key) for name, key in _read(path)}
    return _Ring(version, keys, list(keys)[-1])


def _contents(path: Path) -> dict[str, Any]:
    try:
        contents = json.loads(path.read_text(encoding="ascii"))
        return dict(contents)
    except (OSError, ValueError, TypeError) as error:
        raise _unreadable(path, error) from error


def _read(path: Path) -> list[tuple[bytes, bytes]]:
    try:
        entries = _contents(path)["keys"]
        keys = [(bytes.fromhex(entry["id"]), base64.b64decode(entry["key"])) for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from error
    if not keys or any((len(name), len(key)) != (_KEY_ID_BYTES, _KEY_BYTES) for name, key in keys):
        raise SetupError(f"The master key file {path} holds no usable key.", "Restore it from a backup.")
    return keys


@contextlib.contextmanager
def _draft(path: Path, keys: list[tuple[bytes, bytes]], *, rotating: bool) -> Iterator[str]:
    """A durable file beside the ring, to be linked or moved into its place."""
    entries = [{"id": name.hex(), "key": base64.b64encode(key).decode()} for name, key in keys]
    folder = path.resolve().parent
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".master-")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump({"keys": entries, "rotating": rotating}, file, indent=1)
            _keep_owner(path, descriptor)
            file.flush()
            os.fsync(descriptor)
        yield name
        _sync_folder(folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _keep_owner(path: Path, descriptor: int) -> None:
    # A rotation run by root must leave a ring that the server's own user can still read.
    if path.exists():
        status = path.stat()
        os.fchmod(descriptor, status.st_mode & 0o660)
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, status.st_uid, status.st_gid)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
