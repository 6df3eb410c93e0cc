"""Whether an answer is the one that its receipt was made for, and whether the library still answers so."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from deedbox.cli import roots
from deedbox.cli.options import load, need_installation, run
from deedbox.evidence import receipt
from deedbox.evidence.receipt import Receipted, ReceiptStatement
from deedbox.kernel.clock import SystemClock, instant
from deedbox.kernel.errors import BadRequest, SetupError
from deedbox.pdf.verify.report import Checks, Signature, Verdict

if TYPE_CHECKING:
    from deedbox.pdf.verify.judge import Anchors

MEANING = {
    "authentic": "this is what was answered, to the last character.",
    "altered": "this is not what was answered.",
    "unrecognised": "this is signed, but no trusted certificate vouches for the signer.",
}
CHECKS = {
    "intact": "the receipt's signature and timestamp match",
    "covers_entire_file": "the answer is the one that was signed",
    "trusted": "its certificate chains to a trusted root",
    "revocation": "no certificate was revoked when it signed",
    "timestamp": "a trusted timestamp proves the time",
}
_SIGNS = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "yellow")}


class Replay(Struct):
    same: bool | None
    """Whether the library answers the same, but for the time it takes; null if it cannot be asked."""
    reasons: list[str]
    """What is another, and what has changed since; or why it cannot be asked."""


class ReceiptReport(Struct, kw_only=True):
    verdict: Verdict
    sha256: str
    """Of the receipt."""
    checks: Checks
    signatures: list[Signature]
    reasons: list[str]
    statement: ReceiptStatement | None = None
    """What was signed."""
    replay: Replay | None = None


def is_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(64).lstrip().startswith(b"{")


def examine(path: Path, named: roots.Named, data_dir: Path | None, *, replay: bool, now: datetime) -> ReceiptReport:
    """The report on the file, by the roots that are named, or else by those of the installation."""
    from deedbox.pdf.verify.judge import Anchors

    held = receipt.split(path.read_bytes())
    by_name = Anchors(named.roots, (), named.timestamp_roots) if named.roots else None
    if by_name and not replay:
        return judge_receipt(held, by_name, now)
    loaded = load(data_dir=data_dir)
    try:
        need_installation(loaded)
    except SetupError:
        if replay or data_dir is not None:
            raise
        report = judge_receipt(held, Anchors([]), now)
        report.reasons.append(roots.NONE)
        return report

    async def by_installation(deedbox: Any) -> ReceiptReport:
        trusted = by_name or Anchors(*await deedbox.certificates.trusted(None))
        report = judge_receipt(held, trusted, now)
        if replay and report.verdict == "authentic":
            await _replay(deedbox, held, report)
        return report

    return run(loaded, by_installation)


def judge_receipt(held: Receipted, anchors: "Anchors", now: datetime | None = None) -> ReceiptReport:
    """The judgement on the receipt and the answer beside it."""
    from deedbox.pdf.seal import jws
    from deedbox.pdf.verify.report import overall_verdict as verdict_of

    found = jws.judge(held.receipt, held.timestamp, receipt.TYPE, anchors, now or SystemClock().now())
    told, checks = found.report, found.report.checks
    report = ReceiptReport(
        verdict=told.verdict, sha256=told.sha256, checks=checks, signatures=told.signatures, reasons=told.reasons
    )
    if found.payload is None or found.at is None:
        return report
    try:
        report.statement = receipt.parse(found.payload)
        problems = receipt.problems(report.statement, held.answer)
        if report.statement.issued_at != instant(found.at):
            problems.append("The timestamp is not the one created with the receipt.")
    except BadRequest as error:
        problems = [error.message]
    if problems:
        report.checks = msgspec.structs.replace(checks, covers_entire_file=False, modifications_allowed=False)
        report.verdict, report.reasons = verdict_of(report.checks), [*problems, *report.reasons]
    return report


async def _replay(deedbox: Any, held: Receipted, report: ReceiptReport) -> None:
    """Asks again. Another answer does not make the receipt less true: libraries change."""
    from deedbox.search.query import replay
    from deedbox.web.api_search.query import answer_of

    statement = report.statement
    assert statement is not None  # noqa: S101 (it is authentic)
    try:
        question, found = await replay.replay(deedbox.search, deedbox.settings, statement)
    except replay.NoReplay as error:
        report.replay = Replay(None, [error.message])
        return
    again = msgspec.json.decode(msgspec.json.encode(answer_of(question, found, 0.0)))
    differences = replay.differences(held.answer, again)
    if not differences:
        report.replay = Replay(True, [])
        return
    reasons = await replay.reasons(deedbox.search, statement)
    report.replay = Replay(False, [*differences, *reasons])


def show(path: Path, report: ReceiptReport) -> None:
    colour = {"authentic": "green", "altered": "red"}.get(report.verdict, "yellow")
    word = click.style(report.verdict, fg=colour, bold=True)
    click.echo(f"{path.name} is {word}: {MEANING[report.verdict]}")
    for line in report.reasons:
        click.echo(f"  → {line}")
    click.echo()
    for name, meaning in CHECKS.items():
        _show_check(getattr(report.checks, name), meaning)
    if report.replay is not None:
        _show_check(report.replay.same, "asked again, the library answers the same, byte for byte")
        for line in report.replay.reasons:
            click.echo(f"    → {line}")
    if report.statement is not None:
        _show_statement(report, report.statement)


def _show_check(passed: bool | None, meaning: str) -> None:
    sign, colour = _SIGNS[passed]
    click.echo(f"  {click.style(sign, fg=colour)} {meaning}")


def _show_statement(report: ReceiptReport, told: ReceiptStatement) -> None:
    for one in report.signatures:
        click.echo(f"\n  {one.signer}")
        click.echo(f"    certificate   {one.certificate.subject}, until {one.certificate.not_after}")
        click.echo(f"    issued by     {one.certificate.issuer}")
        click.echo(f"    timestamped  {one.timestamp_time}")
    click.echo(f"\n  “{told.query}”, answered at change {told.watermark} of the index")
    for found in told.results:
        code = f"  sealed: {found.verification_code}" if found.verification_code else ""
        click.echo(f"  {found.rank}. {found.chunk_id}  {found.score:.4f}  file {found.file_sha256}{code}")
