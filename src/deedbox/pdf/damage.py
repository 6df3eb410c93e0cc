"""Whether a damaged file lost anything when it was mended."""

import re

import pikepdf

from deedbox.kernel.errors import BadRequest

DAMAGED = "This PDF is damaged and cannot be repaired. Save it anew from the program that made it."
_REFERENCE = re.compile(rb"\b(\d{1,9})\s+(\d{1,5})\s+R\b")
_END_WITHIN = 1024


def is_cut_off(data: bytes) -> bool:
    """True if the end of the file is missing, and it cannot be seen that all objects are there."""
    if b"%%EOF" in data[-_END_WITHIN:]:
        return False
    # After the last object comes the table of all objects; if it has begun, no object can be missing.
    return b"xref" not in data[data.rfind(b"endobj") :]


def check_whole(pdf: pikepdf.Pdf, data: bytes) -> None:
    """BadRequest if something was lost: a contract must not lose a clause unseen.

    qpdf forgets the references to what it cannot find, so they are looked for in the bytes.
    """
    if is_cut_off(data):
        raise BadRequest(DAMAGED)
    for number, generation in set(_REFERENCE.findall(data)):
        if int(number) > 0 and pdf.get_object((int(number), int(generation))) is None:
            raise BadRequest(DAMAGED)
