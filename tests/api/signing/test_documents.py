"""Documents through the API: made, shown, changed, sent, voided, and refused by name."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel.crypto import Secret
from tests.api.answers import faults
from tests.api.conftest import opened
from tests.api.signing.conftest import LEASE, Office, signer
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio
FIELD = {"type": "text", "page": 1, "x": 0, "y": 0, "w": 0.5, "h": 0.1, "signer": "ann@example.com"}


async def test_a_document_is_created_as_a_draft_and_shown_alike(office: Office) -> None:
    made = await office.create(external_id="deal-7", metadata={"floor": "3"})
    assert (made["status"], made["source"], made["external_id"]) == ("draft", "api", "deal-7")
    assert [(file["name"], file["pages"], file["size_bytes"]) for file in made["files"]] == [
        ("lease.pdf", 2, len(LEASE))
    ]
    assert made["progress"] == {"signers_total": 1, "signers_signed": 0, "parties_total": 1, "parties_completed": 0}
    assert await office.document(made["id"]) == made
    listed = (await office.api.get("/api/v1/documents", params={"signer_email": "ANN@example.com"})).json()
    assert [each["id"] for each in listed["documents"]] == [made["id"]]
    assert (await office.api.get("/api/v1/documents", params={"signer_email": "bob@example.com"})).json()["count"] == 0


async def test_a_form_does_the_same_as_json(office: Office) -> None:
    body = {"title": "Lease", "signers": [signer("ann")], "send": True}
    answer = await office.api.call(
        "POST", "/api/v1/documents", data={"document": json.dumps(body)}, files={"file": ("lease.pdf", LEASE)}
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"] == "sent"
    original = await office.api.get(f"/api/v1/documents/{answer.json()['id']}/file")
    assert original.content == LEASE


async def test_every_field_lies_where_it_was_put_and_without_one_it_is_placed(office: Office) -> None:
    field = {"type": "text", "page": 1, "x": 0.1, "y": 0.2, "w": 0.3, "h": 0.05, "signer": "ann@example.com"}
    made = await office.create(fields=[field])
    placed = [(each["type"], each["page"], each["x"], each["y"]) for each in made["fields"]]
    assert placed[0] == ("text", 1, 0.1, 0.2)
    assert [kind for kind, *_ in placed] == ["text", "signature"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"file": {"name": "a.pdf", "content_base64": base64.b64encode(b"nothing").decode()}}, "not a PDF"),
        ({"file": {"name": "a.pdf", "content_base64": "%%%%"}}, "not base64"),
        ({"file": None}, "Send exactly one of `file`, `files` and `template_id`"),
        ({"signers": [signer("ann"), signer("ann")]}, "same e-mail"),
        ({"parties": [{"name": "A", "signers": [signer("bob")]}]}, "Send `parties` or `signers`, not both."),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "lie ahead"),
        ({"fields": [{**FIELD, "page": 9}]}, "page 9"),
        ({"fields": [{**FIELD, "x": 0.9}]}, "beyond"),
        ({"fields": [{**FIELD, "signer": "bob@example.com"}]}, "bob"),
        ({"nonsense": 1}, "nonsense"),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused_by_name_and_leaves_nothing(
    office: Office, change: dict[str, object], word: str
) -> None:
    answer = await office.api.post("/api/v1/documents", office.body(**change))
    assert faults("/api/v1/documents", answer, 400) == []
    assert word in answer.json()["error"]
    for table in ("documents", "blobs", "blob_refs", "signers"):
        assert await office.api.rows(f"select * from {table}") == []


async def test_sending_needs_its_scope_also_while_creating(office: Office) -> None:
    key = await office.api.make_key("documents:write")
    refused = await office.api.post("/api/v1/documents", office.body(send=True), key=key)
    assert (refused.status_code, "documents:send" in refused.json()["error"]) == (403, True)
    assert (await office.api.post("/api/v1/documents", office.body(), key=key)).status_code == 201


async def test_a_draft_is_changed_and_deleted_and_a_sent_document_only_amended(office: Office) -> None:
    made = await office.create()
    path = f"/api/v1/documents/{made['id']}"
    changed = await office.api.call("PATCH", path, json={"title": "New", "metadata": {"a": "b"}})
    assert (changed.status_code, changed.json()["title"], changed.json()["metadata"]) == (200, "New", {"a": "b"})
    assert (await office.api.call("POST", f"{path}/send")).json()["status"] == "sent"
    assert (await office.api.call("PATCH", path, json={"title": "Newer"})).status_code == 400
    assert (await office.api.call("PATCH", path, json={"metadata": {}})).json()["metadata"] == {}
    assert faults(path, await office.api.call("DELETE", path), 409) == []
    draft = await office.create()
    assert (await office.api.call("DELETE", f"/api/v1/documents/{draft['id']}")).status_code == 204
    assert (await office.api.get(f"/api/v1/documents/{draft['id']}")).status_code == 404


async def test_another_workspace_s_document_does_not_exist(office: Office) -> None:
    made = await office.create(send=True)
    other = await office.api.make_key(workspace=office.api.other_workspace)
    for method, path in (("GET", ""), ("GET", "/audit"), ("POST", "/void"), ("POST", "/send"), ("DELETE", "")):
        answer = await office.api.call(method, f"/api/v1/documents/{made['id']}{path}", key=other)
        assert answer.status_code == 404, path


async def test_a_document_past_its_time_has_expired_at_the_first_look(office: Office) -> None:
    made = await office.create(send=True, expires_at="2026-03-02T12:00:00Z")
    office.api.clock.forward(86400)
    assert (await office.document(made["id"]))["status"] == "expired"
    assert (await office.events(made))[-1] == "document.expired"


async def test_a_repeated_request_creates_nothing_twice(office: Office) -> None:
    headers = {"Idempotency-Key": "once"}
    first = await office.api.post("/api/v1/documents", office.body(send=True), headers=headers)
    again = await office.api.post("/api/v1/documents", office.body(send=True), headers=headers)
    assert (first.content, again.headers["Idempotency-Replayed"]) == (again.content, "true")
    assert await office.api.rows("select count(*) from documents") == [(1,)]
    assert await office.api.rows("select count(*) from mails") == [(1,)]


async def test_an_invitation_that_has_not_left_is_taken_back_when_its_document_is_voided(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    nobody: dict[str, Any] = {
        "smtp_url": Secret("smtp://127.0.0.1:9"),
        "smtp_plain": True,
        "mail_from": "sign@example.com",
    }
    async with opened(database_url, tmp_path, clock, **nobody) as api:
        await api.settle()
        document = await Office(api).create(send=True)
        assert await api.rows("select kind from mails") == [("invitation",)]
        assert (await api.post(f"/api/v1/documents/{document['id']}/void")).status_code == 200
        assert await api.rows("select kind from mails") == []


async def test_a_second_reminder_names_the_time_of_its_own_limit(office: Office) -> None:
    document = await office.create(send=True)
    path = f"/api/v1/documents/{document['id']}/remind"
    assert (await office.api.post(path)).status_code == 200
    office.api.clock.forward(60)
    soon = await office.api.post(path)
    assert (soon.status_code, soon.headers["retry-after"]) == (429, "3540")
    assert soon.headers.get_list("x-ratelimit-reset") == [str(int(office.api.clock.now().timestamp()) + 3540)]


@pytest.mark.parametrize("language", ["xx", "tlh", "EN", "en-gb", "ru"])
async def test_an_unknown_language_is_refused_with_those_known(office: Office, language: str) -> None:
    known = "en, de, fr, es, pt, ar, zh and ja"
    for body in ({"language": language}, {"signers": [signer("ann", language=language)]}):
        answer = await office.api.post("/api/v1/documents", office.body(**body))
        assert (answer.status_code, known in answer.json()["error"]) == (400, True), answer.text


async def test_a_language_may_name_its_region(office: Office) -> None:
    assert (await office.create(language="de-AT"))["language"] == "de-AT"
