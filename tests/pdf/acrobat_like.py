"""Sealed files with a later time-stamp as Acrobat might write it. They are built from documentation, not by Acrobat.

The objects are those of ISO 32000-2 (12.8.4, 12.8.5) and what pyHanko's difference analysis allows other programs:
`/Extensions`, XMP with a new date. The syntax is ISO 32000-2's (7.5.6 to 7.5.8), as far from pyHanko's as it allows: no
space between tokens, carriage returns, object streams and a predictor. Whether Acrobat writes this is not known."""

import re
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha1, sha256
from typing import Any

from msgspec import Struct

from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.pdf.verify import sealed_form
from deedbox.pdf.verify.syntax import Name, Number, ObjectReference, number
from tests.pdf.pki import ISSUED, Holder, revocation_list
from tests.pdf.sealed import SIGNED

STAMPED = SIGNED + timedelta(days=30)
_STAMP_BYTES = 6000
_XMP = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/"><xmp:ModifyDate>{0}</xmp:ModifyDate>
<xmp:MetadataDate>{0}</xmp:MetadataDate></rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>"""


class Stream(Struct):
    entries: dict[str, Any]
    content: bytes


class Draft(Struct):
    """The objects of the revision by their numbers, before they are written."""

    objects: dict[int, Any]
    root: int
    page: int
    content: int
    """The number of what the first page shows, which the revision leaves as it is."""
    field: int
    size: int

    def new(self, value: Any) -> ObjectReference:
        self.objects[self.size] = value
        self.size += 1
        return ObjectReference(self.size - 1, 0)


Change = Callable[[Draft], object]


def stamped(unit: Holder, data: bytes, at: datetime = STAMPED, *, change: Change | None = None) -> bytes:
    """The sealed file with validation data and a time-stamp that is true; `change` may spoil the revision before."""
    draft = _with_metadata(_drafted(data), at)
    draft.objects |= {draft.field: {**draft.objects[draft.field], "V": ObjectReference(draft.size, 0)}}
    stamp = draft.new(None)
    if change is not None:
        change(draft)
    del draft.objects[stamp.number]
    return _signed(unit, data, draft, stamp.number, at)


def with_validation_data(authority_root: Holder, data: bytes) -> bytes:
    """The sealed file with one more revocation list for its seal, and no time-stamp."""
    form, draft = sealed_form.read(data), _empty(data)
    store = next(key for key, one in form.revision.objects.items() if _is_store(one.value))
    packed = zlib.compress(revocation_list(authority_root, at=ISSUED + timedelta(days=2)))
    added = draft.new(Stream({"Filter": Name("FlateDecode")}, packed))
    value = form.revision.objects[store].value
    name = sha1(form.cms_der, usedforsecurity=False).hexdigest().upper()
    lists = draft.new({name: {"CRL": [added], "TU": f"D:{STAMPED:%Y%m%d%H%M%S}Z".encode()}})
    draft.objects[store.number] = {**value, "CRLs": [*value.get("CRLs", []), added], "VRI": lists}
    out, rows = _written(data, draft)
    return bytes(out) + _table(data, draft, rows, len(out))


def _is_store(value: Any) -> bool:
    return isinstance(value, dict) and value.get("Type") == "DSS"


def _empty(data: bytes) -> Draft:
    revision = sealed_form.read(data).revision
    page = next(iter(revision.objects))
    content = revision.objects[page].value["Contents"].number
    size = revision.size
    return Draft({}, revision.trailer["Root"].number, page.number, content, field=size, size=size + 1)


def _drafted(data: bytes) -> Draft:
    draft, revision = _empty(data), sealed_form.read(data).revision
    root, page = ObjectReference(draft.root, 0), ObjectReference(draft.page, 0)
    field = ObjectReference(draft.field, 0)
    draft.objects[field.number] = {
        "Type": Name("Annot"), "Subtype": Name("Widget"), "FT": Name("Sig"), "F": number(132), "T": b"Signature2",
        "Rect": [number(0)] * 4, "P": page, "MK": {}, "DA": b"/Helv 0 Tf 0 g ",
    }  # fmt: skip
    shown, catalog = revision.objects[page].value, revision.objects[root].value
    draft.objects[page.number] = {**shown, "Annots": [*shown["Annots"], field]}
    form = catalog["AcroForm"]
    held = revision.objects[form].value if isinstance(form, ObjectReference) else form
    grown = {**held, "Fields": [*held["Fields"], field]}
    if isinstance(form, ObjectReference):
        draft.objects[form.number] = grown
    draft.objects[root.number] = {**catalog} if isinstance(form, ObjectReference) else {**catalog, "AcroForm": grown}
    return draft


def _with_metadata(draft: Draft, at: datetime) -> Draft:
    told = _XMP.format(at.isoformat()).encode()
    metadata = draft.new(Stream({"Type": Name("Metadata"), "Subtype": Name("XML")}, told))
    level = {"ADBE": {"BaseVersion": Name("1.7"), "ExtensionLevel": number(8)}}
    draft.objects[draft.root] |= {"Metadata": metadata, "Extensions": level}
    return draft


def _signed(unit: Holder, data: bytes, draft: Draft, stamp: int, at: datetime) -> bytes:
    """The time-stamp is about every byte of the file but its own place."""
    program = {"Name": Name("Adobe Acrobat Pro (64-bit)"), "OS": [Name("Win")], "R": number(1)}
    told = {"Filter": {"Name": Name("Adobe.PPKLite")}, "App": program}
    head = b"%d 0 obj\r<</Type/DocTimeStamp/Filter/Adobe.PPKLite/SubFilter/ETSI.RFC3161/M(D:%b)/Prop_Build%b/ByteRange"
    out, rows = _written(data, draft)
    rows[stamp] = len(out)
    out += head % (stamp, f"{at:%Y%m%d%H%M%S}Z".encode(), _compact(told))
    start = len(out) + 50 + len(b"/Contents")
    end = start + 2 * _STAMP_BYTES + 2
    tail = b">>\rendobj\r"
    tail += _table(data, draft, rows, end + len(tail))
    out += (b"[0 %d %d %d]" % (start, end, len(tail))).ljust(50) + b"/Contents"
    digest = sha256(bytes(out) + tail).digest()
    token = Timestamper(CmsSigner(unit.key, unit.der)).token(digest, at).hex().upper().encode()
    return bytes(out) + b"<" + token.ljust(2 * _STAMP_BYTES, b"0") + b">" + tail


def _has_table_streams(data: bytes) -> bool:
    return not data.startswith(b"xref", int(re.findall(rb"startxref\s+(\d+)", data)[-1]))


def _written(data: bytes, draft: Draft) -> tuple[bytearray, dict[int, Any]]:
    """The file and the objects; where each is, or in which stream and at which place in it."""
    out, rows, packed = bytearray(data), dict[int, Any](), dict[int, bytes]()
    for key, value in sorted(draft.objects.items()):
        if isinstance(value, Stream):
            rows[key] = len(out)
            entries = _compact({**value.entries, "Length": number(len(value.content))})
            out += b"%d 0 obj\r%b\rstream\r\n%b\r\nendstream\rendobj\r" % (key, entries, value.content)
        elif _has_table_streams(data):
            packed[key] = _compact(value)
        else:
            rows[key] = len(out)
            out += b"%d 0 obj\r%b\rendobj\r" % (key, _compact(value))
    if packed:
        own = draft.new(None).number
        del draft.objects[own]
        rows |= {key: (own, place) for place, key in enumerate(packed)} | {own: len(out)}
        out += _packed(own, packed)
    return out, rows


def _packed(own: int, objects: dict[int, bytes]) -> bytes:
    at, places = 0, []
    for key, text in objects.items():
        places.append(b"%d %d" % (key, at))
        at += len(text) + 1
    head = b" ".join(places) + b" "
    content = zlib.compress(head + b" ".join(objects.values()))
    entries = b"<</Filter/FlateDecode/First %d/Length %d/N %d/Type/ObjStm>>"
    return b"%d 0 obj\r%b" % (own, entries % (len(head), len(content), len(objects))) + (
        b"stream\r\n%b\r\nendstream\rendobj\r" % content
    )


def _table(data: bytes, draft: Draft, rows: dict[int, Any], at: int) -> bytes:
    revision = sealed_form.read(data).revision
    trailer = {key: value for key, value in revision.trailer.items() if key in ("Root", "Info")}
    previous = int(re.findall(rb"startxref\s+(\d+)", data)[-1])
    trailer |= {"Prev": number(previous), "ID": [revision.trailer["ID"][0], sha256(data).digest()[:16]]}
    end = b"startxref\r\n%d\r\n%%%%EOF\r\n" % at
    if not _has_table_streams(data):
        table = b"".join(b"%d 1\r\n%010d 00000 n\r\n" % row for row in sorted(rows.items()))
        return b"xref\r\n%btrailer\r\n%b\r\n" % (table, _compact(trailer | {"Size": number(draft.size)})) + end
    rows = {**rows, draft.size: at}
    lines = [_row(place) for _, place in sorted(rows.items())]
    above = [bytes(8), *lines]
    content = zlib.compress(b"".join(b"\2" + _minus(one, up) for one, up in zip(lines, above, strict=False)))
    head = {
        "Type": Name("XRef"), "W": [number(one) for one in (1, 5, 2)], "Size": number(draft.size + 1),
        "Index": [number(one) for key in sorted(rows) for one in (key, 1)], "Filter": Name("FlateDecode"),
        "DecodeParms": {"Columns": number(8), "Predictor": number(12)}, "Length": number(len(content)),
    }  # fmt: skip
    stream = b"stream\r\n%b\r\nendstream\rendobj\r" % content
    return b"%d 0 obj\r%b" % (draft.size, _compact(trailer | head)) + stream + end


def _row(place: Any) -> bytes:
    kind, first, second = (2, *place) if isinstance(place, tuple) else (1, place, 0)
    return bytes([kind]) + int(first).to_bytes(5, "big") + int(second).to_bytes(2, "big")


def _minus(line: bytes, above: bytes) -> bytes:
    return bytes((one - up) % 256 for one, up in zip(line, above, strict=True))


def _compact(value: Any) -> bytes:
    """The value without a space that is not needed."""
    match value:
        case Name():
            return b"/" + re.sub(rb"[^!-~]|[#()<>\[\]{}/%]", lambda one: b"#%02X" % one[0][0], value.encode("latin-1"))
        case ObjectReference():
            return b"%d %d R" % value
        case Number():
            return value.written.encode()
        case bytes():
            return b"<" + value.hex().upper().encode() + b">"
        case list():
            return b"[" + b" ".join(map(_compact, value)) + b"]"
        case dict():
            return b"<<" + b"".join(_entry(key, one) for key, one in value.items()) + b">>"
        case _:
            return {True: b"true", False: b"false", None: b"null"}[value]


def _entry(key: str, value: Any) -> bytes:
    text = _compact(value)
    return _compact(Name(key)) + (b"" if text[:1] in (b"/", b"<", b"[") else b" ") + text
