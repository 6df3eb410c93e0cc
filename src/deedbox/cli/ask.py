"""`deedbox ask`: the passages that answer a question, in the terminal; also beside a running server."""

import ipaddress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from deedbox.accounts import keys, store, workspaces
from deedbox.accounts.caller import Caller
from deedbox.cli import running_server
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError
from deedbox.kernel.settings import Settings
from deedbox.search import query
from deedbox.search.query import Mode, Passage
from deedbox.search.reader import Reader

_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class Place(msgspec.Struct, frozen=True):
    doc_id: str
    filename: str
    chunk_index: int
    page: int | None
    heading: str | None
    highlights: list[tuple[int, int]]


class Result(msgspec.Struct, frozen=True):
    chunk_id: str
    text: str
    score: float
    metadata: Place


class _Answer(msgspec.Struct, frozen=True):
    results: list[Result]


class _Refusal(msgspec.Struct, frozen=True):
    error: str


@click.command()
@data_option
@json_option
@click.option("--top-k", type=click.IntRange(1, limits.TOP_K_MAX), default=limits.TOP_K_DEFAULT, show_default=True)
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@click.argument("question")
def command(data_dir: Path | None, as_json: bool, top_k: int, mode: Mode, question: str) -> None:
    """Show the passages that answer QUESTION best, with their file and page."""
    text = question.strip()
    if not 1 <= len(text) <= limits.QUERY_CHARS:
        raise click.BadParameter(f"it must have 1 to {limits.QUERY_CHARS} characters", param_hint="QUESTION")
    settings = load(data_dir=data_dir)
    asked = query.Question(text, top_k=top_k, mode=mode, patient=True)
    found = run(settings, lambda deedbox: _ask(deedbox, settings, asked))
    if as_json:
        print_json({"query": text, "results": found})
        return
    for rank, passage in enumerate(found, 1):
        _show(rank, passage)
    if not found:
        click.echo("Nothing was found.")


def _show(rank: int, found: Result) -> None:
    place = found.metadata
    page = f", page {place.page}" if place.page else ""
    heading = f" – {place.heading}" if place.heading else ""
    click.echo(click.style(f"{rank}. {place.filename}{page}{heading}", bold=True) + f"  ({found.score:.2f})")
    for line in _marked(found.text, place.highlights).strip().splitlines():
        click.echo(f"   {line}")
    click.echo()


def _marked(text: str, highlights: list[tuple[int, int]]) -> str:
    """The text with its highlights in colour; click leaves the colour out where nobody sees it."""
    parts, end = [], 0
    for start, stop in highlights:
        parts += [text[end:start], click.style(text[start:stop], fg="yellow", bold=True)]
        end = stop
    return "".join([*parts, text[end:]])


async def _ask(deedbox: Any, settings: Settings, asked: query.Question) -> list[Result]:
    now = deedbox.clock.now()
    workspace = (await deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))).id
    async with running_server.is_absent(settings) as alone:
        if alone:
            passages = await query.answer(deedbox.search, Reader(workspace, documents=True), asked)
            return [_result(passage) for passage in passages]
    # The server has the index open, and only one process can: so it is asked, with a key of a minute.
    new = keys.NewKey(
        name="deedbox ask", scopes=["search:query", "documents:read"], expires_at=now + timedelta(minutes=1)
    )
    caller = workspaces.operator(workspace)
    made = await deedbox.db.write(lambda tx: keys.create(tx, caller, new, now=now))
    try:
        return await _ask_server(settings, made.plain.reveal(), asked)
    finally:
        await deedbox.db.write(lambda tx: _forget(tx, caller, made.record.id, now))


def _forget(tx: Tx, caller: Caller, key_id: str, now: datetime) -> None:
    keys.revoke(tx, caller, key_id, now=now)
    store.forget_key(tx, key_id)


async def _ask_server(settings: Settings, key: str, asked: query.Question) -> list[Result]:
    from deedbox.kernel.egress import Egress, Request

    if not settings.address_file.exists():
        raise DeedboxError("A server is starting or stopping on this data folder. Try again in a moment.")
    address = settings.address_file.read_text(encoding="utf-8")
    host = urlsplit(address).hostname or ""
    egress = Egress((*_LOOPBACK, *settings.egress_allow))
    try:
        answer = await egress.send(
            Request(
                "POST",
                f"{address}/query",
                headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
                body=msgspec.json.encode({"query": asked.text, "top_k": asked.top_k, "mode": asked.mode}),
                seconds=limits.QUERY_SECONDS,
                limit=limits.SANDBOX_MESSAGE_BYTES,
            )
        )
    finally:
        await egress.close()
    if answer.status != 200:
        try:
            raise DeedboxError(msgspec.json.decode(answer.body, type=_Refusal).error)
        except msgspec.DecodeError as error:
            raise DeedboxError(f"{host} answered with {answer.status}, and not as Deedbox does.") from error
    return msgspec.json.decode(answer.body, type=_Answer).results


def _result(passage: Passage) -> Result:
    upload, chunk = passage.upload, passage.chunk
    place = Place(upload.id, upload.filename, chunk.number, chunk.page, chunk.heading, passage.highlights)
    return Result(passage.id, chunk.text, passage.score, place)
