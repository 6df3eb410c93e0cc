"""The sketch of a draft, as the field editor reads and keeps it."""

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody

from deedbox.signing.actions.draw import draw_fields, load_sketch
from deedbox.signing.sketch import DrawnFields, Sketch
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest


class SketchRecord(Sketch, frozen=True, kw_only=True):
    version: int


class SavedSketch(msgspec.Struct, frozen=True):
    version: int


@get("/app/documents/{document_id:str}/sketch", opt=person("documents:write"), include_in_schema=False)
async def get_sketch(request: AnyRequest, document_id: FromPath[str]) -> SketchRecord:
    here = context.of(request)
    found = await here.deedbox.db.read(lambda tx: load_sketch(tx, here.caller.workspace_id, document_id))
    return SketchRecord(**msgspec.structs.asdict(found.sketch), version=found.version)


@put(
    "/app/documents/{document_id:str}/sketch",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.SKETCH_BYTES,
)
async def keep_sketch(request: AnyRequest, document_id: FromPath[str], data: JSONBody[DrawnFields]) -> SavedSketch:
    """The fields as they stand now: one row, so that it can be done after every move."""
    here, workspace_id = context.of(request), context.of(request).caller.workspace_id
    now = here.deedbox.clock.now()
    version = await here.deedbox.db.write(lambda tx: draw_fields(tx, workspace_id, document_id, data, now))
    return SavedSketch(version)


ROUTES = [get_sketch, keep_sketch]
