"""Whether a damaged file lost anything when it was mended."""

import re

import pikepdf

from deedbox.kernel.errors import BadRequest

DAMAGED = "This PDF is damaged and cannot be repaired. Save it again from the program that created it."
MISSING = (
    "This PDF is damaged: it refers to a part that is not in the file (object {number}), so a clause may be lost."
    " Save it again from the program that created it, or print it to a new PDF."
)
_HARMLESS = (
    "reported number of objects",
    "Cross-reference stream data has the wrong size",
    "Resources is missing or invalid",
)
"""Warnings about a wrong count, or a page without resources: every object is still where the file says."""
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

    qpdf forgets the references to what it cannot find, so they are looked for in the bytes, and in those of object
    streams. In a file whose table can be read, such a reference stands for nothing, and nothing was lost.
    """
    if all(any(kind in str(warning) for kind in _HARMLESS) for warning in pdf.get_warnings()):
        return
    if is_cut_off(data):
        raise BadRequest(DAMAGED)
    packed = (
        one.read_bytes() for one in pdf.objects if isinstance(one, pikepdf.Stream) and one.get("/Type") == "/ObjStm"
    )
    for text in (data, *packed):
        for number, generation in set(_REFERENCE.findall(text)):
            if int(number) > 0 and pdf.get_object((int(number), int(generation))) is None:
                raise BadRequest(MISSING.format(number=int(number)))
