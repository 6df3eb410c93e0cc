"""A stored file becomes a sealed one: through a sandbox that never sees a key, with the time told truly."""

import asyncio
import hashlib
import http.server
import io
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from asn1crypto import cms as asn1_cms
from pyhanko.pdf_utils.reader import PdfFileReader

from deedbox.accounts import workspaces
from deedbox.authority import Certificates, remote_timestamp
from deedbox.authority import limits as authority_limits
from deedbox.authority.issue import pem
from deedbox.authority.remote_timestamp import RemoteTimestamper, TimestampFailed
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, ValueCipher, create_key_file
from deedbox.kernel.db import Database
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import BadRequest, ServiceError, SetupError
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.seal import timestamp
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.pdf.verify.verify_pdf import verify
from deedbox.signing.completion.seal import Sealer, SealRequest
from tests.authority.test_pkcs12 import above, brought, packed
from tests.conftest import HandClock
from tests.kinds import kinds
from tests.pdf import issued as foreign
from tests.pdf import shapes
from tests.pdf.oracles import GOOD, cms_of, cms_verified, pdfsig, qpdf, signed_bytes

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]

REQUEST = SealRequest(document_id="doc_1", audit_head="cd" * 32, name="Main", reason="All have signed")


class Desk:
    """Blobs, certificates and a sandbox, and files that go through them."""

    def __init__(self, db: Database, folder: Path, clock: HandClock, workspace: str) -> None:
        create_key_file(folder / "master.key")
        self.db = db
        self.clock = clock
        self.workspace = workspace
        self.blobs = kinds.blobs(folder)
        self.certificates = Certificates(db, ValueCipher(folder / "master.key"), clock, "https://sign.example.com")
        self.workshop = PdfSandbox(1)

    def sealer(self, remote: RemoteTimestamper | None = None) -> Sealer:
        return Sealer(self.blobs, self.workshop, self.certificates, self.clock, remote)

    async def store(self, data: bytes) -> Blob:
        async with self.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            await incoming.write(data)
            received = await incoming.finish()
            return await self.db.write(lambda tx: blobs_store.adopt(tx, received, "test", self.clock.now()))

    async def sealed(
        self, data: bytes, remote: RemoteTimestamper | None = None, request: SealRequest = REQUEST
    ) -> tuple[bytes, Any]:
        """The sealed file as it is stored, and the record of its seal."""
        file = await self.store(data)
        async with self.sealer(remote).sealed(file, self.workspace, request) as done:
            blob = await self.db.write(lambda tx: blobs_store.adopt(tx, done.received, "sealed", self.clock.now()))
            assert blob == done.received.blob
        stored = await self.blobs.read(blob.location, limits.BLOB_BYTES_MAX)
        assert (hashlib.sha256(stored).hexdigest(), len(stored)) == (blob.sha256, blob.size_bytes)
        return stored, done.seal

    async def root(self) -> bytes:
        return await self.certificates.certificate("root")


@pytest.fixture
async def desk(db: Database, tmp_path: Path, clock: HandClock) -> AsyncIterator[Desk]:
    # The programs that judge know only the real time.
    clock.time = foreign.NOW
    (tmp_path / "data").mkdir()
    workspace = await db.write(lambda tx: workspaces.ensure(tx, now=clock.now()))
    made = Desk(db, tmp_path / "data", clock, workspace.id)
    yield made
    await made.workshop.close()


@pytest.mark.parametrize("shape", ["plain", "object_streams", "form", "linearised", "hybrid"])
async def test_a_stored_file_is_sealed_and_every_judge_accepts_it(desk: Desk, tmp_path: Path, shape: str) -> None:
    made, seal = await desk.sealed(shapes.SHAPES[shape]())
    root = await desk.root()
    assert pdfsig(made, root, tmp_path) == GOOD
    assert qpdf(made, tmp_path) == ""
    assert cms_verified(cms_of(made), signed_bytes(made), [root], tmp_path) == "CMS Verification successful"
    assert (seal.level, seal.timestamped, seal.degraded) == ("B-LT", True, False)
    assert seal.certificate_fingerprint == (await desk.certificates.seal_identity(desk.workspace)).fingerprint


async def test_the_seal_carries_what_it_was_wished_to(desk: Desk) -> None:
    made, _ = await desk.sealed(shapes.plain())
    (signature,) = PdfFileReader(io.BytesIO(made)).embedded_signatures
    said = {"/Document": "doc_1", "/Part": "document", "/Audit": "cd" * 32, "/Timestamp": "own"}
    assert signature.sig_object["/Deedbox"] == said
    assert (signature.sig_object["/Name"], signature.sig_object["/Reason"]) == ("Main", "All have signed")


async def test_a_large_file_goes_through_in_pieces(desk: Desk, tmp_path: Path) -> None:
    pdf = pikepdf.open(io.BytesIO(shapes.plain()))
    pdf.attachments["filler.bin"] = bytes(range(256)) * 4 * 3300
    out = io.BytesIO()
    pdf.save(out, compress_streams=False)
    assert len(out.getvalue()) > 3 * limits.SANDBOX_PIECE_BYTES
    made, _ = await desk.sealed(out.getvalue())
    assert pdfsig(made, await desk.root(), tmp_path) == GOOD


@pytest.mark.parametrize(
    ("data", "reason"), [(b"%PDF-1.7 none", "not a PDF"), (foreign.sealed(shapes.plain()), "signed already")]
)
async def test_a_file_that_cannot_be_sealed_is_refused_and_leaves_nothing(
    desk: Desk, tmp_path: Path, data: bytes, reason: str
) -> None:
    with pytest.raises(BadRequest, match=reason):
        await desk.sealed(data)
    assert [name for name in kinds.stored(tmp_path / "data") if name.startswith("incoming/")] == []


async def test_what_is_not_adopted_is_gone(desk: Desk, tmp_path: Path) -> None:
    file = await desk.store(shapes.plain())
    async with desk.sealer().sealed(file, desk.workspace, REQUEST) as done:
        location = done.received.blob.location
    assert location not in kinds.stored(tmp_path / "data")


async def test_many_files_are_sealed_at_the_same_time(desk: Desk, tmp_path: Path) -> None:
    all_of_them = await asyncio.gather(*(desk.sealed(shapes.plain() + b"%% %d\n" % n) for n in range(8)))
    for made, _ in all_of_them:
        assert pdfsig(made, await desk.root(), tmp_path) == GOOD


class Impostor(PdfSandbox):
    """A sandbox that was taken over: it gives out what it likes."""

    def __init__(self, pieces: list[bytes], place: Any) -> None:
        super().__init__(1)
        self._pieces = pieces
        self._place = place

    async def run(self, function: str, *args: Any, into: Any = None, cpu_seconds: float | None = None) -> Any:  # noqa: ARG002
        assert [piece async for piece in args[0].pieces]
        for piece in self._pieces:
            await into.write(piece)
        return self._place


def _lie(**changes: object) -> tuple[list[bytes], dict[str, object]]:
    pieces, place = foreign.prepared(shapes.plain(), foreign.order(foreign.installation().identity))
    told = {name: getattr(place, name) for name in place.__struct_fields__}
    return pieces, {**told, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"contents_at": 5},
        {"contents_length": 2},
        {"contents_length": 0},
        {"byte_range": (0, 1, 2, 3)},
        {"byte_range": "no"},
        {"contents_at": -1},
    ],
)
async def test_a_sandbox_that_lies_about_the_gap_gets_no_signature(desk: Desk, changes: dict[str, object]) -> None:
    desk.workshop = Impostor(*_lie(**changes))
    with pytest.raises(SandboxFailed):
        await desk.sealed(shapes.plain())
    desk.workshop = PdfSandbox(1)


async def test_a_digest_that_a_sandbox_tells_is_not_believed(desk: Desk, tmp_path: Path) -> None:
    other = hashlib.sha256(b"something else that the server never saw").digest()
    desk.workshop = Impostor(*_lie(digest=other))
    made, _ = await desk.sealed(shapes.plain())
    root = await desk.root()
    assert cms_verified(cms_of(made), signed_bytes(made), [root], tmp_path) == "CMS Verification successful"
    desk.workshop = PdfSandbox(1)


async def test_no_private_key_is_sent_to_the_sandbox(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    real = desk.workshop.run

    async def watched(function: str, *args: Any, into: Any = None) -> Any:
        sent.extend(args)
        return await real(function, *args, into=into)

    monkeypatch.setattr(desk.workshop, "run", watched)
    await desk.sealed(shapes.plain())
    identity = await desk.certificates.seal_identity(desk.workspace)
    secret = identity.key.private_numbers().private_value.to_bytes(32, "big")  # type: ignore[union-attr]
    assert len(sent) == 2
    assert all(secret not in value for value in (*sent[1].certificates, *sent[1].crls))
    assert {name for name in sent[1].__struct_fields__ if "key" in name} == set()


async def test_a_certificate_that_the_workspace_brought_reaches_the_level_that_it_truly_has(
    desk: Desk, tmp_path: Path
) -> None:
    own = brought(foreign.keys()["RSA 2048"])
    await desk.certificates.use_pkcs12(desk.workspace, packed(own.key, own.certificate, above()), Secret("word"))
    made, seal = await desk.sealed(shapes.plain())
    assert pdfsig(made, foreign.installation().root.der, tmp_path) == GOOD
    assert (seal.level, seal.timestamped, seal.degraded) == ("B-T", True, False)


# another authority's time-stamps


class Authority:
    """A time-stamp authority on loopback; `answer` makes what it says."""

    def __init__(self) -> None:
        made = foreign.installation()
        self.unit = Timestamper(CmsSigner(made.timestamp_unit.key, made.timestamp_unit.der, [made.root.der]))
        self.answer: Callable[[bytes], tuple[int, bytes]] = lambda query: (200, self.unit.answer(query, foreign.NOW))
        self.queries: list[tuple[str, bytes]] = []
        self.url = ""


@contextmanager
def serving() -> Iterator[Authority]:
    authority = Authority()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["content-length"]))
            authority.queries.append((self.headers["content-type"], query))
            status, body = authority.answer(query)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    authority.url = f"http://127.0.0.1:{server.server_port}/tsr"
    try:
        yield authority
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def authority() -> Iterator[Authority]:
    with serving() as running:
        yield running


@pytest.fixture
async def egress() -> AsyncIterator[Egress]:
    made = Egress([ip_network("127.0.0.0/8")])
    yield made
    await made.close()


def token_issuer(pdf: bytes) -> bytes:
    """The certificate of the unit that made the time-stamp in the seal."""
    (signer,) = asn1_cms.ContentInfo.load(cms_of(pdf))["content"]["signer_infos"]
    token = signer["unsigned_attrs"][0]["values"][0]["content"]
    return bytes(token["certificates"][0].chosen.dump())


async def test_a_configured_authority_stamps_in_our_place(desk: Desk, authority: Authority, egress: Egress) -> None:
    made, seal = await desk.sealed(shapes.plain(), RemoteTimestamper(authority.url, lambda: egress, desk.clock))
    assert (seal.level, seal.timestamped, seal.degraded) == ("B-T", True, False)
    assert token_issuer(made) == foreign.installation().timestamp_unit.der
    assert [kind for kind, _ in authority.queries] == [timestamp.QUERY_TYPE]


async def _failing(desk: Desk, remote: RemoteTimestamper, reason: str) -> None:
    made, seal = await desk.sealed(shapes.plain(), remote)
    assert (seal.level, seal.timestamped, seal.degraded) == ("B-LT", True, True)
    assert token_issuer(made) == (await desk.certificates.timestamper()).certificate_ders[0]
    with pytest.raises(TimestampFailed, match=reason):
        await desk.sealed(shapes.plain(), remote, SealRequest(document_id="d", audit_head="", demand_timestamp=True))


_FAILURES: dict[str, tuple[Any, str]] = {
    "an error": (lambda _: (500, b"broken"), "status 500"),
    "a redirect": (lambda _: (302, b""), "status 302"),
    "nonsense": (lambda _: (200, b"<html>"), "not valid"),
    "nothing": (lambda _: (200, b""), "not valid"),
    "a rejection": (lambda _: (200, Authority().unit.answer(b"", foreign.NOW)), "refused"),
    "another nonce": (
        lambda _: (200, Authority().unit.answer(timestamp.query(bytes(32), b"x"), foreign.NOW)),
        "not valid",
    ),
    "another time": (lambda query: (200, Authority().unit.answer(query, foreign.NOW - timedelta(hours=1))), "clock"),
    "too much": (lambda _: (200, bytes(authority_limits.TSA_ANSWER_BYTES * 2)), "not valid"),
}


@pytest.mark.parametrize("case", _FAILURES)
async def test_when_the_configured_authority_fails_the_seal_says_so(
    desk: Desk, authority: Authority, egress: Egress, case: str
) -> None:
    authority.answer, reason = _FAILURES[case]
    await _failing(desk, RemoteTimestamper(authority.url, lambda: egress, desk.clock), reason)


async def test_an_authority_that_cannot_be_reached_or_may_not_be_is_a_failure_too(desk: Desk, egress: Egress) -> None:
    with serving() as gone:
        pass
    await _failing(desk, RemoteTimestamper(gone.url, lambda: egress, desk.clock), "did not respond")
    closed = Egress()
    await _failing(desk, RemoteTimestamper("http://127.0.0.1:9/tsr", lambda: closed, desk.clock), "not public")
    await closed.close()


async def test_a_seal_stamped_elsewhere_outlives_its_certificate_where_that_authority_is_trusted(
    desk: Desk, authority: Authority, egress: Egress, tmp_path: Path
) -> None:
    made, _ = await desk.sealed(shapes.plain(), RemoteTimestamper(authority.url, lambda: egress, desk.clock))
    file = tmp_path / "tsa.pem"
    file.write_bytes(pem([foreign.installation().root.der]))
    desk.clock.forward(3 * 365 * 86_400)
    box = desk.certificates._ledger._box
    for roots, verdict in (([], "unrecognised"), (remote_timestamp.roots(file), "authentic")):
        trusted = await Certificates(desk.db, box, desk.clock, None, timestamp_roots=roots).trusted(desk.workspace)
        report = verify(made, trusted.roots, trusted.crls, instant(desk.clock.now()), trusted.timestamp_roots)
        assert report.verdict == verdict


def test_a_file_without_roots_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_bytes(b"")
    for name in ("empty.pem", "none.pem"):
        with pytest.raises(SetupError, match="DEEDBOX_TSA_CA_FILE"):
            remote_timestamp.roots(tmp_path / name)
    assert remote_timestamp.roots(None) == []


def test_a_failed_stamp_is_a_failure_that_passes() -> None:
    assert issubclass(TimestampFailed, ServiceError)
    assert (TimestampFailed("x").status, TimestampFailed("x").retry_after) == (503, 1)
