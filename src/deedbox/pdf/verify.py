"""Whether a PDF is what was sealed. Only to be run in a sandbox, or by a command that judges one file and ends.

pyHanko parses and does the cryptography; the verdict does not rest on its bottom line, which takes a file with
something behind its end, or in the padding of its signature, for whole. Here a seal must be about every byte of the
file but the place of its signature, that place must hold the signature and zeros, and no byte of the signature may be
free to change. Later revisions are allowed only if they keep the seal verifiable and end in a trusted time-stamp about
all of the file.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from deedbox.kernel.clock import SystemClock, moment
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import changes, gap, signed_data
from deedbox.pdf.examine import Examined, described, examined
from deedbox.pdf.report import Checks, Report, judged
from deedbox.pdf.signatures import Structure, structure
from deedbox.pdf.trust import Trust


def verify(
    pdf: bytes,
    roots: Sequence[bytes],
    crls: Sequence[bytes] = (),
    now: str | None = None,
    timestamp_roots: Sequence[bytes] = (),
) -> Report:
    """The report on a file, by these trusted roots and revocation lists, all in DER; `now` is an Instant.

    `timestamp_roots` are trusted for time-stamps only."""
    data = bytes(pdf)
    sha256 = hashlib.sha256(data).hexdigest()
    at = SystemClock().now() if now is None else moment(now)
    try:
        built = structure(data)
    except BadRequest as error:
        return _unreadable(data, sha256, error.message)
    if not built.signatures:
        return _without_signature(data, sha256)
    trust = Trust(roots, built.certificates, [*crls, *built.crls], timestamp_roots)
    return _report(data, sha256, built, trust, at)


def _report(pdf: bytes, sha256: str, built: Structure, trust: Trust, now: datetime) -> Report:
    results = [examined(pdf, signature, trust, now) for signature in built.signatures]
    seals = [one for one in results if one.signature.kind == "seal"]
    checks = Checks(
        intact=not any(one.broken for one in results),
        covers_entire_file=any(one.covers(pdf) for one in results),
        trusted=_trusted(seals),
        revocation=_not_revoked(seals),
        timestamp=_time_believed(seals),
    )
    checks.modifications_allowed = _changes_allowed(pdf, results, seals, trusted=checks.trusted is True)
    shown = [described(one, bool(built.crls)) for one in results]
    report = Report(
        verdict=judged(checks),
        sha256=sha256,
        checks=checks,
        signatures=[one for one in shown if one is not None],
        reasons=list(dict.fromkeys(_reasons(checks, results, seals))),
    )
    if report.verdict == "authentic":
        report.document_id, report.chain_head = seals[0].signature.document_id, seals[0].signature.audit_head
        report.seal_sha256 = _fingerprint(seals[0])
        timestamp = seals[0].timestamp
        report.seal_timestamp_sha256 = hashlib.sha256(timestamp.signed.whole).hexdigest() if timestamp else None
    return report


def _changes_allowed(pdf: bytes, results: list[Examined], seals: list[Examined], *, trusted: bool) -> bool | None:
    if len(results) == 1 and results[0].covers(pdf):
        return True
    if not all(one.place is None or changes.is_accounted_for(pdf, one.place.covered) for one in results):
        return False
    if not trusted:
        told = [changes.changes_allowed(one.signature.library) for one in results]
        return None if None in told else all(told)
    return _is_archival(pdf, results, seals)


def _is_archival(pdf: bytes, results: list[Examined], seals: list[Examined]) -> bool:
    """Whether one seal comes first, then trusted time-stamps of the document, one of them about all of it."""
    if len(seals) != 1 or any(one.broken for one in results):
        return False
    sealed = seals[0].place
    timestamps = [one for one in results if one.signature.kind == "time-stamp"]
    if sealed is None or not any(one.covers(pdf) for one in timestamps):
        return False
    after = all(one.at is not None and one.place is not None and one.place.start > sealed.covered for one in timestamps)
    return after and changes.archival_only(pdf, sealed.covered, seals[0].signature.field)


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
        found.append("A certificate of the seal was revoked before it sealed.")
    if checks.modifications_allowed is False:
        found.append("Something was added to the file after it was signed.")
    if checks.modifications_allowed is None:
        found.append("What was added to the file after it was signed cannot be judged.")
    if not seals:
        found.append("The file is time-stamped, but nobody signed it.")
    elif any(one.timestamp is not None and one.at is None and not one.broken for one in seals):
        found.append("The time-stamp comes from an authority that is not trusted here.")
    return found


def _fingerprint(seal: Examined) -> str | None:
    return None if seal.signed is None else hashlib.sha256(seal.signed.signer.dump()).hexdigest()


def _without_signature(pdf: bytes, sha256: str) -> Report:
    if not gap.traces(pdf):
        return Report(verdict="unsigned", sha256=sha256, checks=Checks())
    return _unreadable(pdf, sha256, "The file holds a signature, but nothing in the document leads to it.")


def _unreadable(pdf: bytes, sha256: str, reason: str) -> Report:
    """What can be said of a file whose structure is damaged: a signature in it may still show that it was changed."""
    found = [why for why in (_damage(pdf, byte_range) for byte_range in gap.traces(pdf)) if why]
    if not found:
        return Report(verdict="unexplained", sha256=sha256, checks=Checks(), reasons=[reason])
    return Report(verdict="altered", sha256=sha256, checks=Checks(intact=False), reasons=[reason, found[-1]])


def _damage(pdf: bytes, byte_range: list[int]) -> str:
    """Why a signature that is written in the file is not a whole one about this file; empty if that cannot be said."""
    # A signed file may be attached to another; its byte range then ends somewhere in the middle.
    ends_here = byte_range[2] + byte_range[3] >= len(pdf)
    try:
        place = gap.find(pdf, byte_range)
        signed = signed_data.opened(gap.contents(pdf, place))
    except BadRequest as error:
        return error.message if ends_here else ""
    if signed.content_type != "data" or signed.algorithm not in signed_data.HASHES:
        return "The signature in it is of a kind that is not used for documents." if ends_here else ""
    if not signed_data.is_true(signed, gap.digest(pdf, place, signed.algorithm), "data"):
        return "The signature in it does not fit the file: what was signed is not what is here."
    return "" if ends_here else "Something was added to the file after it was signed."
