"""`deedbox verify`: whether a PDF is what was sealed, or an answer what was answered.

Needs no server, no data folder and no network."""

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click
import msgspec

from deedbox.cli import receipt, roots
from deedbox.cli.options import data_option, json_option, load, need_installation, print_json, run
from deedbox.evidence import file
from deedbox.kernel import limits, log
from deedbox.kernel.clock import SystemClock, instant
from deedbox.kernel.errors import ServiceError, SetupError
from deedbox.kernel.sandbox import SandboxKind
from deedbox.pdf.verify.report import GOOD, Checks, SealedParts, VerificationReport, with_records

EXIT = {"authentic": 0, "extended": 0, "altered": 1}
OTHERWISE = 2
MODULE = "deedbox.pdf.verify.verify_pdf"
PARTS = "deedbox.pdf.verify.parts"

MEANING = {
    "authentic": "this is what was sealed, every byte of it.",
    "extended": "this is what was sealed, every byte of it, and only data that keeps it verifiable was added later.",
    "altered": "this is not what was signed.",
    "unrecognised": "this is signed, but no trusted certificate vouches for the signer.",
    "unsigned": "this is not signed.",
    "unexplained": "this could not be checked against what was sealed.",
}
_COLOURS = {"authentic": "green", "extended": "green", "altered": "red"}
_SIGNS = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "yellow")}
CHECKS = {
    "intact": "every signature matches the file",
    "covers_entire_file": "the seal, or a later timestamp, covers every byte of the file",
    "modifications_allowed": "nothing was added after the seal except data that keeps it verifiable",
    "trusted": "its certificate chains to a trusted root",
    "revocation": "no certificate was revoked at the time of sealing",
    "timestamp": "a trusted timestamp proves the time",
    "known_to_us": "the records, or the evidence file, contain exactly this file",
    "audit_chain": "the audit trail is complete and matches the sealed one",
}
_BY_EVIDENCE = ("known_to_us", "audit_chain")

Anchors: TypeAlias = tuple[list[bytes], list[bytes], list[bytes]]
"""Trusted roots, revocation lists, and roots that are trusted for time-stamps only, in DER."""

pdf_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("pdf", metavar="FILE", type=pdf_file)
@click.option(
    "--evidence", type=pdf_file, metavar="FILE", help="The document's evidence file, checked against the PDF."
)
@click.option(
    "--root",
    "root_files",
    type=pdf_file,
    multiple=True,
    metavar="FILE",
    help="A root certificate to trust (PEM or DER); repeat for several. Default: the data folder's.",
)
@click.option(
    "--timestamp-root",
    "timestamp_root_files",
    type=pdf_file,
    multiple=True,
    metavar="FILE",
    help="A root certificate to trust for timestamps only, such as that of a timestamp authority; needs --root.",
)
@click.option(
    "--parts",
    "parts_dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also take the seal apart into this folder, for openssl: signature.p7s, signed-bytes, timestamp.tst.",
)
@click.option(
    "--at",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"]),
    metavar="DATE",
    help="Judge as of this time (UTC), such as 2035-01-01 or 2035-01-01T12:00:00Z. Default: now.",
)
@click.option("--replay", is_flag=True, help="Of an answer: ask its query again, at that state of the data folder.")
@data_option
@json_option
def command(**options: Any) -> None:
    """Say whether a PDF is what was sealed, or an answer with its receipt what was answered.

    Exit code: 0 authentic or extended, 1 altered, 2 anything else, also a replay with another answer."""
    as_json = options.pop("as_json")
    try:
        report, show = _judged(Options(**options))
    except SetupError as error:
        _fail(error.reason, error.next_step, as_json)
    except ServiceError as error:
        _fail(error.message, "", as_json)
    if as_json:
        print_json(report)
    else:
        show(options["pdf"], report)
    is_other = options["replay"] and not (report.replay and report.replay.same)
    sys.exit(OTHERWISE if is_other and report.verdict in GOOD else EXIT.get(report.verdict, OTHERWISE))


class Options(NamedTuple):
    pdf: Path
    evidence: Path | None
    root_files: tuple[Path, ...]
    timestamp_root_files: tuple[Path, ...]
    parts_dir: Path | None
    at: datetime | None
    replay: bool
    data_dir: Path | None

    @property
    def now(self) -> datetime:
        return self.at.replace(tzinfo=UTC) if self.at else SystemClock().now()


def _judged(asked: Options) -> tuple[Any, Callable[[Path, Any], None]]:
    """The report on the file, and what shows it: a PDF never begins as JSON does."""
    named = roots.read_roots(asked.root_files, asked.timestamp_root_files)
    if receipt.is_json(asked.pdf):
        if asked.evidence is not None or asked.parts_dir is not None:
            raise SetupError("--evidence and --parts are about PDFs, and this is none.", "Leave them out.")
        return receipt.examine(asked.pdf, named, asked.data_dir, replay=asked.replay, now=asked.now), receipt.show
    if asked.replay:
        raise SetupError("--replay is about answers with a receipt, and this is none.", "Leave it out.")
    report = _examine(asked.pdf, asked.evidence, named, asked.data_dir, asked.now)
    if asked.parts_dir is not None:
        take_apart(asked.pdf, asked.parts_dir)
    return report, _print


def _examine(
    pdf: Path, evidence: Path | None, named: roots.Named, data_dir: Path | None, now: datetime
) -> VerificationReport:
    """The report on the file, by the roots that are named, or else by those of the installation."""
    data = pdf.read_bytes()
    told = None if evidence is None else file.parse(evidence.read_bytes())
    if named.roots:
        anchors: Anchors = (named.roots, [], named.timestamp_roots)
        report = asyncio.run(_verified(data, anchors, now))
    else:
        report, anchors = _by_installation(data, data_dir, now)
    if not anchors[0] and report.verdict == "unrecognised":
        report.reasons.append(roots.NONE)
    return report if told is None else _with_evidence(report, told, data, anchors, now)


def take_apart(pdf: Path, folder: Path) -> None:
    """Writes what openssl can check by itself."""
    data = pdf.read_bytes()
    parts = msgspec.convert(asyncio.run(_in_sandbox(PARTS, "parts", data)), SealedParts)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "signature.p7s").write_bytes(parts.signature)
    (folder / "signed-bytes").write_bytes(data[: parts.start] + data[parts.end :])
    if parts.timestamp is not None:
        (folder / "timestamp.tst").write_bytes(parts.timestamp)
        (folder / "stamped-bytes").write_bytes(parts.value)


def _with_evidence(
    report: VerificationReport, told: file.Evidence, pdf: bytes, anchors: Anchors, now: datetime
) -> VerificationReport:
    reasons = file.problems(told)
    if report.verdict not in GOOD:
        # Without a seal to believe, evidence proves nothing but itself.
        return with_records(report, known_to_us=None, audit_chain=not reasons, reasons=reasons)
    if report.document_id not in (None, told.document.id):
        other = "The evidence file is that of another document."
        return with_records(report, known_to_us=False, audit_chain=None, reasons=[other])
    is_certificate = report.part == "certificate"
    if not is_certificate and not file.is_of(told, pdf):
        reasons.append("The PDF does not begin with the marked file that the evidence names.")
    if not file.is_sealed_in(told, report.chain_head):
        reasons.append("The audit trail in the evidence is not the one that was sealed into the PDF.")
    if not _is_vouched_for(report, told, anchors, now):
        reasons.append("The seal's certificate does not vouch for the evidence.")
    whole = not reasons
    if is_certificate:  # it was made after the evidence, which does not name it
        return with_records(report, known_to_us=None, audit_chain=whole, document_id=told.document.id, reasons=reasons)
    named = file.names(told, report.sealed_sha256 or "", report.seal_timestamp_sha256)
    if not named:
        reasons.append("The PDF is not the sealed file that the evidence names: its timestamp was replaced.")
    return with_records(
        report, known_to_us=named, audit_chain=whole and named, document_id=told.document.id, reasons=reasons
    )


def _is_vouched_for(report: VerificationReport, told: file.Evidence, anchors: Anchors, now: datetime) -> bool:
    from deedbox.pdf.verify import evidence_signature, judge

    content = file.vouched_bytes(told)
    return evidence_signature.is_vouched_for(content, told.signature, report, judge.Anchors(*anchors), now)


async def _verified(data: bytes, anchors: Anchors, now: datetime) -> VerificationReport:
    trusted, crls, timestamp_roots = anchors
    found = await _in_sandbox(MODULE, "verify", data, trusted, crls, instant(now), timestamp_roots)
    return msgspec.convert(found, VerificationReport)


def kind(module: str) -> SandboxKind:
    """The sandbox in which a module reads the file."""
    return SandboxKind(
        name="verify", preload=(module,), cpu_seconds=limits.VERIFY_CPU_SECONDS, seconds=limits.VERIFY_SECONDS
    )


async def _in_sandbox(module: str, function: str, *args: Any) -> Any:
    from deedbox.kernel.sandbox.pool import Sandbox

    sandbox = Sandbox(kind(module))
    try:
        return await sandbox.call(f"{module}:{function}", *args)
    finally:
        await sandbox.close()


def _by_installation(data: bytes, data_dir: Path | None, now: datetime) -> tuple[VerificationReport, Anchors]:
    """The report by what the data folder's installation trusts and has in its records; by nothing without one."""
    loaded = load(data_dir=data_dir)
    try:
        need_installation(loaded)
    except SetupError:
        if data_dir is not None:
            raise
        log.configure("error", "text")
        nothing: Anchors = ([], [], [])
        return asyncio.run(_verified(data, nothing, now)), nothing

    async def judged(deedbox: Any) -> tuple[VerificationReport, Anchors]:
        from deedbox.signing.completion import verify_sealed

        trusted: Anchors = tuple(await deedbox.certificates.trusted(None))
        report = await _verified(data, trusted, now)
        return await deedbox.db.read(lambda tx: verify_sealed.with_records(tx, None, report)), trusted

    return run(loaded, judged)


def _print(pdf: Path, report: VerificationReport) -> None:
    word = click.style(report.verdict, fg=_COLOURS.get(report.verdict, "yellow"), bold=True)
    click.echo(f"{pdf.name} is {word}: {MEANING[report.verdict]}")
    if report.part == "certificate":
        click.echo("  → It is the certificate of completion, not the document itself.")
    for line in [*report.reasons, *report.added]:
        click.echo(f"  → {line}")
    if report.verdict != "unsigned":
        _print_checks(report.checks)
    for one in report.signatures:
        click.echo(f"\n  {one.signer} ({one.level})")
        click.echo(f"    certificate   {one.certificate.subject}, until {one.certificate.not_after}")
        click.echo(f"    issued by     {one.certificate.issuer}")
        click.echo(f"    signed        {one.signing_time or 'at a time that it does not say'}")
        click.echo(f"    timestamped  {one.timestamp_time or 'no'}")
    click.echo(f"\n  SHA-256 {report.sha256}")


def _print_checks(checks: Checks) -> None:
    click.echo()
    for name, meaning in CHECKS.items():
        passed = getattr(checks, name)
        if passed is None and name in _BY_EVIDENCE:
            continue
        sign, colour = _SIGNS[passed]
        click.echo(f"  {click.style(sign, fg=colour)} {meaning}")


def _fail(reason: str, next_step: str, as_json: bool) -> None:
    if as_json:
        print_json({"error": reason, "next_step": next_step})
    else:
        click.echo(f"deedbox: {reason} {next_step}".rstrip(), err=True)
    sys.exit(OTHERWISE)
