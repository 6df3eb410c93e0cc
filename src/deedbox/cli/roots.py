"""Root certificates that a command is told to trust."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from deedbox.kernel.errors import SetupError

NONE = "No root is trusted here: name one with --root, or a data folder with --data."


class Named(NamedTuple):
    """The roots that a command names, in DER: for seals and time-stamps, and for time-stamps only."""

    roots: list[bytes]
    timestamp_roots: list[bytes]


def read_roots(files: Sequence[Path], timestamp_files: Sequence[Path]) -> Named:
    """Return the certificates in the files; SetupError names a file that has none."""
    if timestamp_files and not files:
        raise SetupError(
            "--timestamp-root is trusted for timestamps only, and no root is named for the seal.",
            "Name the root of the installation that sealed the file with --root.",
        )
    return Named(*([der for one in group for der in _certificates(one)] for group in (files, timestamp_files)))


def _certificates(path: Path) -> list[bytes]:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    data = path.read_bytes()
    try:
        if b"-----BEGIN" in data:
            return [one.public_bytes(Encoding.DER) for one in x509.load_pem_x509_certificates(data)]
        return [x509.load_der_x509_certificate(data).public_bytes(Encoding.DER)]
    except ValueError as error:
        raise SetupError(
            f"{path} holds no certificate.", "Give the root as PEM, as `deedbox ca show --pem` prints it."
        ) from error
