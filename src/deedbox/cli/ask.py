"""`deedbox ask`: the passages that answer a question, or an answer of theirs; also beside a running server."""

import ipaddress
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import click
import msgspec

from deedbox.accounts import keys, store, workspaces
from deedbox.accounts.caller import Caller
from deedbox.cli import running_server
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.decoders import decoder
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.settings import Settings
from deedbox.search.answers.draft import UNSUPPORTED
from deedbox.search.answers.support import Sentence
from deedbox.search.library.reader import SearchReader
from deedbox.search.query import best_passages as query
from deedbox.search.query.best_passages import Mode, Passage

T = TypeVar("T", bound=msgspec.Struct)
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class AnswerLocation(msgspec.Struct, frozen=True):
    doc_id: str
    filename: str
    chunk_index: int
    page: int | None
    heading: str | None
    highlights: list[tuple[int, int]]


class AskResult(msgspec.Struct, frozen=True):
    chunk_id: str
    text: str
    score: float
    metadata: AnswerLocation


class _Found(msgspec.Struct, frozen=True):
    results: list[AskResult]


class WrittenAnswer(msgspec.Struct, frozen=True):
    """An answer in sentences, as the server gives it too."""

    answer: str
    found: bool
    complete: bool
    model: str | None
    sentences: list[Sentence]
    passages: list[AskResult]


class _Refusal(msgspec.Struct, frozen=True):
    error: str


_REFUSAL = msgspec.json.Decoder(_Refusal)


@click.command()
@data_option
@json_option
@click.option("--top-k", type=click.IntRange(1, limits.TOP_K_MAX), default=limits.TOP_K_DEFAULT, show_default=True)
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@click.option(
    "--answer",
    "in_sentences",
    is_flag=True,
    help="Have the model of DEEDBOX_CHAT_URL write an answer from the passages, with citations that are checked."
    " Without a model, the best sentences of the passages are the answer.",
)
@click.argument("question")
def command(data_dir: Path | None, as_json: bool, top_k: int, mode: Mode, in_sentences: bool, question: str) -> None:
    """Show the passages that answer QUESTION best, with their file and page."""
    text = question.strip()
    if not 1 <= len(text) <= limits.QUERY_CHARS:
        raise click.BadParameter(f"it must have 1 to {limits.QUERY_CHARS} characters", param_hint="QUESTION")
    if in_sentences and top_k > limits.ANSWER_PASSAGES_MAX:
        raise click.BadParameter(f"with --answer at most {limits.ANSWER_PASSAGES_MAX}", param_hint="--top-k")
    settings = load(data_dir=data_dir)
    asked = query.Question(text, top_k=top_k, mode=mode, patient=True)
    way: _Way[Any] = _IN_SENTENCES if in_sentences else _PASSAGES
    found = run(settings, lambda deedbox: _ask(deedbox, settings, asked, way))
    if as_json:
        print_json({"query": text, **way.shown(found)})
    elif in_sentences:
        _show_answer(found)
    else:
        _show_passages(found.results)


def _show_answer(written: WrittenAnswer) -> None:
    if not written.found:
        click.echo(click.style(written.answer, bold=True))
    for sentence in written.sentences:
        marks = "".join(f"[{number}]" for number in sentence.citations)
        click.echo(f"{sentence.text} {marks}".rstrip() if sentence.supported else _doubted(sentence))
    if not written.complete:
        click.echo(click.style("The model was cut off here.", fg="yellow"))
    click.echo()
    _show_passages(written.passages)


def _doubted(sentence: Sentence) -> str:
    return f"{sentence.text} {click.style(UNSUPPORTED, fg='red')}\n   {sentence.reason}"


def _show_passages(found: list[AskResult]) -> None:
    for rank, passage in enumerate(found, 1):
        _show(rank, passage)
    if not found:
        click.echo("No results found.")


def _show(rank: int, found: AskResult) -> None:
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


async def _ask(deedbox: Any, settings: Settings, asked: query.Question, way: "_Way[T]") -> T:
    now = deedbox.clock.now()
    workspace = (await deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))).id
    async with running_server.is_absent(settings) as alone:
        if alone:
            return await way.here(deedbox, SearchReader(workspace, documents=True), asked)
    # The server has the index open, and only one process can: so it is asked, with a key of a minute.
    new = keys.NewKey(
        name="deedbox ask", scopes=["search:query", "documents:read"], expires_at=now + timedelta(minutes=1)
    )
    caller = workspaces.operator(workspace)
    made = await deedbox.db.write(lambda tx: keys.create(tx, caller, new, now=now))
    try:
        return await _ask_server(settings, made.plain.reveal(), asked, way)
    finally:
        await deedbox.db.write(lambda tx: _forget(tx, caller, made.record.id, now))


def _forget(tx: Tx, caller: Caller, key_id: str, now: datetime) -> None:
    keys.revoke(tx, caller, key_id, now=now)
    store.forget_key(tx, key_id)


async def _ask_server(settings: Settings, key: str, asked: query.Question, way: "_Way[T]") -> T:
    from deedbox.kernel.egress import Egress, Request

    if not settings.address_file.exists():
        raise ServiceError("A server is starting or stopping on this data folder. Try again in a moment.")
    address = settings.address_file.read_text(encoding="utf-8")
    host = urlsplit(address).hostname or ""
    egress = Egress((*_LOOPBACK, *settings.egress_allow))
    try:
        answer = await egress.send(
            Request(
                "POST",
                f"{address}{way.path}",
                headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
                body=msgspec.json.encode({"query": asked.text, "top_k": asked.top_k, "mode": asked.mode}),
                seconds=way.seconds,
                limit=limits.SANDBOX_MESSAGE_BYTES,
            )
        )
    finally:
        await egress.close()
    if answer.status != 200:
        try:
            raise ServiceError(_REFUSAL.decode(answer.body).error)
        except msgspec.DecodeError as error:
            raise ServiceError(f"{host} answered with {answer.status}, and not as Deedbox does.") from error
    return decoder(way.kind).decode(answer.body)


async def _passages(deedbox: Any, reader: SearchReader, asked: query.Question) -> _Found:
    return _Found([_result(passage) for passage in await query.answer(deedbox.search, reader, asked)])


async def _sentences(deedbox: Any, reader: SearchReader, asked: query.Question) -> WrittenAnswer:
    written = await (await deedbox.answers.draft(reader, asked)).finished()
    passages = [_result(passage) for passage in written.passages]
    return WrittenAnswer(written.text, written.found, written.complete, written.model, written.sentences, passages)


def _result(passage: Passage) -> AskResult:
    upload, chunk = passage.upload, passage.chunk
    place = AnswerLocation(upload.id, upload.filename, chunk.number, chunk.page, chunk.heading, passage.highlights)
    return AskResult(passage.id, chunk.text, passage.score, place)


class _Way(msgspec.Struct, Generic[T], frozen=True):
    """A way to ask: in this process, or the server that has the index open."""

    here: Callable[[Any, SearchReader, query.Question], Awaitable[T]]
    kind: type[T]
    path: str
    seconds: float

    def shown(self, found: T) -> dict[str, Any]:
        return {name: getattr(found, name) for name in self.kind.__struct_fields__}


_PASSAGES = _Way(_passages, _Found, "/query", limits.QUERY_SECONDS)
_IN_SENTENCES = _Way(_sentences, WrittenAnswer, "/answer", limits.QUERY_SECONDS + limits.ANSWER_SECONDS)
