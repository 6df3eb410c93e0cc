"""After the last kill, when every job is done: what the clients were told, held against what is there."""

import asyncio
import ssl
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pypdfium2

from tests.faults.consistency import Signer, Story, contradictions, stories
from tests.faults.installation import Installation
from tests.faults.ledger import Ledger, Told
from tests.faults.signers import PAPER, Doors, at_turn
from tests.faults.together import batch_faults, packet_faults
from tests.pdf import oracles

JUDGED_BY_OTHERS = 5
"""Sealed files that are also shown to pdfsig."""
_WAITING = (
    "select count(*) from jobs where kind in ('finalize', 'certify_packet', 'bulk_send')"
    " and state in ('ready', 'running') and (error is null or attempts < 2)"
)
"""What fails a second time, though nobody kills it any more, would only be tried for hours."""


class Report(msgspec.Struct):
    figures: dict[str, int]
    faults: list[str]
    """Sentences, each after the word for what kind of fault it is."""

    def amiss(self, *kinds: str) -> int:
        return sum(fault.startswith(tuple(f"{kind}:" for kind in kinds)) for fault in self.faults)

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {number}" for name, number in self.figures.items())
        kinds = Counter(fault.split(":")[0] for fault in self.faults)
        return f"{figures}; faults: {dict(kinds) or 0}"


async def drained(installation: Installation) -> None:
    """Waits until everything that was to be sent or sealed is so, or was given up."""
    while installation.rows(_WAITING)[0][0]:
        await asyncio.sleep(0.2)


async def examined(installation: Installation, doors: Doors, ledger: Ledger) -> Report:
    """What is amiss once every document is sealed that was to be."""
    await drained(installation)
    found = stories(installation)
    faults = [*ledger.faults, *(f"half-applied: {each}" for one in found.values() for each in contradictions(one))]
    faults += [f"stuck: {story.id}" for story in found.values() if story.status == "finalizing"]
    faults += [*_held_against(ledger, found), *packet_faults(installation), *batch_faults(installation)]
    faults += _batches_held_against(ledger, installation)
    completed = [story for story in found.values() if story.status == "completed"]
    async with doors:
        for number, story in enumerate(completed):
            faults += [f"unsealed: {each}" async for each in _sealed(doors, story, thorough=number < JUDGED_BY_OTHERS)]
    if installation.integrity() != "ok":
        faults.append(f"corrupt: {installation.integrity()}")
    if "database is locked" in installation.log():
        faults.append("failed: the database was locked")
    return Report(_figures(ledger, found), faults)


def _figures(ledger: Ledger, found: dict[str, Story]) -> dict[str, int]:
    names = ("kills", "done", "refused", "unknown", "retried", "replayed")
    figures = {name: ledger.count[name] for name in names}
    figures["packets"] = sum(place.startswith("/api/v1/packets") for place in ledger.places.values())
    figures["batches"] = len(ledger.batches)
    figures["documents"] = len(found)
    figures["signatures"] = sum(len(story.having("signed")) for story in found.values())
    return figures | Counter(story.status for story in found.values())


def _held_against(ledger: Ledger, found: dict[str, Story]) -> Iterator[str]:
    by_title: dict[str, list[Story]] = defaultdict(list)
    for story in found.values():
        by_title[story.title].append(story)
    about = _tales(ledger)
    for title, there in by_title.items():
        whole = title.partition(",")[0]
        tales = about[whole] + (about[title] if title != whole else [])
        if len(there) > 1:
            yield f"doubled: {title}"
        elif tales:
            yield from (f"{each} ({title})" for each in _differences(there[0], tales))
        else:
            yield f"half-applied: nobody asked for {title}"
    for title, tales in about.items():
        parts = _parts(title, tales)
        missing = [part for part in parts if not by_title[part]]
        if missing and (len(missing) < len(parts) or any(one.outcome == "done" for one in tales)):
            yield f"lost: {missing}"


def _tales(ledger: Ledger) -> dict[str, list[Told]]:
    about: dict[str, list[Told]] = defaultdict(list)
    for told in ledger.settled():
        about[told.asked.title].append(told)
    return about


def _parts(title: str, tales: list[Told]) -> list[str]:
    """The titles of the documents that were asked for; of a bulk send none, because it may be canceled."""
    for body in (told.asked.body for told in tales if told.asked.act.startswith("create")):
        return [one["title"] for one in body.get("documents", [] if "rows" in body else [body])]
    return [title]


def _batches_held_against(ledger: Ledger, installation: Installation) -> Iterator[str]:
    there = dict(installation.rows("select name, status from bulk_sends"))
    for name, tales in _tales(ledger).items():
        if not any(told.asked.body and "rows" in told.asked.body for told in tales):
            continue
        acts = {act: {told.outcome for told in tales if told.asked.act == act} for act in ("create and send", "cancel")}
        if name not in there:
            if "done" in acts["create and send"]:
                yield f"lost: the bulk send {name}"
        elif acts["create and send"] == {"refused"}:
            yield f"half-applied: the bulk send {name} was refused"
        elif "done" in acts["cancel"] and there[name] != "canceled":
            yield f"lost: the bulk send {name} was canceled, and is {there[name]}"
        elif there[name] == "canceled" and not acts["cancel"] & {"done", "unknown"}:
            yield f"half-applied: the bulk send {name} is canceled, and nobody was told so"


def _differences(story: Story, tales: list[Told]) -> Iterator[str]:
    """Where one document is not as its clients were told."""
    yield from _of_moves(story, tales)
    yield from _of_people(story, tales)
    ends = {end for told in tales if told.outcome == "done" and (end := _end_told(told)) is not None}
    if len(ends) > 1:
        yield f"two ends: {sorted(ends)} were acknowledged"
    if ends and story.status not in ends:
        yield f"lost: {sorted(ends)} was acknowledged, and it is {story.status}"


def _end_told(told: Told) -> str | None:
    """The end that an answer has announced."""
    if told.asked.act == "void":
        return "voided"
    status = told.answer.get("document_status")
    return {"finalizing": "completed", "declined": "declined"}.get(status)


def _of_moves(story: Story, tales: list[Told]) -> Iterator[str]:
    happened = {"create": True, "send": story.sent_at is not None, "void": story.status == "voided"}
    for act, there in happened.items():
        outcomes = {told.outcome for told in tales if act in told.asked.act.split(" and ")}
        if "done" in outcomes and not there:
            yield f"lost: {act} was acknowledged"
        if there and not outcomes & {"done", "unknown"}:
            yield f"half-applied: {act} was refused, and happened"
    reminded = [told for told in tales if told.asked.act == "remind" and told.outcome == "done"]
    if len(story.acts("signer.reminded")) < sum(len(at_turn(told.answer)) for told in reminded):
        yield "lost: a reminder was acknowledged"


def _of_people(story: Story, tales: list[Told]) -> Iterator[str]:
    for signer in story.signers:
        own = [told for told in tales if told.asked.signer_id == signer.id]
        for act, status in (("complete", "signed"), ("decline", "declined")):
            outcomes = Counter(told.outcome for told in own if told.asked.act == act)
            if outcomes["done"] and signer.status != status:
                yield f"lost: {signer.email} was told to have {status}, and is {signer.status}"
            if signer.status == status and not outcomes["done"] + outcomes["unknown"]:
                yield f"half-applied: {signer.email} has {status}, and was refused it"
            if outcomes["done"] > 1:
                yield f"two ends: {signer.email} was told to have {status} twice"
        links = Counter(told.outcome for told in own if told.asked.act == "link")
        if not links["done"] <= story.links["embedded", signer.id] <= links["done"] + links["unknown"]:
            yield f"half-applied: links of {signer.email} are not those that were asked for"
        yield from _of_mark(signer, [told for told in own if told.asked.act == "complete"])


def _of_mark(signer: Signer, tries: list[Told]) -> Iterator[str]:
    """The signature that was acknowledged is the one that is kept; else any that may have been done, or none."""
    done = [told.asked.body["signature"]["text"] for told in tries if told.outcome == "done"]
    unknown = [told.asked.body["signature"]["text"] for told in tries if told.outcome == "unknown"]
    kept = msgspec.json.decode(signer.signature)["text"] if signer.signature else None
    if kept not in (done or [*unknown, None]):
        yield f"lost: {signer.email} signed as {done}, and {kept} is kept"


async def _sealed(doors: Doors, story: Story, *, thorough: bool) -> AsyncIterator[str]:
    """What is wrong with the files of a completed document, each as a sentence."""
    address = f"/api/v1/documents/{story.id}"
    files = {
        name: await doors.sender.get(f"{address}/{name}") for name in ("file", "signed", "certificate", "evidence")
    }
    for name, answer in files.items():
        if answer.status_code != 200:
            yield f"{story.id}: its {name} is answered {answer.status_code} {answer.text}"
            return
    if files["file"].content != PAPER:
        yield f"{story.id}: the original is not what was sent"
    sealed = files["signed"].content
    report = (await doors.sender.post("/api/v1/verify", files={"file": ("sealed.pdf", sealed)})).json()
    if (report.get("verdict"), report.get("document_id")) != ("authentic", story.id):
        yield f"{story.id}: {report}"
    shown, evidence = _text(sealed), files["evidence"].text
    for signer in story.having("signed"):
        mark = msgspec.json.decode(signer.signature or "{}")["text"]
        if mark not in shown or f'"{mark}"' not in evidence:
            yield f"{story.id}: the signature {mark} is not in what was sealed"
    if thorough:
        root = ssl.PEM_cert_to_DER_cert((await doors.public.get("/ca.pem")).text)
        with tempfile.TemporaryDirectory() as folder:
            said = oracles.pdfsig(sealed, root, Path(folder))
        if said != oracles.GOOD:
            yield f"{story.id}: pdfsig says {said}"


def _text(pdf: bytes) -> str:
    with pypdfium2.PdfDocument(pdf) as opened:
        return "\n".join(page.get_textpage().get_text_range() for page in opened)
