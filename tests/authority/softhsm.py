"""A token in software, as SoftHSM keeps it in a folder: filled, taken away, and put back."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pkcs11
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import Encoding
from pkcs11.util.x509 import decode_x509_certificate

from deedbox.authority.pkcs11 import KeyChoice
from deedbox.kernel.crypto import Secret
from deedbox.pdf.seal.cms import PrivateKey

LABEL, PIN = "Deeds", "12345678"
_MODULES = [
    *Path("/usr/lib").glob("softhsm/libsofthsm2.so"),
    *Path("/usr/lib").glob("*/softhsm/libsofthsm2.so"),
    Path("/usr/local/lib/softhsm/libsofthsm2.so"),
    Path("/opt/homebrew/lib/softhsm/libsofthsm2.so"),
]


def module() -> Path:
    """SoftHSM's library; the test is skipped where it is missing, which in CI is a failure."""
    found = next((one for one in _MODULES if one.is_file()), None)
    if found is None or shutil.which("softhsm2-util") is None:
        assert not os.environ.get("CI"), "softhsm2 is missing: run scripts/test-deps"
        pytest.skip("softhsm2 is missing: run scripts/test-deps")
    return found


class SoftHsm:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
        self.module = module()
        self._tokens = folder / "tokens"
        self._away = folder / "away"
        self._tokens.mkdir(parents=True)
        self.conf = folder / "softhsm2.conf"
        self.conf.write_text(f"directories.tokendir = {self._tokens}\nobjectstore.backend = file\nlog.level = ERROR\n")
        if monkeypatch is not None:
            monkeypatch.setenv("SOFTHSM2_CONF", str(self.conf))
        self._run("--init-token", "--free", "--label", LABEL, "--pin", PIN, "--so-pin", "87654321")

    def put_key(self, key: PrivateKey, label: str = "seal", number: str = "01") -> None:
        pem = self.conf.with_name("key.pem")
        pem.write_bytes(
            key.private_bytes(Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        words = ["--import", str(pem), "--token", LABEL, "--label", label, "--id", number, "--pin", PIN]
        self._run(*words, "--force")

    def put_certificates(self, certificates: Sequence[x509.Certificate], number: bytes | None = b"\x01") -> None:
        """The first with the id of the key, if one is given."""
        library = pkcs11.lib(str(self.module))
        with library.get_token(token_label=LABEL).open(user_pin=PIN, rw=True) as session:
            for place, certificate in enumerate(certificates):
                told = decode_x509_certificate(certificate.public_bytes(Encoding.DER))
                named = {pkcs11.Attribute.ID: number} if number and not place else {}
                label = {pkcs11.Attribute.LABEL: f"certificate {place}"}
                session.create_object({**told, **named, **label, pkcs11.Attribute.TOKEN: True})
        library.finalize()

    def goes_away(self) -> None:
        self._tokens.rename(self._away)
        self._tokens.mkdir()

    def comes_back(self) -> None:
        self._tokens.rmdir()
        self._away.rename(self._tokens)

    def choice(self, **changes: object) -> KeyChoice:
        told: dict[str, Any] = {"module": self.module, "token": LABEL, "key": "seal", "pin": Secret(PIN)}
        return KeyChoice(**{**told, "certificate_file": None, **changes})

    def _run(self, *words: str) -> None:
        environment = {**os.environ, "SOFTHSM2_CONF": str(self.conf)}
        subprocess.run(["softhsm2-util", *words], env=environment, check=True, capture_output=True)
