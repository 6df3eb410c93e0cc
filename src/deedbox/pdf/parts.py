"""Runs in a sandbox: the seal of a file in parts, for programs that know signatures and time-stamps but not PDF."""

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import gap, signatures, signed_data
from deedbox.pdf.report import Parts


def parts(data: bytes) -> Parts:
    """The parts of the last seal; BadRequest if there is none, or it cannot be read."""
    seals = [one for one in signatures.structure(data).signatures if one.kind == "seal"]
    if not seals:
        raise BadRequest("This PDF has no signature")
    place = gap.find(data, seals[-1].byte_range)
    opened = signed_data.opened(gap.contents(data, place))
    timestamp = signed_data.timestamp(opened)
    return Parts(
        start=place.start,
        end=place.end,
        signature=opened.whole,
        value=opened.signer_info["signature"].native,
        timestamp=timestamp.signed.whole if timestamp else None,
    )
