"""README's table of figures: its rows and their wording. The figures come from bench/figures.json."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import NamedTuple

import msgspec

from bench.measure import ROOT

KEPT = ROOT / "bench" / "figures.json"
BEGIN, END = "<!-- figures, written by make bench -->", "<!-- end of figures -->"
RUNS: Mapping[str, tuple[str, ...]] = {
    "request": ("request",),
    "freeze": ("freeze",),
    "title_search": ("title_search",),
    "contention": ("contention",),
    "claims": ("claims",),
    "write": ("write",),
    "start": ("start",),
    "pages": ("pages",),
    "ocr": ("ocr",),
    "ingest": ("ingest",),
    "query": ("query",),
    "whole_query": ("whole_query",),
    "indexes": ("indexes",),
    "cold_start": ("cold_start",),
    "seal": ("seal",),
    "files": ("files",),
    "lifecycle": ("lifecycle",),
    "lifecycle_postgres": ("lifecycle", "--postgres"),
    "bulk": ("bulk",),
    "bulk_postgres": ("bulk", "--postgres"),
    "scale": ("scale",),
    "webhooks": ("webhooks",),
    "weight": ("weight",),
    "pages_served": ("pages_served",),
    "editor_frames": ("editor_frames",),
}
"""What `make bench` runs, by name: a bench, and its arguments. Benches that need judged texts or other models
are run by hand."""


class Measured(msgspec.Struct, forbid_unknown_fields=True):
    """The figures of one run on one machine."""

    commit: str
    machine: str
    figures: dict[str, str]


class Row(NamedTuple):
    """A row of the table: the run that it reports, and its cells with named figures."""

    run: str
    what: str
    ours: str
    beside: str

    @property
    def names(self) -> set[str]:
        """The names of the figures in the row."""
        return {name for cell in self[1:] for _, name, _, _ in Formatter().parse(cell) if name is not None}


ROWS: Sequence[Row] = (
    Row(
        "request",
        "CPU per request for a list of 25 out of 200,000 documents",
        "{cpu}",
        "{bare} a bare ASGI app with the same SQL; CPU of FastAPI with SQLAlchemy: {fastapi}",
    ),
    Row(
        "query",
        "hybrid query over 100,000 chunks, without embedding",
        "{hybrid}, recall@10 {recall}",
        "time of LanceDB: {lancedb}; of Chroma (vectors and texts only): {chroma}",
    ),
    Row(
        "ingest",
        "chunks embedded per second",
        "{rate}",
        "ratio to sentence-transformers: {peer}; through the whole server, {whole} of the rate remains",
    ),
    Row("seal", "seals per second on one core, {size}", "{rate}", "stock pyHanko {pyhanko}"),
    Row(
        "lifecycle",
        "create, send, sign twice, seal and verify document and certificate, add to the library without a model to"
        " index it",
        "{time}, {cpu} of CPU",
        "the PDF work alone takes {bare} of CPU",
    ),
    Row(
        "lifecycle_postgres",
        "the same on PostgreSQL",
        "{time}, {cpu} of CPU",
        "the PDF work alone takes {bare} of CPU; PostgreSQL's own CPU is not counted",
    ),
    Row(
        "bulk",
        "rows of a bulk send per second (document sent, invitation queued)",
        "{rate}, {memory} more",
        "rate of bare inserts of the same rows: {bare}; meanwhile, at p99, another caller's send takes {send} as long"
        " ({send_p99}), a list {list} ({list_p99})",
    ),
    Row("bulk_postgres", "the same on PostgreSQL", "{rate}", "rate of bare inserts of the same rows: {bare}"),
    Row(
        "scale",
        "requests per second with {servers} servers on one PostgreSQL, all sharing {cores} cores with their clients",
        "{server_rates}",
        "{server_cpu} of CPU per request, including PostgreSQL's",
    ),
    Row(
        "scale",
        "documents sealed per second with {workers} workers on one PostgreSQL, all sharing {cores} cores with their"
        " clients",
        "{worker_rates}",
        "{worker_cpu} of CPU per document, including PostgreSQL's",
    ),
    Row(
        "webhooks",
        "webhooks per second to one endpoint, signed and recorded",
        "{rate}, {delay} from commit to arrival",
        "{crowded} with 100 dead endpoints; bare posts {bare}",
    ),
    Row(
        "write",
        "durable writes per second, 32 clients, a disk that flushes in {flush}",
        "{rate}",
        "{single} one flush per write",
    ),
    Row("start", "start to healthy", "{start}", "limit {limit}"),
    Row(
        "pages_served",
        "the page that lists documents, out of 200,000",
        "{page}",
        "{list} the CPU of the API's list; filtered by a person with 50,000 of them {person}, searched by title"
        " {searched}, both {both}; a year of usage {usage}; limit {limit}",
    ),
    Row(
        "editor_frames",
        "dragging one of 200 fields on 80 pages, on a quarter of this machine's CPU",
        "{cpu} of CPU per frame, {over}",
        "limit {limit} (60 frames a second)",
    ),
    Row(
        "weight",
        "the signing page on a phone over 4G, on a quarter of this machine's CPU",
        "{size}, usable after {ready}",
        "pdf.js in the browser: weight {weight}, wait {wait}",
    ),
    Row(
        "freeze",
        "`/livez` while 20 invalid bodies of 8 MB arrive at once, with and without key or cookie",
        "p99 {p99}, memory + {memory}",
        "limits 100 ms and 100 MB",
    ),
)


def kept() -> dict[str, list[Measured]]:
    """Return the measurements by run, one entry for each machine."""
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, list[Measured]])


def replace(measurements: Sequence[Measured], new: Measured) -> list[Measured]:
    """Return the measurements with the new one in place of the same machine's older one."""
    return sorted([*(one for one in measurements if one.machine != new.machine), new], key=lambda one: one.machine)


def rendered(measured: Mapping[str, Sequence[Measured]]) -> str:
    """Return the table; a row that was not measured is left out."""
    return "\n".join([BEGIN, "", *_lines(measured), "", END])


def _lines(measured: Mapping[str, Sequence[Measured]]) -> Iterator[str]:
    yield "| figure | Deedbox | comparison | machine | commit |"
    yield "|---|---|---|---|---|"
    for row in ROWS:
        before = ""
        for found in measured.get(row.run, ()):
            what, *cells = (cell.format_map(found.figures) for cell in (row.what, row.ours, row.beside))
            shown, before = "" if what == before else what, what
            yield f"| {' | '.join([shown, *cells])} | {found.machine} | `{found.commit}` |"


def replaced(readme: str, table: str) -> str:
    """Return the README with this table."""
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: table, readme, flags=re.DOTALL)


def write(readme: Path, measured: Mapping[str, Sequence[Measured]]) -> None:
    """Store the figures and put them into the README."""
    text = json.dumps(msgspec.to_builtins(measured), ensure_ascii=False, indent=1, sort_keys=True)
    KEPT.write_text(text + "\n", encoding="utf-8")
    readme.write_text(replaced(readme.read_text(encoding="utf-8"), rendered(measured)), encoding="utf-8")
