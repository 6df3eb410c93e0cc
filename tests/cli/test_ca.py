"""`deedbox ca` on a real installation, beside a real server."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from deedbox.authority import issue
from tests import server
from tests.pdf import issued as foreign


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("settled") / "data"
    assert server.run("keys", "create", "--json", "--name", "first", data=folder).returncode == 0
    return folder


@pytest.fixture
def data(settled: Path, tmp_path: Path) -> Path:
    """The data folder of an installation that has a workspace and nothing else."""
    return shutil.copytree(settled, tmp_path / "data")


def ca(data: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    done = server.run("ca", *words, data=data)
    assert done.returncode == 0, done.stderr
    return done


def shown(data: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ca(data, "show", "--json").stdout)["certificates"]
    return found


def test_show_makes_the_root_once_and_prints_it(data: Path) -> None:
    pem = ca(data, "show", "--pem").stdout
    assert ca(data, "show", "--pem").stdout == pem
    (root,) = shown(data)
    assert (root["use"], root["status"]) == ("root", "in use")
    assert x509.load_pem_x509_certificate(pem.encode()).serial_number == int(root["serial"], 16)
    text = ca(data, "show").stdout
    assert root["id"] in text
    assert root["fingerprint"] in text


def test_renew_puts_another_in_its_place(data: Path) -> None:
    first = json.loads(ca(data, "renew", "seal", "--json").stdout)
    second = json.loads(ca(data, "renew", "seal", "--json").stdout)
    assert first["use"] == second["use"]
    assert first["fingerprint"] != second["fingerprint"]
    ca(data, "renew", "root")
    states = [(one["use"].partition(":")[0], one["status"]) for one in shown(data)]
    assert states.count(("root", "in use")) == 1
    assert ("root", "ended") in states
    assert ("seal", "in use") not in states


def test_revoke_ends_a_certificate_and_a_second_time_says_so(data: Path) -> None:
    made = json.loads(ca(data, "renew", "seal", "--json").stdout)
    assert "is revoked" in ca(data, "revoke", made["id"], "--reason", "keyCompromise").stdout
    again = server.run("ca", "revoke", made["id"], data=data)
    assert again.returncode == 1
    assert "revoked already" in again.stderr


def test_import_brings_a_certificate_of_your_own_and_a_wrong_password_does_not(data: Path, tmp_path: Path) -> None:
    made = foreign.installation()
    own = foreign.end_entity(foreign.keys()["P-256"], made.issuing)
    secret = serialization.BestAvailableEncryption(b"word")
    chain = [made.issuing.certificate, made.root.certificate]
    file, password = tmp_path / "own.p12", tmp_path / "password"
    file.write_bytes(pkcs12.serialize_key_and_certificates(b"own", own.key, own.certificate, chain, secret))
    password.write_text("wrong\n")
    refused = server.run("ca", "import", str(file), "--password-file", str(password), data=data)
    assert refused.returncode == 1
    assert "password is wrong" in refused.stderr
    password.write_text("word\n")
    brought = json.loads(ca(data, "import", str(file), "--password-file", str(password), "--json").stdout)
    assert (brought["brought"], brought["status"]) == (True, "in use")
    assert brought["fingerprint"] == issue.fingerprint(own.der)
