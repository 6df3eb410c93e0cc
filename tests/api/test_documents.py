"""GET /api/v1/documents: the list, its filters and its pages."""

import re
from typing import Any

import pytest

from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.ids import new_id
from deedbox.signing.model import Document, Filter, Packet, PageRequest
from deedbox.signing.store import document_list, documents
from tests.api.conftest import Api

pytestmark = pytest.mark.anyio

FIELDS = [
    "id",
    "object",
    "title",
    "status",
    "source",
    "external_id",
    "metadata",
    "template_id",
    "template_version",
    "packet_id",
    "bulk_send_id",
    "message",
    "language",
    "files",
    "parties",
    "fields",
    "progress",
    "seal",
    "reminders",
    "expires_at",
    "expires_after_hours",
    "created_at",
    "updated_at",
    "sent_at",
    "completed_at",
    "declined_at",
    "voided_at",
    "expired_at",
    "decline",
    "void",
    "archive",
    "verification_code",
    "signed_input",
    "attachments",
    "error",
]


async def add(api: Api, title: str, *, workspace: str = "", packet_id: str | None = None, **values: Any) -> str:
    """A document made a second after the one before."""
    api.clock.forward(1)
    now = api.clock.now()
    at, workspace_id = instant(now), workspace or api.workspace
    shared = packet_id or new_id("pkt", now)
    given: dict[str, Any] = {"status": "draft", "external_id": None, **values}
    document = Document(
        id=new_id("doc", now),
        workspace_id=workspace_id,
        packet_id=shared,
        title=title,
        source="api",
        metadata={},
        files=[],
        require_timestamp=False,
        created_at=at,
        updated_at=at,
        **given,
    )
    packet = Packet(
        id=shared,
        workspace_id=workspace_id,
        lone=packet_id is None,
        sender="",
        company="",
        sender_email=None,
        language="en",
        message=None,
        reminders=None,
        expires_at=None,
        parties=[],
        documents=[document],
    )
    await api.deedbox.db.write(lambda tx: documents.add(tx, packet, {document.id: []}))
    return document.id


async def titles(api: Api, **params: Any) -> list[str]:
    answer = await api.get("/api/v1/documents", params=params)
    assert answer.status_code == 200, answer.text
    return [document["title"] for document in answer.json()["documents"]]


async def test_an_empty_list_has_the_shape_of_the_contract(api: Api) -> None:
    answer = await api.get("/api/v1/documents")
    assert answer.json() == {"documents": [], "count": 0, "has_more": False, "next_cursor": None}
    assert "Link" not in answer.headers


async def test_a_document_shows_every_field_of_the_contract(api: Api) -> None:
    document_id = await add(api, "Lease")
    [document] = (await api.get("/api/v1/documents")).json()["documents"]
    assert list(document) == FIELDS
    assert (document["id"], document["object"], document["metadata"]) == (document_id, "document", {})
    assert document["archive"] == {
        "status": "disabled",
        "attempts": 0,
        "archived_at": None,
        "receipt": None,
        "error": None,
    }


async def test_another_workspaces_documents_are_never_listed(api: Api) -> None:
    theirs = await add(api, "Theirs", workspace=api.other_workspace)
    await add(api, "Ours")
    assert await titles(api) == ["Ours"]
    assert await titles(api, q="Theirs") == []
    assert await titles(api, cursor=theirs) == []
    assert await titles(api, cursor=theirs, order="asc") == ["Ours"]


async def test_filters_select_exactly_what_they_say(api: Api) -> None:
    await add(api, "One", status="sent", external_id="e1")
    await add(api, "Two 100%", packet_id="p")
    await add(api, "Three_x")
    assert await titles(api, status="sent") == ["One"]
    assert await titles(api, external_id="e1") == ["One"]
    assert await titles(api, packet_id="p", status="draft") == ["Two 100%"]
    assert await titles(api, q="TWO") == ["Two 100%"]
    assert await titles(api, q="%") == ["Two 100%"]
    assert await titles(api, q="_") == ["Three_x"]
    assert await titles(api, q="null") == []
    assert await titles(api, created_after="2026-03-01T13:00:01+01:00") == ["Three_x", "Two 100%"]
    assert await titles(api, created_before="2026-03-01T12:00:02Z") == ["One"]


async def test_the_first_and_the_last_moment_that_can_be_written_are_bounds_too(api: Api) -> None:
    await add(api, "One")
    first, last = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
    assert await titles(api, created_after=first, created_before=last) == ["One"]
    assert await titles(api, created_before=first) == await titles(api, created_after=last) == []


async def test_a_fraction_of_a_second_moves_no_document_across_a_bound(api: Api) -> None:
    api.clock.forward(0.999)
    await add(api, "One")
    assert await titles(api, created_before="2026-03-01T12:00:02Z") == ["One"]
    assert await titles(api, created_before="2026-03-01T12:00:01Z") == []
    assert await titles(api, created_after="2026-03-01T12:00:00Z") == ["One"]
    assert await titles(api, created_after="2026-03-01T12:00:01Z") == []


@pytest.mark.parametrize(
    "nothing",
    [
        Filter(statuses=("voided",)),
        Filter(statuses=("voided", "expired")),
        Filter(packet_id="none"),
        Filter(template_id="none"),
        Filter(bulk_send_id="none"),
        Filter(external_id="none"),
        Filter(created_before="2020-01-01T00:00:00Z"),
        Filter(created_after="2030-01-01T00:00:00Z"),
    ],
    ids=str,
)
@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_filter_that_matches_nothing_looks_at_no_document(
    api: Api, nothing: Filter, newest_first: bool
) -> None:
    db = api.deedbox.db
    if not isinstance(db, SqliteDatabase):
        pytest.skip("only SQLite tells its steps, and only its reads keep the others waiting")

    def page(tx: Tx) -> list[tuple[Packet, Document]]:
        return document_list.page(tx, api.workspace, nothing, PageRequest(51, None, newest_first))

    async def steps() -> int:
        taken = 0

        def count() -> int:
            nonlocal taken
            taken += 1
            return 0

        db._reader.set_progress_handler(count, 1)
        try:
            assert await db.read(page) == []
        finally:
            db._reader.set_progress_handler(None, 0)
        return taken

    few = await steps()
    for number in range(100):
        await add(api, f"Lease {number}", packet_id=f"some {number}", external_id=f"e{number}")
    assert 0 < await steps() < few + 50


async def test_pages_and_their_links_walk_through_all_of_them(api: Api) -> None:
    for number in range(5):
        await add(api, f"{number} a&b")
    for order, expected in (("desc", "43210"), ("asc", "01234")):
        seen, url = [], f"/api/v1/documents?limit=2&order={order}&q=a%26b"
        while url:
            answer = await api.get(url)
            body = answer.json()
            seen += [document["title"][0] for document in body["documents"]]
            link = re.fullmatch(r'<(.+)>; rel="next"', answer.headers.get("Link", ""))
            assert (link is not None) == body["has_more"] == (body["next_cursor"] is not None)
            url = link[1] if link else ""
        assert "".join(seen) == expected


@pytest.mark.parametrize(
    "query",
    [
        "status=null",
        "status=Sent",
        "limit=0",
        "limit=101",
        "limit=x",
        "order=up",
        "cursor=x",
        "cursor=key_01JD0000000000000000000000",
        "created_after=123",
        "created_after=null",
        "created_after=2026-03-01",
        "created_before=0001-01-01T00:00:00%2B01:00",
        "q=",
        "q=%00",
        "q=" + "x" * 256,
    ],
)
async def test_a_bad_value_is_400_and_never_ignored(api: Api, query: str) -> None:
    answer = await api.get(f"/api/v1/documents?{query}")
    assert (answer.status_code, list(answer.json())) == (400, ["error", "status"])


async def test_a_search_finds_letters_beyond_ascii_in_either_case(api: Api) -> None:
    await add(api, "Vertrag ÜBER Äpfel")
    for q in ("über", "ÜBER", "äpfel"):
        assert await titles(api, q=q) == ["Vertrag ÜBER Äpfel"]
