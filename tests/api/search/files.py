"""Files to upload, how to upload them, and what they leave behind."""

from pathlib import Path
from typing import Any

import httpx

from deedbox.kernel.db import Tx
from deedbox.search.chunks import store as chunk_store
from deedbox.search.library import store
from deedbox.search.library.upload import Chunk
from tests.api.conftest import Api
from tests.kinds import kinds

TEXT = b"The tenant pays the rent on the first of the month."
BOUNDARY = "a-boundary-of-ours"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def part(data: bytes = TEXT, disposition: str = 'form-data; name="file"; filename="a.txt"') -> bytes:
    """One part of a form, with its own boundary line before it."""
    return f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + data + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts or (part(),)) + f"--{BOUNDARY}--\r\n".encode()


async def upload(api: Api, data: bytes = TEXT, name: str = "a.txt", **request: Any) -> httpx.Response:
    return await api.call("POST", "/documents/upload", files={"file": (name, data)}, **request)


async def replace(api: Api, doc_id: str, data: bytes, name: str = "a.txt", **request: Any) -> httpx.Response:
    return await api.call("PUT", f"/documents/{doc_id}", files={"file": (name, data)}, **request)


async def send(api: Api, body: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    """Posts these very bytes to the upload."""
    return await api.call("POST", "/documents/upload", content=body, headers={**FORM, **(headers or {})})


async def doc_id(api: Api, data: bytes = TEXT, name: str = "a.txt", **request: Any) -> str:
    answer = await upload(api, data, name, **request)
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["doc_id"]
    return found


async def index_as(api: Api, upload_id: str, *texts: str, recipe: str = "recipe", workspace: str = "") -> None:
    """Gives an upload these chunks, as an index run does."""
    place = workspace or api.workspace

    def write(tx: Tx) -> None:
        found = store.upload(tx, place, upload_id)
        assert found is not None
        made, start = [], 0
        for number, text in enumerate(texts):
            made.append((Chunk(number, text, start, start + len(text), None, None), b"\0" * 16))
            start += len(text)
        set_id = f"set_{upload_id}_{found.revision}"
        chunk_store.add_chunk_set(tx, set_id, found, recipe, made, found.created_at)
        store.change_upload(tx, upload_id, {}, {"status": "indexed"})
        chunk_store.serve(tx, place, recipe)
        chunk_store.log_change(tx, place, recipe, upload_id, set_id)

    await api.deedbox.db.write(write)


async def rows(api: Api) -> dict[str, int]:
    """How many rows there are of everything that an upload leaves behind."""
    tables = ("uploads", "extractions", "blobs", "blob_refs", "chunk_sets", "chunks")
    return {table: (await api.rows(f"select count(*) from {table}"))[0][0] for table in tables}


def stored(data_dir: Path) -> list[str]:
    """The files of an installation, under the folder of blobs or in its bucket."""
    return kinds.stored(data_dir)


def pdf(*pages: str, size: tuple[int, int] = (300, 200)) -> bytes:
    """A PDF with a line of text on each page."""
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    bodies = [b"<</Type/Catalog/Pages 2 0 R>>", b"", font]
    kids = []
    for text in pages:
        content = f"BT /F1 14 Tf 20 100 Td ({text}) Tj ET".encode()
        bodies.append(b"<</Length %d>>stream\n%b\nendstream" % (len(content), content))
        kids.append(len(bodies) + 1)
        bodies.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>>>>>"
            % (*size, len(bodies))
        )
    names = b" ".join(b"%d 0 R" % kid for kid in kids)
    bodies[1] = b"<</Type/Pages/Kids[%b]/Count %d>>" % (names, len(kids))
    return _with_table(bodies)


def _with_table(bodies: list[bytes]) -> bytes:
    made, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(bodies) + 1
    return made + b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        table,
        size,
        len(made),
    )
