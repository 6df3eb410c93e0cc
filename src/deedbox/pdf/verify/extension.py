"""Revisions after a seal that only keep it verifiable: validation data and document time-stamps, and nothing else.

Each object that such a revision writes is one that it needs, in the form of `syntax`; of the objects of the sealed
file only the catalog, the form, the first page, the store of validation data and the file's properties may be written
again, and each only with what belongs to a time-stamp added to it."""

import re
from typing import Any, NamedTuple

import pikepdf
from cryptography import x509
from cryptography.x509 import ocsp

from deedbox.pdf import limits
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.verify import appended_revision
from deedbox.pdf.verify.appended_revision import Appended
from deedbox.pdf.verify.sealed_form import SealedForm
from deedbox.pdf.verify.syntax import Name, ObjectReference, array, integer, number, text

_KINDS = {"Certs": "certificates", "CRLs": "revocation lists", "OCSPs": "answers on revocation"}
_BY_SIGNATURE = {"Cert", "CRL", "OCSP", "TU", "Type"}
_SIGNATURE_NAME = re.compile(r"[0-9A-F]{40}")
"""The SHA-1 of a signature, by which its validation data is listed."""
_ID_BYTES = (16, 32)
_FIELD_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
_NOTED = ("ModDate", "Producer")
"""The properties that pyHanko writes; every other one must stay as it was."""
_WRITER = "pyHanko "
_PRODUCER = re.compile(_WRITER + r"[0-9.]{1,20}")
_DATE = re.compile(r"D:\d{14}(?:Z|[+-]\d\d'\d\d'?)")
_STAMP = {"Type": Name("DocTimeStamp"), "Filter": Name("Adobe.PPKLite"), "SubFilter": Name("ETSI.RFC3161")}
_CONTENTS = re.compile(rb"/Contents <([0-9A-Fa-f]+)>")


class Before(NamedTuple):
    """What a general reader finds in the sealed file, for what the strict one does not read."""

    numbers: frozenset[int]
    """Of every object that it refers to, be it there or not."""
    properties: dict[str, bytes]
    """The entries of /Info."""


class Stamp(NamedTuple):
    """A document time-stamp, not judged yet: about the file up to `covered` but for what is between start and end."""

    start: int
    end: int
    covered: int


class Extended(NamedTuple):
    stamps: list[Stamp]
    certificates: list[bytes]
    crls: list[bytes]
    added: list[str]


def read(sealed: SealedForm, later: list[Appended], before: Before) -> Extended:
    """What the revisions after the seal add; Malformed says what is in them that has no place there."""
    state = _State(sealed, before)
    for revision in later:
        state.follow(revision)
    return state.extended()


class _State:
    """The objects that may be written again, as they are after each revision."""

    def __init__(self, sealed: SealedForm, before: Before) -> None:
        first = sealed.revision
        self._root: ObjectReference = first.trailer["Root"]
        self._page, self._store = next(iter(first.objects)), list(first.objects)[-3]
        self._now = {reference: one.value for reference, one in first.objects.items()}
        self._form_at = self._now[self._root]["AcroForm"]
        self._info: ObjectReference | None = first.trailer.get("Info")
        self._properties: dict[str, Any] = dict(before.properties)
        self._id = first.trailer["ID"][0]
        self._size, self._taken = first.size, before.numbers
        self._found: dict[str, list[bytes]] = {kind: [] for kind in _KINDS}
        self._noted = False
        self.stamps: list[Stamp] = []

    def follow(self, revision: Appended) -> None:
        self._check_trailer(revision)
        used = {self._root, self._page, self._store} & set(revision.objects)
        if isinstance(self._form_at, ObjectReference):
            used |= {self._form_at} & set(revision.objects)
        field = self._field(revision)
        if field is not None:
            used |= {field, self._stamp(revision, field)}
        self._check_grown(revision, field)
        data = self._grow_store(revision)
        if field is None and not data:
            raise Malformed("A revision was added that holds neither validation data nor a timestamp")
        used |= data
        self._check_new(revision)
        used |= self._note(revision)
        if used != set(revision.objects):
            raise Malformed("Something was added that nothing refers to, or that has no place here")
        self._now |= {reference: one.value for reference, one in revision.objects.items()}
        self._size = revision.size

    def _check_new(self, revision: Appended) -> None:
        """What is written is new, or one of the few objects that may be written again."""
        known = {*self._now, self._info} - {None}
        added = sorted(set(revision.places) - known)
        if any(one.number < self._size or one.generation for one in added):
            raise Malformed("An object of the sealed file was written again")
        # Where numbers are far apart, some viewers leave the table and mend the file as they see fit.
        if revision.size - self._size > len(added) + limits.SEAL_NUMBERS_LEFT_OUT:
            raise Malformed("Numbers of objects were left out")
        if any(one.number in self._taken for one in added):
            raise Malformed("An object was added that the sealed file refers to and lacks")

    def extended(self) -> Extended:
        counts = [f"{len(self._found[kind])} {words}" for kind, words in _KINDS.items() if self._found[kind]]
        added = [f"Validation data: {', '.join(counts)}."] if counts else []
        if self._noted:
            added.append("The name of the program that added it, and the date, in the file properties.")
        return Extended(self.stamps, self._found["Certs"], self._found["CRLs"], added)

    def _check_trailer(self, revision: Appended) -> None:
        trailer = revision.trailer
        ids = trailer.get("ID")
        if trailer.get("Root") != self._root or revision.size < self._size:
            raise Malformed("The trailer leads elsewhere")
        if not isinstance(ids, list) or len(ids) != 2 or ids[0] != self._id or not _is_id(ids[1]):
            raise Malformed("The trailer has another identity")
        if self._info is not None and trailer.get("Info") != self._info:
            raise Malformed("The trailer leads elsewhere")

    def _field(self, revision: Appended) -> ObjectReference | None:
        """The field that the page has more than before."""
        old, new = self._now[self._page]["Annots"], self._value(revision, self._page).get("Annots")
        if new == old:
            return None
        if not isinstance(new, list) or new[:-1] != old or new[-1] in self._now or new[-1] not in revision.objects:
            raise Malformed("The page has something else than one timestamp more")
        found: ObjectReference = new[-1]
        return found

    def _check_grown(self, revision: Appended, field: ObjectReference | None) -> None:
        """The page, the form and the catalog are the same but for the one field."""
        more = [] if field is None else [field]
        page = {**self._now[self._page]}
        page["Annots"] = [*page["Annots"], *more]
        if self._value(revision, self._page) != page:
            raise Malformed("The page was changed")
        catalog, holder = {**self._now[self._root]}, self._form_at
        old = self._now[holder] if isinstance(holder, ObjectReference) else catalog["AcroForm"]
        grown = {**old, "Fields": [*old["Fields"], *more]}
        if isinstance(holder, ObjectReference):
            if self._value(revision, holder) != grown:
                raise Malformed("The form was changed")
        else:
            catalog["AcroForm"] = grown
        if self._value(revision, self._root) != catalog:
            raise Malformed("The catalog was changed")

    def _value(self, revision: Appended, reference: ObjectReference) -> Any:
        found = revision.objects.get(reference)
        if found is None:
            return self._now[reference]
        if found.stream is not None or not isinstance(found.value, dict):
            raise Malformed("An object of the sealed file became another")
        return found.value

    def _stamp(self, revision: Appended, field: ObjectReference) -> ObjectReference:
        """Notes the time-stamp of the field; its number."""
        widget = revision.objects[field].value
        expected = {
            "Type": Name("Annot"), "Subtype": Name("Widget"), "FT": Name("Sig"), "F": number(132),
            "Rect": [number(0)] * 4, "P": self._page,
        }  # fmt: skip
        if not isinstance(widget, dict) or not isinstance(widget.get("V"), ObjectReference):
            raise Malformed("The field that was added is not that of a timestamp that nobody sees")
        signature = revision.objects.get(widget["V"])
        if signature is None or {key: widget[key] for key in widget if key not in ("T", "TU", "V")} != expected:
            raise Malformed("The field that was added is not that of a timestamp that nobody sees")
        if not _FIELD_NAME.fullmatch(text(widget.get("T"))) or widget.get("TU", b"Timestamp") != b"Timestamp":
            raise Malformed("The field that was added has a name that says more than it should")
        value = signature.value if isinstance(signature.value, dict) and signature.stream is None else {}
        place = list(_CONTENTS.finditer(signature.written))
        if set(value) != {*_STAMP, "ByteRange", "Contents"} or len(place) != 1:
            raise Malformed("The timestamp that was added is not as timestamps are written here")
        start = revision.places[widget["V"]] + place[0].start(1) - 1
        end = start + len(place[0][1]) + 2
        span = [0, start, end, revision.end - end]
        if {key: value[key] for key in _STAMP} != _STAMP or [integer(one) for one in value["ByteRange"]] != span:
            raise Malformed("The timestamp that was added is not about all of the file")
        self.stamps.append(Stamp(start, end, revision.end))
        made: ObjectReference = widget["V"]
        return made

    def _grow_store(self, revision: Appended) -> set[ObjectReference]:
        """The objects of the validation data that was added."""
        if self._store not in revision.objects:
            return set()
        old, new = self._now[self._store], self._value(revision, self._store)
        if not set(new) <= {"Type", "VRI", *_KINDS} or new.get("Type") != "DSS":
            raise Malformed("The validation data holds something else")
        used: set[ObjectReference] = set()
        for kind in _KINDS:
            known, items = old.get(kind, []), new.get(kind, [])
            if not isinstance(items, list) or items[: len(known)] != known:
                raise Malformed("Validation data of the seal was taken away")
            for reference in items[len(known) :]:
                self._found[kind].append(_content(revision, reference, kind))
                used.add(reference)
        return used | self._by_signature(revision, old.get("VRI"), new)

    def _by_signature(self, revision: Appended, old: Any, store: dict[str, Any]) -> set[ObjectReference]:
        """The lists, by signature, of what is in the store anyway."""
        lists, used = store.get("VRI"), set()
        if isinstance(lists, ObjectReference):
            used |= {lists} & set(revision.objects)
            lists = self._value(revision, lists) if used else self._now.get(lists)
        elif old is not None and not isinstance(lists, dict):
            raise Malformed("Validation data of the seal was taken away")
        everything = [one for kind in _KINDS for one in store.get(kind, [])]
        for name, one in (lists or {}).items():
            if not _SIGNATURE_NAME.fullmatch(name):
                raise Malformed("The validation data holds something else")
            entry = one
            if isinstance(one, ObjectReference):
                used |= {one} & set(revision.objects)
                entry = self._value(revision, one) if one in revision.objects else self._now.get(one)
            _check_list(entry, everything)
        return used

    def _note(self, revision: Appended) -> set[ObjectReference]:
        """The file's properties, in which pyHanko notes itself and the date whenever it writes."""
        reference = revision.trailer.get("Info")
        if reference is None or reference not in revision.objects:
            if reference != self._info:
                raise Malformed("The trailer leads elsewhere")
            return set()
        if reference in self._now and reference != self._info:
            raise Malformed("The file's properties are something else")
        found = revision.objects[reference]
        told = found.value if isinstance(found.value, dict) and found.stream is None else {}
        same = {key: _read(value) for key, value in told.items() if key not in _NOTED} == {
            key: _read(value) for key, value in self._properties.items() if key not in _NOTED
        }
        if not same or not _names_writer(self._properties.get("Producer"), told.get("Producer")):
            raise Malformed("The file's properties were changed")
        if not _DATE.fullmatch(_plain(told.get("ModDate"))):
            raise Malformed("The file's properties were changed")
        self._info, self._properties, self._noted = reference, told, True
        return {reference}


def _read(value: Any) -> Any:
    """A property as a reader shows it: writers may put the same text into other bytes."""
    if isinstance(value, list):
        return [_read(one) for one in value]
    return str(pikepdf.String(value)) if isinstance(value, bytes) else value


def _names_writer(before: Any, after: Any) -> bool:
    """Whether pyHanko put its name into the producer: behind the earlier one, or instead of it; once is enough."""
    if not isinstance(after, bytes):
        return False
    name, rest = _read(after), None if before is None else _read(before)
    if name == rest:
        return _WRITER in name
    return _PRODUCER.fullmatch(name.removeprefix(f"{rest}; ")) is not None


def _check_list(entry: Any, everything: list[ObjectReference]) -> None:
    """Malformed unless this is a list, for one signature, of what is in the store."""
    if not isinstance(entry, dict) or not set(entry) <= _BY_SIGNATURE or entry.get("Type", "VRI") != "VRI":
        raise Malformed("The validation data holds something else")
    if any(one not in everything for key in ("Cert", "CRL", "OCSP") for one in array(entry.get(key, []))):
        raise Malformed("The validation data of a signature is not in the store")
    if "TU" in entry and not _DATE.fullmatch(_plain(entry["TU"])):
        raise Malformed("The validation data holds something else")


def _is_id(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) in _ID_BYTES


def _plain(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else ""


def _content(revision: Appended, reference: Any, kind: str) -> bytes:
    """The bytes of one piece of validation data, which must be what it is said to be."""
    found = revision.objects.get(reference)
    if found is None or not isinstance(found.value, dict) or not set(found.value) <= {"Length", "Filter"}:
        raise Malformed("The validation data that was added is not as it is written here")
    content = appended_revision.plain_stream(found)
    if b"obj" in content or b"obj" in (found.stream or b""):  # what a reader that mends files could take for an object
        raise Malformed("The validation data that was added holds something else")
    try:
        _LOADERS[kind](content)
    except (ValueError, TypeError, x509.InvalidVersion) as error:
        raise Malformed(f"What was added to the {_KINDS[kind]} is none of them") from error
    return content


_LOADERS: dict[str, Any] = {
    "Certs": x509.load_der_x509_certificate,
    "CRLs": x509.load_der_x509_crl,
    "OCSPs": ocsp.load_der_ocsp_response,
}
