"""Root certificates that a command is told to trust."""

from collections.abc import Sequence
from pathlib import Path

from deedbox.kernel.errors import SetupError

NONE = "No root is trusted here: name one with --root, or a data folder with --data."


def named(files: Sequence[Path]) -> list[bytes]:
    """The certificates in the files, in DER; SetupError names one that has none."""
    return [der for one in files for der in _certificates(one)]


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
