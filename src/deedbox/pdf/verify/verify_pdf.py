"""Whether a PDF is what was sealed. Only to be run in a sandbox, or by a command that judges one file and ends.

Two verdicts say that it is, and both come from a strict reader of our own: `authentic` for a file that is byte for byte
what Deedbox wrote (`sealed_form`, `judge`), `extended` for one that is followed by validation data or document
time-stamps alone (`extension`). Everything else goes to general readers, pyHanko and qpdf: what they find describes
others' signatures and explains what is wrong, and is never a reason to call a file authentic.
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from deedbox.kernel.clock import SystemClock, instant, moment
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.seal import gap, timestamp
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.verify import appended_revision, changes, extension, judge, sealed_form, signed_data
from deedbox.pdf.verify.appended_revision import Appended
from deedbox.pdf.verify.examine import Examined, describe, examine
from deedbox.pdf.verify.extension import Stamp
from deedbox.pdf.verify.judge import Anchors
from deedbox.pdf.verify.report import GOOD, NOT_PDF, Checks, Signature, VerificationReport, overall_verdict
from deedbox.pdf.verify.sealed_form import SealedForm
from deedbox.pdf.verify.signatures import Structure, structure
from deedbox.pdf.verify.trust import TooMuchWork, Trust

_SAVED_ANEW = (
    "If another program only saved it again, its content may be unchanged, but that can no"
    " longer be proven. Ask for the sealed file itself, and share only that file."
)
_ADDED_AFTER_SEAL = "Something was added to the file after it was sealed."
_ADDED_AFTER_SIGNING = "Something was added to the file after it was signed."
_NOT_JUDGED = (
    "Something was added to the file after it was signed, and this server cannot tell whether it changes the document."
)
_OTHER_FORM = (
    "Validation data or a document timestamp was added after sealing, in a form that Deedbox does not accept. Deedbox"
    " accepts additions exactly as pyHanko writes them. How Acrobat writes them is not documented, so a change could"
    " hide among Acrobat's additions."
)
_BEGINNING = (
    "The first {size} bytes of this file are a sealed file with a genuine seal. Save them as a separate file and check"
    " that one."
)
_HEADER, _HEADER_WITHIN = b"%PDF-", 1024
"""What a PDF begins with, and within how many bytes readers look for it."""

T = TypeVar("T")


def verify(
    pdf: bytes,
    roots: Sequence[bytes],
    crls: Sequence[bytes] = (),
    now: str | None = None,
    timestamp_roots: Sequence[bytes] = (),
) -> VerificationReport:
    """The report on a file, by these trusted roots and revocation lists, all in DER; `now` is an Instant.

    `timestamp_roots` are trusted for time-stamps only."""
    data = bytes(pdf)
    at = SystemClock().now() if now is None else moment(now)
    try:
        return _judged(data, Anchors(roots, crls, timestamp_roots), at)
    except TooMuchWork as error:
        sha256 = hashlib.sha256(data).hexdigest()
        return VerificationReport(verdict="unexplained", sha256=sha256, checks=Checks(), reasons=[error.message])


def _judged(data: bytes, anchors: Anchors, at: datetime) -> VerificationReport:
    try:
        form, later = _taken_apart(data)
    except Malformed as error:
        return _general(data, anchors, at, str(error))
    report = _sealed(data[: form.size_bytes], form, anchors, at)
    return _extended(data, report, form, later, anchors) if later else report


def _strictly(read: Callable[..., T], *args: Any) -> T:
    """What a strict reader finds. One that stumbles over a value of another kind than it knows has found none."""
    try:
        return read(*args)
    except Malformed:
        raise
    except (TypeError, KeyError, AttributeError, IndexError, ValueError) as error:
        raise Malformed("A value is of another kind than is written here") from error


def _taken_apart(data: bytes) -> tuple[SealedForm, list[Appended]]:
    """The sealed file, and the revisions after it; Malformed if there is none in its one form."""
    later: list[Appended] = []
    while True:
        try:
            return _strictly(sealed_form.read, data), later[::-1]
        except Malformed:
            if len(later) >= limits.SEAL_EXTENSIONS:
                raise
            later.append(_strictly(appended_revision.read, data))
            data = data[: later[-1].start]


def _sealed(data: bytes, form: SealedForm, anchors: Anchors, now: datetime) -> VerificationReport:
    digest = hashlib.sha256()
    for start, end in form.signed:
        digest.update(memoryview(data)[start:end])
    return judge.seal_report(form, hashlib.sha256(data).hexdigest(), digest.digest(), anchors, now)


def _extended(
    data: bytes, report: VerificationReport, form: SealedForm, later: list[Appended], anchors: Anchors
) -> VerificationReport:
    """The report on a file that goes on after its seal."""
    report.sha256 = hashlib.sha256(data).hexdigest()
    good = report.verdict in GOOD
    begins = [_BEGINNING.format(size=form.size_bytes)] if good else []
    try:
        before = changes.before(data[: form.size_bytes])
        found = _strictly(extension.read, form, later, before)
        trust = anchors.with_data([*form.order.certificates, *found.certificates], [*form.order.crls, *found.crls])
        shown = [_stamped(data, stamp, trust, demanded=good) for stamp in found.stamps]
    except (Malformed, BadRequest) as error:
        why = error.message if isinstance(error, BadRequest) else f"{error}."
        report.checks.modifications_allowed = report.checks.covers_entire_file = False
        report.verdict, report.document_id, report.part = "altered", None, None
        report.reasons = [*report.reasons, _ADDED_AFTER_SEAL, why, *begins]
        return report
    if not found.stamps or found.stamps[-1].covered != len(data):
        report.checks.covers_entire_file = None  # validation data came last: it proves itself, and nobody signs it
    report.signatures += shown
    report.added = [*found.added, *(f"A document timestamp from {one.timestamp_time}." for one in shown)]
    report.verdict = overall_verdict(report.checks, "extended")
    return report


def _stamped(data: bytes, stamp: Stamp, trust: Trust, *, demanded: bool) -> Signature:
    """A document time-stamp as the report shows it; Malformed if it is not true, or trust is demanded in vain."""
    place = gap.Gap(stamp.start, stamp.end, stamp.covered)
    token = timestamp.read(gap.contents(data, place), lambda name: gap.digest(data, place, name), exact=False)
    path = judge.token_path(token, trust)
    if demanded and not path:
        raise Malformed(f"The timestamp that was added at {instant(token.at)} is not trusted here: {path.reason}")
    return judge.describe(token.signer, "document time-stamp", "ETSI.RFC3161", None, token)


def _general(data: bytes, anchors: Anchors, now: datetime, unlike: str) -> VerificationReport:
    """What general readers say of a file that is not in the form of a sealed one, and why it is not."""
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        built = structure(data)
    except BadRequest as error:
        report = _unreadable(data, sha256, error.message)
        return _disowned(report, unlike) if sealed_form.claims(data) else report
    if not built.signatures:
        return _without_signature(data, sha256)
    trust = anchors.with_data(built.certificates, built.crls)
    report = _report(data, sha256, built, trust, now)
    if any(one.document_id is not None for one in built.signatures):
        if (sealed := _genuine_beginning(data, built, anchors, now)) is not None:
            return _continued(report, built, data, sealed, unlike)
        report = _disowned(report, unlike)
        if report.verdict == "altered":
            report.reasons.append(_SAVED_ANEW)
    elif report.verdict == "unexplained" and not report.reasons:
        report.reasons.append(
            "It was signed with a certificate that this server trusts, but it was not sealed by Deedbox."
        )
    return report


def _genuine_beginning(data: bytes, built: Structure, anchors: Anchors, now: datetime) -> bytes | None:
    """The sealed file with a genuine seal that the file begins with, or None."""
    ends = [one.byte_range for one in built.signatures if one.document_id is not None]
    try:
        sealed = data[: min(gap.find(data, byte_range).covered for byte_range in ends)]
        form = _strictly(sealed_form.read, sealed)
    except (BadRequest, Malformed):
        return None
    return sealed if _sealed(sealed, form, anchors, now).verdict in GOOD else None


def _continued(
    report: VerificationReport, built: Structure, data: bytes, sealed: bytes, unlike: str
) -> VerificationReport:
    """The report on a genuine sealed file that was continued in a form that the strict reader does not read."""
    report.checks.modifications_allowed = report.checks.covers_entire_file = False
    report.verdict = "altered"
    others = [why for why in report.reasons if why not in (_ADDED_AFTER_SIGNING, _NOT_JUDGED)]
    report.reasons = [_ADDED_AFTER_SEAL, *others, f"{unlike}."]
    stamped = any(one.kind == "timestamp" for one in built.signatures)
    if stamped or changes.validation_data(data) != changes.validation_data(sealed):
        report.reasons.append(_OTHER_FORM)
    report.reasons.append(_BEGINNING.format(size=len(sealed)))
    return report


def _disowned(report: VerificationReport, unlike: str) -> VerificationReport:
    """The report on a file that claims a seal of ours: where nothing else is said of it, it was altered."""
    if report.verdict == "unexplained":
        report.checks.intact, report.verdict = False, "altered"
        report.reasons.append(f"It claims to be sealed by Deedbox, but differs from a Deedbox seal: {unlike}.")
    return report


def _report(pdf: bytes, sha256: str, built: Structure, trust: Trust, now: datetime) -> VerificationReport:
    results = [examine(pdf, signature, trust, now) for signature in built.signatures]
    seals = [one for one in results if one.signature.kind == "seal"]
    checks = Checks(
        intact=not any(one.broken for one in results),
        covers_entire_file=any(one.covers(pdf) for one in results),
        trusted=_trusted(seals),
        revocation=_not_revoked(seals),
        timestamp=_time_believed(seals),
    )
    checks.modifications_allowed = _changes_allowed(pdf, results)
    shown = [describe(one, bool(built.crls)) for one in results]
    return VerificationReport(
        verdict=overall_verdict(checks, "unexplained"),
        sha256=sha256,
        checks=checks,
        signatures=[one for one in shown if one is not None],
        reasons=list(dict.fromkeys(_reasons(checks, results, seals))),
    )


def _changes_allowed(pdf: bytes, results: list[Examined]) -> bool | None:
    if len(results) == 1 and results[0].covers(pdf):
        return True
    if not all(one.place is None or changes.is_accounted_for(pdf, one.place.covered) for one in results):
        return False
    told = [changes.allows_changes(one.signature.library) for one in results]
    return None if None in told else all(told)


def _trusted(seals: list[Examined]) -> bool | None:
    if any(one.distrust for one in seals) or not seals:
        return False
    # Of a signature that is none, nobody asks whom it comes from.
    return None if any(one.broken for one in seals) else True


def _not_revoked(seals: list[Examined]) -> bool | None:
    told = [one.revoked for one in seals]
    if True in told:
        return False
    return None if not told or None in told else True


def _time_believed(seals: list[Examined]) -> bool | None:
    """False for a broken time-stamp is told by `intact`: here, whether the time can be believed."""
    return True if seals and all(one.at is not None for one in seals) else None


def _reasons(checks: Checks, results: list[Examined], seals: list[Examined]) -> list[str]:
    found = [f"{one.signature.field}: {one.broken}" for one in results if one.broken]
    found += [f"{one.signature.field}: {one.distrust}" for one in seals if one.distrust and not one.broken]
    if checks.revocation is False:
        found.append("A certificate of the seal was revoked before the seal was created.")
    if checks.modifications_allowed is False:
        found.append(_ADDED_AFTER_SIGNING)
    if checks.modifications_allowed is None:
        found.append(_NOT_JUDGED)
    if not seals:
        found.append("The file has a timestamp, but nobody signed it.")
    elif any(one.timestamp is not None and one.at is None and not one.broken for one in seals):
        found.append("The timestamp comes from an authority that this server does not trust.")
    return found


def _without_signature(pdf: bytes, sha256: str) -> VerificationReport:
    if not gap.traces(pdf):
        return VerificationReport(verdict="unsigned", sha256=sha256, checks=Checks())
    return _unreadable(pdf, sha256, "The file contains a signature that nothing in the document refers to.")


def _unreadable(pdf: bytes, sha256: str, reason: str) -> VerificationReport:
    """What can be said of a file whose structure is damaged: a signature in it may still show that it was changed."""
    last = gap.traces(pdf)[-limits.VERIFY_TRACES :]
    found = [why for why in (_damage(pdf, byte_range) for byte_range in last) if why]
    if not found:
        if _HEADER not in pdf[:_HEADER_WITHIN] and not gap.traces(pdf):
            reason = NOT_PDF
        return VerificationReport(verdict="unexplained", sha256=sha256, checks=Checks(), reasons=[reason])
    return VerificationReport(
        verdict="altered", sha256=sha256, checks=Checks(intact=False), reasons=[reason, found[-1]]
    )


def _damage(pdf: bytes, byte_range: list[int]) -> str:
    """Why a signature that is written in the file is not a whole one about this file; empty if that cannot be said."""
    # A signed file may be attached to another; its byte range then ends somewhere in the middle.
    ends_here = byte_range[2] + byte_range[3] >= len(pdf)
    try:
        place = gap.find(pdf, byte_range)
        signed = signed_data.open_signed_data(gap.contents(pdf, place))
    except BadRequest as error:
        return error.message if ends_here else ""
    if signed.content_type != "data" or signed.algorithm not in signed_data.HASHES:
        return "The signature in it is of a kind that is not used for documents." if ends_here else ""
    if not signed_data.is_true(signed, gap.digest(pdf, place, signed.algorithm), "data"):
        return "The signature in it does not match the file: different content was signed."
    return "" if ends_here else _ADDED_AFTER_SIGNING
