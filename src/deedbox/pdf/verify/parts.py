"""Runs in a sandbox: the seal of a file in parts, for programs that know signatures and time-stamps but not PDF."""

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal import gap
from deedbox.pdf.verify import signatures, signed_data
from deedbox.pdf.verify.report import SealedParts


def parts(data: bytes) -> SealedParts:
    """The parts of the last seal; BadRequest if there is none, or it cannot be read."""
    seals = [one for one in signatures.structure(data).signatures if one.kind == "seal"]
    if not seals:
        raise BadRequest("This PDF has no signature")
    place = gap.find(data, seals[-1].byte_range)
    opened = signed_data.open_signed_data(gap.contents(data, place))
    timestamp = signed_data.timestamp(opened)
    return SealedParts(
        start=place.start,
        end=place.end,
        signature=opened.whole,
        value=opened.signer_info["signature"].native,
        timestamp=timestamp.signed.whole if timestamp else None,
    )
