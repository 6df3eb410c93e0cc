"""`deedbox ca` on a real installation, beside a real server."""

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from deedbox.authority import issue
from deedbox.kernel import crypto
from tests import server
from tests.kernel.test_backup import Members, edit_manifest, repack
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


def _backed_up(tmp_path: Path, key: bytes | None) -> Path:
    """A backup with another master key, or without one."""
    data, target = tmp_path / "data", tmp_path / "backup.tar"
    for words in (("keys", "create", "--name", "a"), ("ca", "show"), ("backup", str(target))):
        done = server.run(*words, data=data)
        assert done.returncode == 0, done.stderr

    def change(members: Members) -> None:
        at = next(number for number, (member, _) in enumerate(members) if member.name == "master.key")
        if key is None:
            del members[at]
        else:
            members[at][0].size = len(key)
            members[at] = members[at][0], key

    repack(target, change)
    with tarfile.open(target) as archive:
        manifest = json.loads(archive.extractfile("manifest.json").read())  # type: ignore[union-attr]
    files = manifest["files"]
    if key is None:
        del files["master.key"]
    else:
        files["master.key"] = {"sha256": hashlib.sha256(key).hexdigest(), "size_bytes": len(key)}
    edit_manifest(target, files=files)
    return target


@pytest.mark.parametrize("has_key", [True, False])
def test_backup_with_an_unfit_master_key_is_not_restored(tmp_path: Path, has_key: bool) -> None:
    crypto.create_key_file(tmp_path / "other.key")
    target = _backed_up(tmp_path, (tmp_path / "other.key").read_bytes() if has_key else None)
    done = server.run("restore", str(target), data=tmp_path / "again")
    sentence = "decrypts none of the stored secrets" if has_key else "no master key"
    assert (done.returncode != 0, sentence in done.stderr) == (True, True), done.stderr
    assert not (tmp_path / "again").exists()


def test_unfit_master_key_stops_the_start_and_is_found_by_doctor(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for words in (("keys", "create", "--name", "a"), ("ca", "show")):
        assert server.run(*words, data=data).returncode == 0
    (data / "master.key").unlink()
    crypto.create_key_file(data / "master.key")
    for asked in (["serve", "--port", "0"], ["doctor"]):
        done = server.run(*asked, data=data)
        said = done.stdout + done.stderr
        assert (done.returncode, "decrypts none of the stored secrets" in said) == (1, True), said
