"""Programs of others that judge what we make: openssl, poppler's pdfsig and qpdf."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from deedbox.authority import issue


def need(*programs: str) -> None:
    """Skips the test where a program is missing; in CI that is a failure."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        assert not os.environ.get("CI"), f"{missing} are missing: run scripts/test-deps"
        pytest.skip(f"{missing} are missing: run scripts/test-deps")


def run(*words: str | Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    need(str(words[0]))
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False)


def said(*words: str | Path, folder: Path) -> str:
    """What the program says; it must succeed."""
    done = run(*words, folder=folder)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def trusting(root_der: bytes, folder: Path) -> Path:
    """An NSS database that trusts this root, as pdfsig reads it."""
    database = folder / "nss"
    if not database.exists():
        database.mkdir()
        (folder / "root.pem").write_bytes(issue.pem([root_der]))
        said("certutil", "-N", "-d", f"sql:{database}", "--empty-password", folder=folder)
        said("certutil", "-A", "-d", f"sql:{database}", "-n", "r", "-t", "CT,C,C", "-i", "root.pem", folder=folder)
    return database


def pdfsig(pdf: bytes, root_der: bytes, folder: Path) -> list[str]:
    """The verdicts of pdfsig with the root trusted: on the signature, its certificate, and how much is signed."""
    database = trusting(root_der, folder)
    (folder / "sealed.pdf").write_bytes(pdf)
    text = run("pdfsig", "-nssdir", f"sql:{database}", "sealed.pdf", folder=folder).stdout
    return re.findall(
        r"(Total document signed|Not total document signed|(?:Signature|Certificate) Validation: .+)", text
    )


GOOD = [
    "Total document signed",
    "Signature Validation: Signature is Valid.",
    "Certificate Validation: Certificate is Trusted.",
]
"""What pdfsig says of one seal that is as it should be."""


def qpdf(pdf: bytes, folder: Path) -> str:
    """What qpdf finds wrong with the file; empty if nothing."""
    (folder / "checked.pdf").write_bytes(pdf)
    done = run("qpdf", "--check", "checked.pdf", folder=folder)
    found = [line for line in (done.stdout + done.stderr).splitlines() if "WARNING" in line or "ERROR" in line]
    return "\n".join(found) or ("" if done.returncode == 0 else done.stderr)


def cms_verified(cms_der: bytes, signed: bytes, roots: Sequence[bytes], folder: Path) -> str:
    """openssl's verdict on a detached CMS over these bytes."""
    (folder / "cms.der").write_bytes(cms_der)
    (folder / "signed.bin").write_bytes(signed)
    (folder / "roots.pem").write_bytes(issue.pem(roots))
    words = ["openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", "cms.der", "-content", "signed.bin"]
    done = run(*words, "-CAfile", "roots.pem", "-purpose", "any", "-out", "out.bin", folder=folder)
    return done.stderr.strip()


def gap(pdf: bytes) -> tuple[int, int]:
    """Where the signature's digits begin and end, from the byte range of the last signature."""
    found = re.findall(rb"/ByteRange \[0 (\d+) (\d+) (\d+) *\]", pdf)
    before, after, rest = map(int, found[-1])
    assert after + rest == len(pdf)
    return before + 1, after - 1


def signed_bytes(pdf: bytes) -> bytes:
    start, end = gap(pdf)
    return pdf[: start - 1] + pdf[end + 1 :]


def cms_of(pdf: bytes) -> bytes:
    """The CMS in a sealed file, without the zeros after it."""
    start, end = gap(pdf)
    padded = bytes.fromhex(pdf[start:end].decode("ascii"))
    assert padded[1] == 0x82
    return padded[: 4 + int.from_bytes(padded[2:4], "big")]
