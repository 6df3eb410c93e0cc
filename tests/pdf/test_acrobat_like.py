"""Additions after a seal in the form in which Acrobat is described to write them: altered, and told what to do.

The files are made by `acrobat_like` from documentation. None of them was written by Acrobat."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from deedbox.pdf.verify.syntax import Name, number
from deedbox.pdf.verify.verify_pdf import verify
from tests.pdf import acrobat_like, shapes
from tests.pdf.acrobat_like import STAMPED, Change, Draft, Stream
from tests.pdf.oracles import qpdf
from tests.pdf.pki import Authority
from tests.pdf.sealed import SIGNED, archived, document, sealed, updated

FAR = "2035-01-01T00:00:00Z"
ADDED = "Something was added to the file after it was sealed."
FORM = "in a form that Deedbox does not accept"
GENUINE = re.compile(r"The first (\d+) bytes of this file are a sealed file with a genuine seal\. .+")
EVIL = b"BT /F1 24 Tf 72 720 Td (Void) Tj ET"

Maker = Callable[[Authority, bytes], bytes]


def stamped(ours: Authority, data: bytes) -> bytes:
    return acrobat_like.stamped(ours.timestamper, data)


def with_validation_data(ours: Authority, data: bytes) -> bytes:
    return acrobat_like.with_validation_data(ours.root, data)


@pytest.fixture(scope="module")
def ours() -> Authority:
    return Authority()


@pytest.mark.parametrize("maker", [stamped, with_validation_data])
@pytest.mark.parametrize("shape", ["plain", "object_streams", "form", "form_inside_the_catalog", "linearised"])
def test_addition_in_other_form_is_altered_and_says_why(
    ours: Authority, shape: str, maker: Maker, tmp_path: Path
) -> None:
    base = sealed(ours, shapes.SHAPES[shape]())
    data = maker(ours, base)
    assert qpdf(data, tmp_path) == ""
    report = verify(data, ours.roots, (), FAR)
    assert (report.verdict, report.reasons[0], report.document_id) == ("altered", ADDED, None)
    assert (report.checks.intact, report.checks.modifications_allowed) == (True, False)
    assert FORM in report.reasons[-2]
    assert "Acrobat" in report.reasons[-2]
    assert report.reasons[-1].startswith(f"The first {len(base)} bytes of this file are a sealed file")
    # A general reader finds the time-stamp true: only the form around it is refused.
    times = [one.timestamp_time for one in report.signatures if one.level == "document time-stamp"]
    assert times == ([f"{STAMPED:%Y-%m-%dT%H:%M:%SZ}"] if maker is stamped else [])


@pytest.mark.parametrize("maker", [stamped, with_validation_data])
def test_beginning_that_the_reason_names_is_authentic_years_later(ours: Authority, maker: Maker) -> None:
    data = maker(ours, sealed(ours, document(2)))
    named = GENUINE.fullmatch(verify(data, ours.roots, (), FAR).reasons[-1])
    assert named is not None
    assert verify(data[: int(named[1])], ours.roots, (), FAR).verdict == "authentic"


def test_same_additions_in_the_form_of_pyhanko_are_extended_years_later(ours: Authority) -> None:
    base = sealed(ours, document(2))
    for data in (archived(ours, base), archived(ours, archived(ours, base), SIGNED + timedelta(days=60))):
        report = verify(data, ours.roots, (), FAR)
        assert (report.verdict, report.reasons) == ("extended", [])


def _content(draft: Draft) -> None:
    draft.objects[draft.content] = Stream({}, EVIL)


def _other_content(draft: Draft) -> None:
    draft.objects[draft.page] |= {"Contents": draft.new(Stream({}, EVIL))}


def _field_value(draft: Draft) -> None:
    first = draft.objects[draft.page]["Annots"][0]
    draft.objects[first.number] = {
        "Type": Name("Annot"), "Subtype": Name("Widget"), "FT": Name("Tx"), "T": b"amount", "V": b"900",
        "Rect": [number(one) for one in (72, 600, 200, 620)],
    }  # fmt: skip


def _annotation(draft: Draft) -> None:
    box = [number(one) for one in (0, 0, 595, 842)]
    look = draft.new(Stream({"Type": Name("XObject"), "Subtype": Name("Form"), "BBox": box}, EVIL))
    shown = {"Type": Name("Annot"), "Subtype": Name("Stamp"), "Rect": box, "F": number(4), "AP": {"N": look}}
    draft.objects[draft.page]["Annots"].append(draft.new(shown))


def _visible(draft: Draft) -> None:
    draft.objects[draft.field] |= {"Rect": [number(one) for one in (0, 0, 300, 300)], "F": number(4)}


def _second_page(draft: Draft) -> None:
    pages = draft.objects[draft.root]["Pages"]
    page = {"Type": Name("Page"), "Parent": pages, "MediaBox": [number(one) for one in (0, 0, 595, 842)]}
    added = draft.new(page | {"Contents": draft.new(Stream({}, EVIL))})
    draft.objects[pages.number] = {"Type": Name("Pages"), "Count": number(1), "Kids": [added]}


def _script(draft: Draft) -> None:
    action = draft.new({"S": Name("JavaScript"), "JS": b"app.alert('Void')"})
    draft.objects[draft.root] |= {"Names": {"JavaScript": {"Names": [b"a", action]}}}


def _opening_action(draft: Draft) -> None:
    draft.objects[draft.root] |= {"OpenAction": {"S": Name("URI"), "URI": b"https://example.com/"}}


def _metadata(draft: Draft) -> None:
    told = draft.objects[draft.objects[draft.root]["Metadata"].number]
    told.content = told.content.replace(b"<xmp:MetadataDate>", b"<xmp:Label>Void</xmp:Label><xmp:MetadataDate>")


CHANGES: dict[str, Change] = {
    "the page's content": _content, "other content of the page": _other_content, "a field's value": _field_value,
    "an annotation": _annotation, "a widget that is seen": _visible, "a second page": _second_page,
    "a script": _script, "an opening action": _opening_action, "metadata": _metadata,
}  # fmt: skip


CASES = [
    (change, shape)
    for change in CHANGES
    for shape in ("form", "object_streams")
    if (change, shape) != ("a field's value", "object_streams")  # which has no field
]


@pytest.mark.parametrize(("change", "shape"), CASES)
def test_change_under_a_true_time_stamp_is_altered(ours: Authority, change: str, shape: str) -> None:
    base = sealed(ours, shapes.SHAPES[shape]())
    data = acrobat_like.stamped(ours.timestamper, base, change=CHANGES[change])
    assert data != stamped(ours, base)
    report = verify(data, ours.roots, (), FAR)
    assert (report.verdict, report.checks.modifications_allowed) == ("altered", False)
    assert not any("may be the same" in reason for reason in report.reasons)


def test_other_form_is_named_only_where_it_was_used(ours: Authority) -> None:
    base = sealed(ours, document(2))
    for data in (base + b"\n", updated(base), archived(ours, updated(base))):
        report = verify(data, ours.roots, (), FAR)
        assert report.verdict == "altered"
        assert not any(FORM in reason for reason in report.reasons)
        assert GENUINE.fullmatch(report.reasons[-1])


def test_beginning_is_called_genuine_only_if_it_is(ours: Authority) -> None:
    base = sealed(ours, document(2))
    spoilt = base[:300] + bytes([base[300] ^ 1]) + base[301:]
    unlisted = acrobat_like.stamped(ours.timestamper, base).replace(b"%PDF-1", b"%PDF-2", 1)
    for data in (stamped(ours, spoilt), spoilt + b"\n", unlisted):
        report = verify(data, ours.roots, (), FAR)
        assert (report.verdict, report.checks.intact) == ("altered", False)
        assert not any(GENUINE.fullmatch(reason) for reason in report.reasons)
    stranger = verify(stamped(ours, base), Authority("Elsewhere").roots, (), FAR)
    assert stranger.verdict in ("altered", "unrecognised")
    assert not any(GENUINE.fullmatch(reason) for reason in stranger.reasons)
