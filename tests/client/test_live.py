"""The client against a running server: the whole way of a document, lists, files, failures and retries."""

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from deedbox.client import (
    ApiError,
    AsyncDeedbox,
    Complete,
    Deedbox,
    DeedboxError,
    Document,
    DocumentChange,
    Indexed,
    LoneSigner,
    NewDocument,
    NewHook,
    NewPacket,
    NewPacketDocument,
    NewQuery,
    NoAnswer,
    Reason,
    Typed,
    inline,
)
from tests import server
from tests.client.conftest import PATIENCE, AsyncBreaking, Breaking
from tests.faults.installation import ROOT


def lease(external_id: str, *, send: bool = True) -> NewDocument:
    expires = datetime.now(UTC) + timedelta(days=30)
    ann = LoneSigner(name="Ann", email="ann@example.com")
    return NewDocument(title="Lease", external_id=external_id, signers=[ann], expires_at=expires, send=send)


@pytest.fixture
def deedbox(running: server.Server) -> Iterator[Deedbox]:
    with Deedbox(running.address, running.api_key) as client:
        yield client


def completed(deedbox: Deedbox, document_id: str) -> Document:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        document = deedbox.documents.get(document_id)
        if document.status == "completed":
            return document
        time.sleep(0.1)
    raise AssertionError("the document was not completed in time")


def test_a_document_is_sent_signed_downloaded_and_verified(deedbox: Deedbox, folder: Path) -> None:
    draft = deedbox.documents.create(lease("whole way", send=False), [folder / "lease.pdf"])
    changed = deedbox.documents.change(draft.id, DocumentChange(title="Lease of the flat"))
    assert (changed.title, changed.status, changed.external_id) == ("Lease of the flat", "draft", "whole way")
    document = deedbox.documents.send(draft.id)
    link = deedbox.documents.signing_link(document.id, document.parties[0].signers[0].id)
    signer_id = deedbox.open_link(link.url)
    assert deedbox.signer.session(signer_id).signer.name == "Ann"
    assert deedbox.signer.complete(signer_id, Complete(consent=True, signature=Typed(text="Ann"))).status == "signed"
    assert completed(deedbox, document.id).seal is not None
    saved = deedbox.documents.sealed_file(document.id).save(folder / "signed.pdf")
    assert saved.read_bytes() == deedbox.documents.sealed_file(document.id).read()
    assert deedbox.verification.verify_file(saved).verdict == "authentic"
    acts = [entry.act for entry in deedbox.documents.audit_trail(document.id, limit=2)]
    assert (acts[0], len(acts) > 4) == ("document.created", True)
    assert sorted(path.name for path in folder.iterdir()) == ["lease.pdf", "signed.pdf"]


def test_a_list_is_an_iterator_over_every_page(deedbox: Deedbox) -> None:
    made = [deedbox.documents.create(_draft("paged"), [("a.pdf", _pdf())]).id for _ in range(3)]
    found = deedbox.documents.list(external_id="paged", status=["draft", "sent"], limit=1, order="asc")
    assert next(found).id == made[0]
    assert [document.id for document in found] == made[1:]
    assert list(deedbox.documents.list(external_id="nothing", created_after=datetime.now(UTC))) == []


def _draft(external_id: str) -> NewDocument:
    return lease(external_id, send=False)


def _pdf() -> bytes:
    from tests.api.search.files import pdf

    return pdf("Text", size=(595, 842))


def test_a_file_can_come_within_the_body_too(deedbox: Deedbox, folder: Path) -> None:
    for source in (folder / "lease.pdf", ("lease.pdf", (folder / "lease.pdf").read_bytes())):
        document = deedbox.documents.create(NewDocument(title="Lease", file=inline(source)))
        assert deedbox.documents.original_file(document.id).read() == (folder / "lease.pdf").read_bytes()
        assert document.files[0].name == "lease.pdf"


def test_the_files_of_a_packet_come_in_the_order_of_its_documents(deedbox: Deedbox, folder: Path) -> None:
    documents = [NewPacketDocument(title="Lease"), NewPacketDocument(title="Rules", fields=[])]
    packet = deedbox.packets.create(
        NewPacket(title="Papers", documents=documents), [folder / "lease.pdf", ("rules.pdf", _pdf())]
    )
    assert [each.files[0].name for each in packet.documents] == ["lease.pdf", "rules.pdf"]
    assert deedbox.documents.original_file(packet.documents[1].id).read() == _pdf()


def test_a_refusal_tells_status_code_sentence_and_request(deedbox: Deedbox, running: server.Server) -> None:
    with pytest.raises(ApiError, match="does not exist") as gone:
        deedbox.documents.get("doc_00000000000000000000000000")
    assert (gone.value.status, gone.value.code, len(gone.value.request_id) > 10) == (404, "not_found", True)
    with pytest.raises(ApiError, match="title") as wrong:
        deedbox.documents.create(NewDocument(title=""), [("a.pdf", _pdf())])
    assert (wrong.value.status, wrong.value.code) == (400, "invalid_request")
    with Deedbox(running.address, "deed_live_" + "0" * 32) as stranger, pytest.raises(ApiError) as refused:
        stranger.keys.me()
    assert refused.value.status == 401


def test_a_download_that_is_refused_leaves_no_file(deedbox: Deedbox, folder: Path) -> None:
    draft = deedbox.documents.create(_draft("no file"), [folder / "lease.pdf"])
    with pytest.raises(ApiError):
        deedbox.documents.sealed_file(draft.id).save(folder / "signed.pdf")
    assert [path.name for path in folder.iterdir()] == ["lease.pdf"]


def test_a_create_whose_answer_was_lost_is_sent_again_and_has_one_effect(running: server.Server, folder: Path) -> None:
    breaking = Breaking("POST", times=2)
    with Deedbox(running.address, running.api_key, transport=breaking) as deedbox:
        document = deedbox.documents.create(lease("lost answer"), [folder / "lease.pdf"])
        assert breaking.sent == 3
        assert [each.id for each in deedbox.documents.list(external_id="lost answer")] == [document.id]
        assert [entry.act for entry in deedbox.documents.audit_trail(document.id)].count("document.sent") == 1


def test_a_lost_answer_to_a_delete_is_no_failure(running: server.Server, folder: Path) -> None:
    with Deedbox(running.address, running.api_key, transport=Breaking("DELETE")) as deedbox:
        draft = deedbox.documents.create(_draft("deleted"), [folder / "lease.pdf"])
        deedbox.documents.delete_draft(draft.id)
        with pytest.raises(ApiError):
            deedbox.documents.delete_draft(draft.id)


def test_what_has_no_idempotency_key_is_not_sent_again_when_its_answer_was_lost(running: server.Server) -> None:
    breaking = Breaking("POST")
    with (
        Deedbox(running.address, running.api_key, transport=breaking) as deedbox,
        pytest.raises(NoAnswer, match="POST /tsa"),
    ):
        deedbox.authority.stamp_time(b"\x30\x00").read()
    assert breaking.sent == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_to_wait_is_asked_again(running: server.Server, status: int) -> None:
    class Busy(httpx.HTTPTransport):
        asked = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            self.asked += 1
            if self.asked == 1:
                return httpx.Response(status, headers={"Retry-After": "1"}, json={"error": "Busy"})
            return super().handle_request(request)

    begun = time.monotonic()
    with Deedbox(running.address, running.api_key, transport=Busy()) as deedbox:
        assert deedbox.keys.me().workspace.name
    assert time.monotonic() - begun >= 1


def test_what_was_not_there_is_an_error_even_if_the_server_was_busy_first() -> None:
    answers = [httpx.Response(503, json={"error": "Busy"}), httpx.Response(404, json={"error": "Not there"})]
    busy = httpx.MockTransport(lambda _: answers.pop(0))
    with Deedbox("http://deedbox", "key", transport=busy) as deedbox, pytest.raises(ApiError, match="Not there"):
        deedbox.documents.delete_draft("doc_1")
    assert not answers


def test_who_would_have_to_wait_for_an_hour_is_told_at_once() -> None:
    busy = httpx.MockTransport(lambda _: httpx.Response(429, headers={"Retry-After": "3600"}, json={"error": "Busy"}))
    with Deedbox("http://deedbox", "key", transport=busy) as deedbox, pytest.raises(ApiError) as told:
        deedbox.keys.me()
    assert (told.value.retry_after, told.value.message) == (3600, "Busy")


def test_a_server_that_is_not_there_is_named_after_the_retries() -> None:
    with Deedbox("http://127.0.0.1:9", "key", retries=1) as deedbox, pytest.raises(NoAnswer, match="GET /api/v1/me"):
        deedbox.keys.me()


def test_without_address_or_key_the_client_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEDBOX_URL", raising=False)
    monkeypatch.setenv("DEEDBOX_API_KEY", "key")
    with pytest.raises(DeedboxError, match="DEEDBOX_URL"):
        Deedbox()


@pytest.mark.anyio
async def test_the_asynchronous_client_does_the_same(running: server.Server, folder: Path) -> None:
    transport = AsyncBreaking("POST")
    async with AsyncDeedbox(running.address, running.api_key, transport=transport) as deedbox:
        document = await deedbox.documents.create(lease("async"), [folder / "lease.pdf"])
        assert transport.left == 0
        assert [each.id async for each in deedbox.documents.list(external_id="async", limit=1)] == [document.id]
        saved = await deedbox.documents.original_file(document.id).save(folder / "original.pdf")
        assert saved.read_bytes() == (folder / "lease.pdf").read_bytes()
        assert (await deedbox.documents.void(document.id, Reason(reason="A mistake"))).status == "voided"
        with pytest.raises(ApiError) as late:
            await deedbox.documents.remind_signers(document.id)
        assert late.value.status == 409


def test_the_other_face_of_the_server_is_there_too(deedbox: Deedbox) -> None:
    uploaded = deedbox.search.upload_document(("boat.txt", b"The boat lies in the harbour."))
    indexed = deedbox.search.build_index()
    assert isinstance(indexed, Indexed)
    assert indexed.status == "success"
    [run, *_] = deedbox.search.list_runs(limit=1)
    assert [event.event for event in deedbox.search.follow_run(run.id)][-1] == "end"
    found = deedbox.search.ask(NewQuery(query="boat harbour", top_k=1)).results
    assert found[0].metadata.doc_id == uploaded.doc_id
    deedbox.search.delete_document(uploaded.doc_id)
    assert uploaded.doc_id not in [each.doc_id for each in deedbox.search.list_uploads()]


def test_an_answer_of_two_kinds_is_the_one_that_its_status_calls_for(deedbox: Deedbox) -> None:
    new = NewHook(target_url="http://127.0.0.1:9/client", events=["document.sent"])
    made, again = deedbox.hooks.create(new), deedbox.hooks.create(new)
    assert (type(made).__name__, type(again).__name__, made.id == again.id) == ("MadeHook", "Hook", True)


def test_a_users_program_runs_with_the_client_alone(running: server.Server, folder: Path) -> None:
    env = server.environment(DEEDBOX_URL=running.address, DEEDBOX_API_KEY=str(running.api_key), PYTHONPATH=str(ROOT))
    command = [sys.executable, "-m", "tests.client.alone", "tests.client.program", str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["404", "not_found"]
    assert (folder / "original.pdf").read_bytes() == (folder / "lease.pdf").read_bytes()
