"""`deedbox verify`, as a process of its own: no server, no data folder."""

import json
import re
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from msgspec.structs import replace

from deedbox.authority import issue
from deedbox.evidence import chain, file
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.pdf.verify.trust import DOCUMENT_SIGNING
from tests import nursery, server
from tests.evidence.samples import DOCUMENT, evidence
from tests.faults.tampering import NOW, Office, restamped, time_stamped
from tests.pdf import acrobat_like, pki
from tests.pdf.sealed import document


@pytest.fixture(scope="module")
def office() -> Office:
    return Office()


@pytest.fixture
def folder(tmp_path: Path, office: Office) -> Path:
    """A sealed PDF, its evidence and the root."""
    marked = document(2)
    told = evidence(marked)
    deed = office.sealed(marked, document_id=DOCUMENT, head=told.head)
    (tmp_path / "deed.pdf").write_bytes(deed)
    (tmp_path / "evidence.json").write_bytes(file.encode(office.vouched(told, deed)))
    (tmp_path / "root.pem").write_bytes(issue.pem([office.root.der]))
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return nursery.run("deedbox", "verify", *words, folder=folder, env=server.environment(folder / "data"))


def test_a_sealed_file_is_authentic_with_its_root_and_its_evidence(folder: Path) -> None:
    done = run(folder, "deed.pdf", "--root", "root.pem", "--evidence", "evidence.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("deed.pdf is authentic: this is what was sealed, every byte of it.\n")
    assert done.stdout.count("✓") == 8
    assert "timestamped  2026-06-01T12:00:00Z" in done.stdout
    assert done.stderr == ""


def test_the_report_is_json_for_programs(folder: Path) -> None:
    done = run(folder, "deed.pdf", "--root", "root.pem", "--evidence", "evidence.json", "--json")
    report = json.loads(done.stdout)
    assert (report["verdict"], report["document_id"], done.returncode) == ("authentic", DOCUMENT, 0)
    assert set(report["checks"].values()) == {True}
    assert report["chain_head"] == evidence(document(2)).head


def test_one_changed_byte_is_altered_and_exits_with_1(folder: Path) -> None:
    data = bytearray((folder / "deed.pdf").read_bytes())
    data[300] ^= 1
    (folder / "deed.pdf").write_bytes(data)
    done = run(folder, "deed.pdf", "--root", "root.pem")
    assert (done.returncode, "deed.pdf is altered" in done.stdout) == (1, True)
    assert "✗ every signature matches the file" in done.stdout


def test_without_a_root_the_seal_is_unrecognised_and_the_next_step_is_named(folder: Path) -> None:
    done = run(folder, "deed.pdf")
    assert (done.returncode, "name one with --root" in done.stdout) == (2, True)


def test_a_pdf_without_signature_exits_with_2(folder: Path) -> None:
    (folder / "plain.pdf").write_bytes(document())
    done = run(folder, "plain.pdf", "--root", "root.pem")
    assert (done.returncode, done.stdout.startswith("plain.pdf is unsigned")) == (2, True)


def _edited_and_hashed_anew(told: file.Evidence) -> file.Evidence:
    rows: list[chain.TrailEntry] = []
    before = chain.genesis(told.document.id)
    for row in told.audit:
        at = row.at if row.number != 3 else type(row.at)("2026-02-01T00:00:00Z")
        rows.append(chain.next_entry(before, row.number, at, row.act, row.actor, row.detail))
        before = rows[-1].hash
    return replace(told, audit=rows, head=before)


def _going_on(told: file.Evidence) -> file.Evidence:
    last = told.audit[-1]
    more = chain.next_entry(last.hash, last.number + 1, last.at, "signer.signed", "sgn_9", {})
    return replace(told, audit=[*told.audit, more], head=more.hash)


@pytest.mark.parametrize(
    "case", ["edited", "edited and hashed anew", "cut off", "a signer's name", "rows after the head", "no signature"]
)
def test_evidence_that_was_changed_is_altered(folder: Path, case: str) -> None:
    told = file.parse((folder / "evidence.json").read_bytes())
    changed = {
        "rows after the head": _going_on(told),
        "no signature": replace(told, signature=""),
        "edited": replace(told, audit=[replace(told.audit[0], actor="key_2"), *told.audit[1:]]),
        "edited and hashed anew": _edited_and_hashed_anew(told),
        "cut off": replace(told, audit=told.audit[:-1], head=told.audit[-2].hash),
        "a signer's name": replace(told, signers=[replace(told.signers[0], name="Someone"), told.signers[1]]),
    }[case]
    (folder / "evidence.json").write_bytes(file.encode(changed))
    done = run(folder, "deed.pdf", "--root", "root.pem", "--evidence", "evidence.json", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"], report["checks"]["audit_chain"]) == (1, "altered", False)
    assert report["reasons"]


def test_a_time_stamp_that_was_replaced_shows_by_the_evidence(folder: Path, office: Office) -> None:
    """Of an authority that is trusted as well, and after the seal said that it may be any."""
    told, elsewhere = evidence(document(2)), Office("Elsewhere")
    deed = office.sealed(document(2), document_id=DOCUMENT, head=told.head, timestamp="any")
    other = restamped(deed, elsewhere.timestamper, NOW + timedelta(hours=1))
    (folder / "evidence.json").write_bytes(file.encode(office.vouched(told, deed)))
    (folder / "tsa.pem").write_bytes(issue.pem([elsewhere.root.der]))
    for pdf, code in ((deed, 0), (other, 1)):
        (folder / "deed.pdf").write_bytes(pdf)
        roots = ("--root", "root.pem", "--timestamp-root", "tsa.pem")
        assert run(folder, "deed.pdf", *roots).returncode == 0
        done = run(folder, "deed.pdf", *roots, "--evidence", "evidence.json")
        assert (done.returncode, "replaced" in done.stdout) == (code, code == 1), done.stdout


@pytest.mark.parametrize(
    ("usage", "option"),
    [
        (ExtendedKeyUsageOID.SERVER_AUTH, "--root"),
        (ExtendedKeyUsageOID.SERVER_AUTH, "--timestamp-root"),
        (DOCUMENT_SIGNING, "--timestamp-root"),
    ],
)
def test_seal_below_a_timestamp_root_is_not_authentic(folder: Path, usage: x509.ObjectIdentifier, option: str) -> None:
    elsewhere = Office("Elsewhere")
    leaf = pki.issue("www.example.com", elsewhere.holder(), usages=[usage], begins=NOW, ends=NOW + pki.YEAR)
    elsewhere.identity = SealIdentity(leaf.key, leaf.der, [])
    (folder / "tsa.pem").write_bytes(issue.pem([elsewhere.root.der]))
    (folder / "deed.pdf").write_bytes(elsewhere.sealed(document(2, "Forged"), document_id=DOCUMENT))
    done = run(folder, "deed.pdf", "--root", "root.pem", option, "tsa.pem")
    assert (done.returncode, "deed.pdf is unrecognised" in done.stdout) == (2, True), done.stdout


def test_timestamp_root_makes_an_external_time_stamp_trusted(folder: Path, office: Office) -> None:
    elsewhere = Office("Elsewhere")
    (folder / "tsa.pem").write_bytes(issue.pem([elsewhere.root.der]))
    deed = office.sealed(document(2), timestamp="any")
    (folder / "deed.pdf").write_bytes(restamped(deed, elsewhere.timestamper, NOW + timedelta(hours=1)))
    alone = run(folder, "deed.pdf", "--root", "root.pem")
    assert "from an authority that this server does not trust" in alone.stdout
    done = run(folder, "deed.pdf", "--root", "root.pem", "--timestamp-root", "tsa.pem")
    assert (done.returncode, "✓ a trusted timestamp proves the time" in done.stdout) == (0, True), done.stdout


def test_time_stamp_is_judged_by_its_form_at_any_later_date(folder: Path, office: Office) -> None:
    """By pyHanko itself, and built from documentation as Acrobat might write it: none of these is by Acrobat."""
    deed, unit = (folder / "deed.pdf").read_bytes(), office.timestamp_unit
    later = {
        "pyhanko.pdf": time_stamped(office, deed),
        "other.pdf": acrobat_like.stamped(pki.Holder(unit.certificate, unit.key), deed, NOW + timedelta(days=1)),
    }
    for name, data in later.items():
        (folder / name).write_bytes(data)
    words = ("--root", "root.pem", "--at", "2035-01-01")
    done = run(folder, "pyhanko.pdf", *words)
    assert (done.returncode, "pyhanko.pdf is extended" in done.stdout) == (0, True), done.stdout
    done = run(folder, "other.pdf", *words)
    assert (done.returncode, "other.pdf is altered" in done.stdout) == (1, True), done.stdout
    assert "✓ every signature matches the file" in done.stdout
    assert "How Acrobat writes them is not documented" in done.stdout
    named = re.search(r"The first (\d+) bytes of this file are a sealed file with a genuine seal", done.stdout)
    assert named is not None
    (folder / "beginning.pdf").write_bytes(later["other.pdf"][: int(named[1])])
    done = run(folder, "beginning.pdf", *words)
    assert (done.returncode, "beginning.pdf is authentic" in done.stdout) == (0, True), done.stdout


def test_the_evidence_of_another_document_explains_nothing(folder: Path, office: Office) -> None:
    (folder / "other.pdf").write_bytes(office.sealed(document(1), document_id="doc_2"))
    done = run(folder, "other.pdf", "--root", "root.pem", "--evidence", "evidence.json")
    assert (done.returncode, "that of another document" in done.stdout) == (2, True)


def test_the_evidence_of_another_version_of_the_document_is_seen(folder: Path, office: Office) -> None:
    told = evidence(document(2))
    (folder / "other.pdf").write_bytes(office.sealed(document(3), document_id=DOCUMENT, head=told.head))
    done = run(folder, "other.pdf", "--root", "root.pem", "--evidence", "evidence.json", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["checks"]["known_to_us"]) == (1, False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["deed.pdf", "--root", "deed.pdf"], "holds no certificate"),
        (["deed.pdf", "--timestamp-root", "root.pem"], "no root is named for the seal"),
        (["deed.pdf", "--root", "root.pem", "--evidence", "root.pem"], "not an evidence file"),
        (["deed.pdf", "--data", "nowhere"], "no installation in the data folder"),
        (["missing.pdf"], "does not exist"),
    ],
)
def test_what_cannot_be_read_is_said_and_exits_with_2(folder: Path, words: list[str], sentence: str) -> None:
    done = run(folder, *words)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


def test_at_judges_a_file_as_of_another_time(folder: Path, office: Office) -> None:
    (folder / "deed.pdf").write_bytes(office.sealed(document(1), timestamp="none"))
    for at, code in (("2026-07-01", 0), ("2026-07-01T12:00:00Z", 0), ("2035-01-01", 2)):
        done = run(folder, "deed.pdf", "--root", "root.pem", "--at", at)
        assert (done.returncode, "not valid at that time" in done.stdout) == (code, code == 2), done.stdout
    assert run(folder, "deed.pdf", "--root", "root.pem", "--at", "soon").returncode == 2


def test_timestamped_and_extended_files_are_good_in_2035(folder: Path, office: Office) -> None:
    sealed = office.sealed(document(1))
    for data, verdict in ((sealed, "authentic"), (time_stamped(office, sealed), "extended")):
        (folder / "deed.pdf").write_bytes(data)
        done = run(folder, "deed.pdf", "--root", "root.pem", "--at", "2035-01-01")
        assert (done.returncode, f"is {verdict}" in done.stdout) == (0, True), done.stdout


def test_a_der_root_does_too(folder: Path, office: Office) -> None:
    (folder / "root.der").write_bytes(office.root.der)
    assert run(folder, "deed.pdf", "--root", "root.der").returncode == 0


def test_a_data_folder_brings_its_own_root(folder: Path) -> None:
    data = folder / "data"
    made = server.run("ca", "show", "--pem", data=data)
    if made.returncode != 0:  # an installation is made by the first start of the server, or by its first key
        assert server.run("keys", "create", "--name", "first", data=data).returncode == 0
        made = server.run("ca", "show", "--pem", data=data)
    assert made.returncode == 0, made.stderr
    done = run(folder, "deed.pdf")
    assert (done.returncode, "name one with --root" in done.stdout) == (2, False), done.stdout + done.stderr
    assert run(folder, "deed.pdf", "--root", "root.pem").returncode == 0
