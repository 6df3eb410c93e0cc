"""A seal made while the configured time-stamp authority was away gets its time-stamp later; nothing else changes."""

import asyncio
import hashlib
import io
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import msgspec
import pypdfium2
import pytest
from asn1crypto import cms as asn1_cms
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from deedbox.evidence import chain
from deedbox.evidence import file as evidence
from deedbox.kernel.settings import Networks
from deedbox.pdf.seal import timestamp_again
from deedbox.signing import limits
from deedbox.signing.model import Seal
from deedbox.signing.store import audit
from tests import server
from tests.api.conftest import opened
from tests.api.signing.conftest import Office
from tests.conftest import HandClock
from tests.pdf.issued import installation
from tests.pdf.oracles import GOOD, cms_of, pdfsig, qpdf, said, signed_bytes
from tests.signing.test_seal import serving

pytestmark = pytest.mark.anyio


class Elsewhere:
    """Another installation, whose `/tsa` is the configured authority: a process of its own, away until it comes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._server: server.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/tsa"

    async def comes(self) -> bytes:
        """It answers from now on; its root certificate in DER."""
        self._server = await asyncio.to_thread(
            server.start, self._folder, port=self.port, env={"DEEDBOX_TSA_PUBLIC": "true"}
        )
        pem = (await asyncio.to_thread(self._server.client().get, "/ca.pem")).content
        return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)

    def goes(self) -> None:
        if self._server is not None:
            self._server.stop()
            assert self._server.process.stdout is not None
            self._server.process.stdout.close()
            self._server = None


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Elsewhere]:
    made = Elsewhere(tmp_path / "elsewhere")
    yield made
    made.goes()


@asynccontextmanager
async def _office(database_url: str, data: Path, clock: HandClock, **settings: Any) -> AsyncIterator[Office]:
    async with opened(database_url, data, clock, **settings) as made:
        await made.settle()
        await made.deedbox.start()
        try:
            yield Office(made)
        finally:
            await made.deedbox.stop()


@pytest.fixture
async def office(database_url: str, tmp_path: Path, clock: HandClock, authority: Elsewhere) -> AsyncIterator[Office]:
    # The other installation knows only the real time.
    clock.time = datetime.now(UTC)
    allowed = Networks([ip_network("127.0.0.0/8")])
    async with _office(database_url, tmp_path / "data", clock, tsa_url=authority.url, egress_allow=allowed) as made:
        yield made


async def fetched(office: Office, document: Any, what: str) -> Any:
    answer = await office.api.get(f"/api/v1/documents/{document['id']}/{what}")
    assert answer.status_code == 200, answer.text
    return answer


async def verified(office: Office, content: bytes) -> Any:
    return (await office.api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", content)})).json()


async def upgraded(office: Office, document: Any) -> Any:
    """The document, once its seal is no longer degraded; time passes meanwhile, though not much of it."""
    office.api.clock.forward(limits.UPGRADE_FIRST_SECONDS)
    office.api.deedbox.jobs.wake()
    async with asyncio.timeout(60):
        while (found := await office.document(document["id"]))["seal"]["degraded"]:
            await asyncio.sleep(0.05)
    return found


async def tried(office: Office, kind: str, times: int) -> str:
    """The error of the job, after so many attempts."""
    sql = f"select error, attempts from jobs where kind = '{kind}' and error is not null"
    async with asyncio.timeout(60):
        while not (rows := await office.api.rows(sql)) or rows[0][1] < times:
            office.api.deedbox.jobs.wake()
            await asyncio.sleep(0.05)
    return str(rows[0][0])


async def trail(office: Office, document: Any) -> list[Any]:
    return list((await fetched(office, document, "audit")).json()["audit"])


async def test_the_seal_gets_the_time_stamp_when_the_authority_is_back(
    office: Office, authority: Elsewhere, tmp_path: Path
) -> None:
    document = await office.sealed()
    assert (document["seal"]["level"], document["seal"]["degraded"]) == ("B-LT", True)
    before = await fetched(office, document, "signed")
    root = await authority.comes()
    found = await upgraded(office, document)
    assert found["seal"] == {**document["seal"], "level": "B-T", "degraded": False}
    assert (found["status"], found["completed_at"]) == ("completed", document["completed_at"])
    after = await fetched(office, document, "signed")
    assert after.headers["ETag"] != before.headers["ETag"]
    assert signed_bytes(after.content) == signed_bytes(before.content)
    own = await office.api.deedbox.certificates.certificate("root")
    assert pdfsig(after.content, own, tmp_path) == GOOD
    assert qpdf(after.content, tmp_path) == ""
    assert "Verification: OK" in _token_judged(after.content, root, tmp_path)


def _token_judged(pdf: bytes, root_der: bytes, folder: Path) -> str:
    """What openssl says of the time-stamp in the seal."""
    (signer,) = asn1_cms.ContentInfo.load(cms_of(pdf))["content"]["signer_infos"]
    (attribute,) = signer["unsigned_attrs"]
    (folder / "token.der").write_bytes(attribute["values"][0].dump())
    (folder / "signature.bin").write_bytes(signer["signature"].native)
    (folder / "tsa.pem").write_bytes(x509.load_der_x509_certificate(root_der).public_bytes(Encoding.PEM))
    words = ["-token_in", "-in", "token.der", "-data", "signature.bin", "-CAfile", "tsa.pem"]
    return said("openssl", "ts", "-verify", *words, folder=folder)


async def test_both_files_are_authentic_and_everything_said_of_them_is_true(
    office: Office, authority: Elsewhere, tmp_path: Path
) -> None:
    document = await office.sealed()
    before, proof = await fetched(office, document, "signed"), await fetched(office, document, "evidence")
    await authority.comes()
    await upgraded(office, document)
    after = await fetched(office, document, "signed")
    later = await fetched(office, document, "evidence")
    told = evidence.parse(later.content)
    earlier = evidence.parse(proof.content)
    assert (earlier.seal.files, earlier.audit) == (told.seal.files[:1], told.audit)
    assert _offline(office, before.content, proof.content, tmp_path)
    assert not _offline(office, after.content, proof.content, tmp_path)
    for file in (before.content, after.content):
        report = await verified(office, file)
        assert (report["verdict"], report["document_id"]) == ("authentic", document["id"])
        assert (report["checks"]["known_to_us"], report["checks"]["audit_chain"]) == (True, True)
        assert evidence.is_of(told, file)
        assert _offline(office, file, later.content, tmp_path)
    old, new = (hashlib.sha256(file.content).hexdigest() for file in (before, after))
    vouched = (await office.api.get(f"/api/v1/verify/{document['verification_code']}", key=None)).json()
    assert (vouched["sha256"], vouched["earlier_sha256"]) == (new, [old])
    path = f"/api/v1/documents/{document['id']}/signed"
    stale = await office.api.get(path, headers={"If-None-Match": before.headers["ETag"]})
    assert (stale.status_code, stale.content) == (200, after.content)


async def test_a_time_stamp_that_was_replaced_shows_by_the_records_to_the_api_and_the_command_alike(
    office: Office, tmp_path: Path
) -> None:
    document = await office.sealed()
    sealed = (await fetched(office, document, "signed")).content
    found = timestamp_again.last_seal(sealed, 0)
    digits = found.with_timestamp(installation().timestamper.token(found.digest, office.api.clock.now()))
    replaced = sealed[: found.contents_at] + digits + sealed[found.contents_at + len(digits) :]
    (tmp_path / "a.pdf").write_bytes(replaced)
    report = await verified(office, replaced)
    assert (report["verdict"], report["checks"]["known_to_us"]) == ("altered", False)
    assert "replaced" in report["reasons"][-1]
    words = ("verify", str(tmp_path / "a.pdf"), "--json")
    settings = office.api.deedbox.settings
    url = {"DEEDBOX_DATABASE_URL": settings.database_url.reveal()} if settings.database_url else {}
    command = server.run(*words, data=settings.data_dir, env=url)
    told = json.loads(command.stdout)
    assert (command.returncode, told["verdict"], told["reasons"]) == (1, "altered", report["reasons"])


def _offline(office: Office, pdf: bytes, proof: bytes, folder: Path) -> bool:
    """Whether `deedbox verify`, with the root and the evidence alone, calls the file authentic."""
    (folder / "a.pdf").write_bytes(pdf)
    (folder / "a.json").write_bytes(proof)
    (folder / "root.pem").write_text(evidence.parse(proof).seal.root)
    words = ("verify", str(folder / "a.pdf"), "--evidence", str(folder / "a.json"), "--root", str(folder / "root.pem"))
    return server.run(*words, data=office.api.deedbox.settings.data_dir).returncode == 0


async def test_the_trail_tells_of_it_and_the_certificate_names_the_new_file(
    office: Office, authority: Elsewhere
) -> None:
    document = await office.sealed()
    first = await fetched(office, document, "certificate")
    old = hashlib.sha256((await fetched(office, document, "signed")).content).hexdigest()
    await authority.comes()
    await upgraded(office, document)
    new = hashlib.sha256((await fetched(office, document, "signed")).content).hexdigest()
    *_, completed, last = await trail(office, document)
    assert (completed["act"], last["act"], last["actor"]) == ("document.completed", "document.restamped", "server")
    assert (last["detail"]["sealed_sha256"], last["detail"]["replaced_sha256"]) == (new, old)
    entries = await office.api.deedbox.db.read(lambda tx: audit.trail(tx, document["id"]))
    assert chain.check(document["id"], entries) is None
    second = await fetched(office, document, "certificate")
    assert old in _words(first.content)
    assert new not in _words(first.content)
    assert new in _words(second.content)
    assert old not in _words(second.content)


def _words(pdf: bytes) -> str:
    pages = pypdfium2.PdfDocument(io.BytesIO(pdf))
    text = "".join(page.get_textpage().get_text_range() for page in pages)
    return "".join(sign for sign in text if sign.isalnum())


async def test_an_edited_row_about_the_new_time_stamp_is_noticed(office: Office, authority: Elsewhere) -> None:
    document = await office.sealed()
    await authority.comes()
    await upgraded(office, document)
    after = (await fetched(office, document, "signed")).content
    await office.api.deedbox.db.write(
        lambda tx: tx.run("update audit set actor = 'nobody' where act = 'document.restamped'")
    )
    report = await verified(office, after)
    assert (report["verdict"], report["checks"]["audit_chain"]) == ("altered", False)


async def test_while_the_authority_stays_away_the_seal_stays_as_it_is_and_is_tried_again(office: Office) -> None:
    document = await office.sealed()
    before = await fetched(office, document, "signed")
    assert not await office.api.rows("select 1 from jobs where kind = 'upgrade_seal' and attempts > 0")
    office.api.clock.forward(limits.UPGRADE_FIRST_SECONDS)
    assert "did not respond" in await tried(office, "upgrade_seal", 1)
    office.api.clock.forward(60)
    assert "did not respond" in await tried(office, "upgrade_seal", 2)
    assert (await office.document(document["id"]))["seal"] == document["seal"]
    assert (await fetched(office, document, "signed")).content == before.content


async def test_an_authority_that_fails_is_asked_once_for_all_that_wait(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    with serving() as failing:
        failing.answer = lambda _: (503, b"")
        settings = {"tsa_url": failing.url, "egress_allow": Networks([ip_network("127.0.0.0/8")])}
        async with _office(database_url, tmp_path / "data", clock, **settings) as office:
            for _ in range(3):
                await office.sealed()
        assert len(failing.queries) == 3
        clock.forward(limits.UPGRADE_FIRST_SECONDS)
        async with opened(database_url, tmp_path / "data", clock, **settings) as later:
            await later.deedbox.jobs.run_due()
            errors = await later.rows("select error from jobs where kind = 'upgrade_seal'")
        assert [error for (error,) in errors] == ["The timestamp authority answered with status 503"] * 3
        assert len(failing.queries) == 4


async def test_a_document_that_demands_a_time_stamp_waits_for_it(office: Office, authority: Elsewhere) -> None:
    document = await office.create(send=True, require_timestamp=True)
    assert (await office.sign(document, "ann")).status_code == 200
    assert "did not respond" in await tried(office, "finalize", 1)
    waiting = await office.document(document["id"])
    assert (waiting["status"], waiting["seal"]) == ("finalizing", None)
    assert "did not respond" in waiting["error"]
    await authority.comes()
    office.api.clock.forward(60)
    office.api.deedbox.jobs.wake()
    found = await office.completed(document)
    assert (found["seal"]["level"], found["seal"]["degraded"], found["error"]) == ("B-T", False, None)
    assert not await office.api.rows("select 1 from jobs where kind = 'upgrade_seal'")


async def test_a_seal_whose_authority_is_configured_no_more_keeps_what_it_has(
    database_url: str, tmp_path: Path, clock: HandClock, authority: Elsewhere
) -> None:
    allowed = Networks([ip_network("127.0.0.0/8")])
    settings = {"tsa_url": authority.url, "egress_allow": allowed}
    async with _office(database_url, tmp_path / "data", clock, **settings) as office:
        document = await office.sealed()
    clock.forward(limits.UPGRADE_FIRST_SECONDS)
    async with opened(database_url, tmp_path / "data", clock) as later:
        await later.deedbox.jobs.run_due()
        parked = await later.rows("select error from jobs where kind = 'upgrade_seal' and state = 'parked'")
        [[seal]] = await later.rows(f"select seal from documents where id = '{document['id']}'")
    assert "configured any more" in parked[0][0]
    assert msgspec.json.decode(seal, type=Seal).degraded
