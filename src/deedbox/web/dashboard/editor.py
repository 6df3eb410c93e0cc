"""The field editor of a draft: its pages, the people who can be given a field, and the lines of text to snap to."""

from collections.abc import Iterator
from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.errors import NotFound, ServiceError
from deedbox.signing.action_context import packet_of
from deedbox.signing.actions.draw import DraftDrawing, load_sketch
from deedbox.signing.model import Document
from deedbox.signing.sketch import Sketch
from deedbox.web.dashboard import sheets
from deedbox.web.dashboard.initials import initials
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page, long_app_page, refusal_page
from deedbox.web.http.auth import person
from deedbox.web.http.blob_response import page_lines
from deedbox.web.http.context import AnyRequest


@get("/app/documents/{document_id:str}/fields", opt=person("documents:write"), include_in_schema=False)
async def editor(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """The pages of a draft, on which its sketch is drawn."""
    here = context.of(request)
    try:
        found = await here.deedbox.db.read(lambda tx: load_sketch(tx, here.caller.workspace_id, document_id))
    except ServiceError as error:
        return refusal_page(request, error)
    if not found.has_pages:
        return app_page(request, "dashboard/converting.html", found=found)
    pages = sum(file.pages for _, file in found.packet.files())
    return await long_app_page(request, pages, "dashboard/editor.html", **_values(found))


def _values(found: DraftDrawing) -> dict[str, Any]:
    path = _path(found.document)
    return {
        "title": found.sketch.title,
        "back": f"{path}/people",
        "people_path": f"{path}/people",
        "sketch_path": f"{path}/sketch",
        "lines_path": f"{path}/lines",
        "api_path": f"/api/v1/documents/{found.document.id}",
        "after": {"path": f"{path}/review", "label": WORDS["editor_after"]},
        "people": [*people_of(found.sketch)],
        "files": sheets.files_of([(file, _path(document)) for document, file in found.packet.files()]),
        "several": not found.packet.lone,
        "bounds": sheets.BOUNDS,
    }


def _path(document: Document) -> str:
    return f"/app/documents/{document.id}"


def people_of(sketch: Sketch) -> Iterator[dict[str, Any]]:
    """Who can be given a field: everyone who signs, and each group of several, any one of whom can fill it in."""
    stages = sorted({party.order for party in sketch.parties})
    number = 0
    for party in sketch.parties:
        signing = [one for one in party.signers if one.role == "signer"]
        stage = WORDS["editor_stage"].format(stage=stages.index(party.order) + 1) if len(stages) > 1 else ""
        for one in signing:
            note, group = stage or one.email, party.key if len(signing) > 1 else ""
            name = one.name or one.email or WORDS["editor_unnamed"]
            yield _someone(one.key, name, number, note) | {"within": group}
            number += 1
        if len(signing) > 1:
            yield _someone(party.key, party.name, number, WORDS["editor_group_means"]) | {"signs": False}
            number += 1


def _someone(key: str, name: str, number: int, note: str) -> dict[str, Any]:
    return {"key": key, "name": name, "initials": initials(name), "number": number, "note": note}


@get(
    "/app/documents/{document_id:str}/lines/{file_id:str}/{number:int}",
    opt=person("documents:write"),
    include_in_schema=False,
)
async def lines(
    request: AnyRequest, document_id: FromPath[str], file_id: FromPath[str], number: FromPath[int]
) -> Response[Any]:
    """The places of the lines of text on a page, to which the edges of fields snap."""
    here = context.of(request)
    packet = await here.deedbox.db.read(lambda tx: packet_of(tx, here.caller.workspace_id, document_id))
    document = next((one for one, file in packet.files() if file.id == file_id), packet.first)
    position, paper = sheets.position(document.files, file_id, number), document.paper_sha256
    if paper is None:
        raise NotFound("There is no such page")
    blob = await here.deedbox.db.read(lambda tx: blobs_store.demand(tx, paper))
    return await page_lines(request, blob, position)


ROUTES: list[Any] = [editor, lines]
