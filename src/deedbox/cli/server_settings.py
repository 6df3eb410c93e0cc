"""What a running server notes of its settings, so that `deedbox doctor` can tell whether it checks the same ones.

The note holds the address on which the server listens. Of the settings it holds no values, only an HMAC of each, under
a key that the master key encrypts: a copy of the data folder does not help to guess a short secret."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deedbox.kernel.crypto import Secret, ValueCipher, hmac_sha256
from deedbox.kernel.settings import Settings, variable

_PLACE = "settings_file:server"
_KEY_BYTES = 32
_NOT_CHECKED = frozenset({"data_dir", "host", "port", "public", "log_level", "log_format", "access_log"})
"""Where the server listens and what it logs: flags of one start, and nothing that the doctor looks at."""


@contextmanager
def publish_settings(settings: Settings, address: str) -> Iterator[None]:
    """Keep the note in the data folder while this lasts; `address` is the one on which the server listens."""
    key = os.urandom(_KEY_BYTES)
    encrypted, values = ValueCipher(settings.ring).encrypt(key, _PLACE).hex(), _fingerprints(settings, key)
    note = {"key": encrypted, "settings": values, "address": address}
    with open(os.open(settings.settings_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(note, file)
    try:
        yield
    finally:
        settings.settings_file.unlink(missing_ok=True)


def address(settings: Settings) -> str | None:
    """Where the server that runs on the data folder listens; None if an older version wrote the note."""
    noted_address: str | None = json.loads(settings.settings_file.read_text(encoding="ascii")).get("address")
    return noted_address


def compare_settings(settings: Settings) -> list[str]:
    """The variables that have a different value in the server that runs on the data folder.

    ValueError if this master key is not the server's."""
    note = json.loads(settings.settings_file.read_text(encoding="ascii"))
    key = ValueCipher(settings.ring).decrypt(bytes.fromhex(note["key"]), _PLACE)
    mine = _fingerprints(settings, key)
    return sorted(variable(name) for name, value in note["settings"].items() if mine.get(name) != value)


def _fingerprints(settings: Settings, key: bytes) -> dict[str, str]:
    values = ((name, getattr(settings, name)) for name in settings.__struct_fields__ if name not in _NOT_CHECKED)
    return {name: hmac_sha256(key, f"{name}={_written(value)}".encode()).hex() for name, value in values}


def _written(value: Any) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    # The server and this command may run in different folders.
    return str(value.resolve()) if isinstance(value, Path) else repr(value)
