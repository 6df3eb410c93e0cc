"""The fields of a fillable PDF: found with name, kind and place, and gone from the page."""

import io
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, String

from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.signed_input import IntakeTerms
from deedbox.pdf.marks.marks import FormField, PreparedFile
from tests.pdf.annotated import annotation, file, text_field, with_look
from tests.pdf.papers import A4, add_page, drained, lines, saved, shown

FORM = IntakeTerms(form=True)
WIDTH, HEIGHT = A4[2], A4[3]
REQUIRED, READ_ONLY, RADIO, PUSH_BUTTON = 2, 1, 1 << 15, 1 << 16


def form(*widgets: dict[str, Any]) -> bytes:
    made = [
        annotation("Widget", **{"Rect": [60, 100 + 40 * at, 200, 130 + 40 * at], **one})
        for at, one in enumerate(widgets)
    ]
    return file(lambda _: made, form={})


def taken(data: bytes, terms: IntakeTerms = FORM) -> tuple[bytes, PreparedFile]:
    return drained(intake.take_in(data, terms))


def kinds(fields: tuple[FormField, ...]) -> list[tuple[str, str]]:
    return [(one.name, one.kind) for one in fields]


def test_fields_of_every_kind_are_found_in_their_places() -> None:
    data = form(
        {"FT": Name.Tx, "T": "Tenant.City", "V": "Bern", "DA": String("/Helv 14 Tf 0 g"), "Ff": REQUIRED},
        {"FT": Name.Btn, "T": "agreed", "V": Name.Yes, "AS": Name.Yes},
        {
            "FT": Name.Ch,
            "T": "colour",
            "Opt": Array([String("red"), Array([String("b"), String("blue")])]),
            "V": String("red"),
        },
        {"FT": Name.Sig, "T": "Tenant.signature"},
    )
    made, found = taken(data)
    assert kinds(found.form) == [
        ("Tenant.City", "text"),
        ("agreed", "checkbox"),
        ("colour", "select"),
        ("Tenant.signature", "signature"),
    ]
    city, agreed, colour, signature = found.form
    assert (city.value, city.required, city.font_size) == ("Bern", True, 14.0)
    assert (agreed.value, colour.options, colour.value) == ("true", ("red", "blue"), "red")
    assert (signature.required, colour.required) == (True, False)
    sides = [city.place.x, city.place.y, city.place.w, city.place.h]
    assert sides == pytest.approx([60 / WIDTH, 1 - 130 / HEIGHT, 140 / WIDTH, 30 / HEIGHT])
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert "/AcroForm" not in pdf.Root


def test_radio_buttons_make_a_group_of_choices() -> None:
    def button(state: str, chosen: str) -> dict[str, Any]:
        looks = Dictionary(N=Dictionary({f"/{state}": Dictionary(), "/Off": Dictionary()}))
        return {"FT": Name.Btn, "T": "Tenant.Floor", "Ff": RADIO, "AP": looks, "AS": Name(f"/{chosen}")}

    found = taken(form(button("first", "Off"), button("second", "second"), button("first", "Off")))[1].form
    assert [(one.kind, one.group, one.name, one.value) for one in found] == [
        ("radio", "Tenant.Floor", "first", ""),
        ("radio", "Tenant.Floor", "second", "true"),
        ("radio", "Tenant.Floor", "first 2", ""),
    ]


def test_what_stood_in_a_field_is_not_printed_under_it() -> None:
    look = with_look("Widget", **text_field())
    data = file(look, form={})
    box = (60, int(HEIGHT) - 130, 200, int(HEIGHT) - 100)
    kept, emptied = (shown(taken(data, terms)[0]).convert("L").crop(box).tobytes() for terms in (IntakeTerms(), FORM))
    assert min(kept) < 128
    assert min(emptied) == 255


def test_a_name_is_made_of_all_above_it_and_widgets_share_it() -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("A contract"), Rotate=90)
        parent = pdf.make_indirect(Dictionary(T="Tenant", FT=Name.Tx, V="Bern"))
        kids = [
            pdf.make_indirect(annotation("Widget", Parent=parent, T=name, Rect=[60, at, 200, at + 30]))
            for name, at in (("City", 100), ("City", 200))
        ]
        parent["/Kids"] = page["/Annots"] = Array(kids)
        pdf.Root["/AcroForm"] = Dictionary(Fields=Array([parent]))
        data = saved(pdf)
    found = taken(data)[1].form
    assert kinds(found) == [("Tenant.City", "text")] * 2
    assert {one.value for one in found} == {"Bern"}
    assert [found[0].place.w, found[0].place.h] == pytest.approx([30 / HEIGHT, 140 / WIDTH])


def test_what_nobody_can_fill_stays_on_the_page() -> None:
    data = form(
        {**text_field("fixed"), "Ff": READ_ONLY},
        {"FT": Name.Btn, "T": "reset", "Ff": PUSH_BUTTON},
        {**text_field("hidden"), "F": 2},
        {**text_field("tiny"), "Rect": [60, 100, 61, 101]},
        {**text_field("none"), "Rect": Array([])},
    )
    assert taken(data)[1].form == ()


def test_a_form_is_left_alone_unless_it_is_asked_for() -> None:
    assert taken(form({"FT": Name.Tx, "T": "City"}), IntakeTerms())[1].form == ()
