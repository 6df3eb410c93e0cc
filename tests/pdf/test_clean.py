"""Nothing stays in a file that could change its face after it was sealed."""

import io
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name
from PIL import ImageChops

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import annotations, clean
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.signed_input import IntakeTerms
from tests.pdf.papers import add_page, drained, font, lines, saved, shown, text_of

SCRIPT = Dictionary(S=Name.JavaScript, JS="app.alert(1)")


def cleaned(pdf: pikepdf.Pdf) -> tuple[pikepdf.Pdf, tuple[str, ...]]:
    made, known = drained(intake.take_in(saved(pdf)))
    return pikepdf.open(io.BytesIO(made)), known.removed


def one_page(**entries: Any) -> pikepdf.Pdf:
    pdf = pikepdf.new()
    add_page(pdf, lines("A contract"), **entries)
    return pdf


def link(**entries: Any) -> Dictionary:
    return Dictionary(Type=Name.Annot, Subtype=Name.Link, Rect=[10, 10, 50, 30], **entries)


def appearance(pdf: pikepdf.Pdf, content: bytes) -> Dictionary:
    form = pdf.make_stream(content)
    form["/Type"], form["/Subtype"], form["/BBox"] = Name.XObject, Name.Form, Array([0, 0, 100, 20])
    form["/Resources"] = Dictionary(Font=Dictionary(F=font()))
    return Dictionary(N=form)


def test_scripts_are_removed_wherever_they_hang() -> None:
    pdf = one_page(AA=Dictionary(O=SCRIPT))
    pdf.Root["/OpenAction"] = SCRIPT
    pdf.Root["/AA"] = Dictionary(WC=SCRIPT)
    pdf.Root["/Names"] = Dictionary(JavaScript=Dictionary(Names=Array([pikepdf.String("a"), SCRIPT])))
    pdf.Root["/Outlines"] = Dictionary(First=Dictionary(Title="a", A=SCRIPT))
    pdf.pages[0].obj["/Annots"] = Array([link(A=SCRIPT), link(AA=Dictionary(E=SCRIPT))])
    after, removed = cleaned(pdf)
    assert removed == (clean.SCRIPTS,)
    assert b"alert" not in b"".join(_unparsed(after))


@pytest.mark.parametrize(
    ("opening", "named"),
    [
        (Array([0, Name.Fit]), clean.OPENING),
        (Dictionary(S=Name.GoTo, D=Array([0, Name.Fit])), clean.OPENING),
        (Dictionary(S=Name.Named, N=Name.Print), clean.OPENING),
        (Dictionary(S=Name.URI, URI="https://example.org"), clean.OPENING),
        (Dictionary(S=Name.Launch, F="a.exe"), clean.SCRIPTS),
    ],
)
def test_what_opens_with_the_file_is_removed_and_named(opening: Any, named: str) -> None:
    pdf = one_page()
    pdf.Root["/OpenAction"] = opening
    after, removed = cleaned(pdf)
    assert ("/OpenAction" in after.Root, removed) == (False, (named,))


def test_a_full_screen_is_removed_and_other_page_modes_stay() -> None:
    pdf = one_page()
    pdf.Root["/PageMode"] = Name.FullScreen
    after, removed = cleaned(pdf)
    assert ("/PageMode" in after.Root, removed) == (False, (clean.OPENING,))
    pdf.Root["/PageMode"] = Name.UseOutlines
    after, removed = cleaned(pdf)
    assert (after.Root.PageMode, removed) == (Name.UseOutlines, ())


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ({"Alternates": Array([Dictionary(DefaultForPrinting=True)])}, clean.ALTERNATES),
        ({"OPI": Dictionary({"/2.0": Dictionary(F="other.tif")})}, clean.OUTSIDE),
        ({"F": Dictionary(F="other.bin"), "FFilter": Name.FlateDecode}, clean.OUTSIDE),
        ({"Ref": Dictionary(F="other.pdf", Page=0)}, clean.OUTSIDE),
        ({"AF": Array([Dictionary(F="other.bin")])}, annotations.ATTACHMENTS),
    ],
)
@pytest.mark.parametrize("kind", ["Image", "Form"])
def test_what_could_replace_an_image_or_a_form_is_removed(kind: str, entries: dict[str, Any], named: str) -> None:
    pdf = one_page()
    drawn = pdf.make_stream(b"\x80")
    shape = {"Width": 1, "Height": 1, "BitsPerComponent": 8, "ColorSpace": Name.DeviceGray}
    described = shape if kind == "Image" else {"BBox": [0, 0, 9, 9]}
    for key, value in {"Type": Name.XObject, "Subtype": Name(f"/{kind}"), **described, **entries}.items():
        drawn[f"/{key}"] = value
    pdf.pages[0].obj.Resources["/XObject"] = Dictionary(X=drawn)
    after, removed = cleaned(pdf)
    kept = after.pages[0].obj.Resources.XObject.X
    assert (removed, [key for key in entries if f"/{key}" in kept]) == ((named,), [])


def _unparsed(pdf: pikepdf.Pdf) -> list[bytes]:
    return [one.unparse(resolved=True) for one in pdf.objects if not isinstance(one, int)]


@pytest.mark.parametrize(
    "action",
    [
        Dictionary(S=Name.Launch, F="calc.exe"),
        Dictionary(S=Name.SubmitForm, F="https://example.org"),
        Dictionary(S=Name.SetOCGState, State=[]),
        Dictionary(S=Name.Hide, T="a"),
        Dictionary(S=Name.GoToR, F="other.pdf"),
        Dictionary(S=Name.URI, URI="javascript:alert(1)"),
        Dictionary(S=Name.URI, URI="file:///etc/passwd"),
        Dictionary(S=Name.URI),
        Dictionary(),
    ],
)
def test_an_action_that_does_more_than_lead_somewhere_is_removed(action: Dictionary) -> None:
    pdf = one_page()
    pdf.pages[0].obj["/Annots"] = Array([link(A=action)])
    after, removed = cleaned(pdf)
    assert removed == (clean.SCRIPTS,)
    assert "/A" not in after.pages[0].obj.Annots[0]


def test_links_to_web_addresses_and_pages_stay_without_what_follows_them() -> None:
    pdf = one_page()
    web = Dictionary(S=Name.URI, URI="https://example.org", Next=SCRIPT)
    pdf.pages[0].obj["/Annots"] = Array([link(A=web), link(Dest=Array([0, Name.Fit]))])
    after, removed = cleaned(pdf)
    links = after.pages[0].obj.Annots
    assert (len(links), str(links[0].A.URI), "/Next" in links[0].A) == (2, "https://example.org", False)
    assert removed == (clean.SCRIPTS,)


def test_links_to_web_addresses_are_removed_from_a_file_of_a_signer() -> None:
    pdf = one_page()
    web = Dictionary(S=Name.URI, URI="https://example.org")
    pdf.pages[0].obj["/Annots"] = Array([link(A=web), link(A=Dictionary(S=Name.GoTo, D=Array([0, Name.Fit])))])
    pdf.Root["/Outlines"] = Dictionary(First=Dictionary(Title="a", A=web))
    made, known = drained(intake.take_in(saved(pdf), IntakeTerms(web_links=False)))
    assert known.removed == (clean.WEB_LINKS,)
    with pikepdf.open(io.BytesIO(made)) as after:
        assert b"example.org" not in b"".join(_unparsed(after))
        assert [str(one.A.S) for one in after.pages[0].obj.Annots if "/A" in one] == ["/GoTo"]


def test_attached_files_are_removed_and_named() -> None:
    pdf = one_page()
    pdf.attachments["a.exe"] = b"MZ"
    pdf.pages[0].obj["/Annots"] = Array(
        [Dictionary(Type=Name.Annot, Subtype=Name.FileAttachment, Rect=[0, 0, 9, 9], FS=Dictionary(F="b.exe"))]
    )
    after, removed = cleaned(pdf)
    assert removed == (annotations.ATTACHMENTS,)
    assert len(after.attachments) == 0
    assert "/Annots" not in after.pages[0].obj


@pytest.mark.parametrize("kind", ["Screen", "Movie", "Sound", "RichMedia", "3D"])
def test_moving_pictures_are_removed_and_named(kind: str) -> None:
    pdf = one_page()
    pdf.pages[0].obj["/Annots"] = Array([Dictionary(Type=Name.Annot, Subtype=Name(f"/{kind}"), Rect=[0, 0, 9, 9])])
    after, removed = cleaned(pdf)
    assert removed == (annotations.MEDIA,)
    assert "/Annots" not in after.pages[0].obj


def test_notes_and_form_values_become_part_of_the_page_and_look_the_same() -> None:
    pdf = one_page()
    field = Dictionary(
        Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T="city", V="Oslo", Rect=[60, 600, 160, 620], F=4,
        AP=appearance(pdf, b"BT /F 12 Tf 2 5 Td (Oslo) Tj ET"),
    )  # fmt: skip
    note = Dictionary(
        Type=Name.Annot, Subtype=Name.FreeText, Rect=[60, 500, 160, 520], F=4,
        AP=appearance(pdf, b"1 0 0 rg 0 0 100 20 re f"),
    )  # fmt: skip
    pdf.pages[0].obj["/Annots"] = Array([pdf.make_indirect(field), pdf.make_indirect(note)])
    pdf.Root["/AcroForm"] = Dictionary(Fields=Array([pdf.pages[0].obj.Annots[0]]))
    before = saved(pdf)
    made, known = drained(intake.take_in(before))
    assert known.removed == (clean.FORM,)
    assert "Oslo" in text_of(made)
    red = shown(made).getpixel((100, 842 - 510))
    assert red == (255, 0, 0)
    with pikepdf.open(io.BytesIO(made)) as after:
        assert "/AcroForm" not in after.Root
        assert "/Annots" not in after.pages[0].obj


def test_a_value_that_only_viewers_would_draw_is_drawn() -> None:
    pdf = one_page()
    field = Dictionary(
        Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T="city", V="Trondheim", Rect=[60, 600, 200, 620], F=4,
        DA="/F 12 Tf 0 g",
    )  # fmt: skip
    pdf.pages[0].obj["/Annots"] = Array([pdf.make_indirect(field)])
    pdf.Root["/AcroForm"] = Dictionary(
        Fields=pdf.pages[0].obj.Annots, NeedAppearances=True, DR=Dictionary(Font=Dictionary(F=font()))
    )
    made, known = drained(intake.take_in(saved(pdf)))
    assert known.removed == (clean.FORM,)
    assert "Trondheim" in text_of(made)
    assert "A contract" in text_of(made)


def test_a_form_that_viewers_would_draw_keeps_its_links_and_the_size_of_its_page() -> None:
    """As LaTeX writes forms: the values are left to the viewer, and there are links on the same page."""
    pdf = one_page()
    value = pdf.make_indirect(Dictionary(
        Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T="a", V="Bergen", Rect=[60, 600, 200, 620], F=4,
        DA=pikepdf.String("/F 12 Tf 0 g"),
    ))  # fmt: skip
    pdf.pages[0].obj["/Annots"] = Array([link(A=Dictionary(S=Name.URI, URI="https://a.example")), value])
    pdf.Root["/AcroForm"] = Dictionary(
        Fields=Array([value]), NeedAppearances=True, DR=Dictionary(Font=Dictionary(F=font()))
    )
    after, _ = cleaned(pdf)
    page = after.pages[0].obj
    assert [str(one.Subtype) for one in page.Annots] == ["/Link"]
    assert [float(edge) for edge in page.MediaBox] == [0, 0, 595, 842]
    assert "Bergen" in text_of(saved(after))


MARKERS: dict[str, dict[str, Any]] = {
    "Square": {"C": [1, 0, 0], "IC": [0, 1, 0]},
    "Highlight": {"QuadPoints": [60, 130, 200, 130, 60, 100, 200, 100], "C": [1, 1, 0]},
    "Ink": {"InkList": [[60, 105, 120, 125, 200, 110]], "C": [0, 0, 1], "BS": Dictionary(W=4)},
}


@pytest.mark.parametrize("kind", MARKERS)
def test_a_marker_that_only_viewers_would_draw_is_drawn(kind: str) -> None:
    pdf = one_page()
    marker = Dictionary(Type=Name.Annot, Subtype=Name(f"/{kind}"), Rect=[60, 100, 200, 130], F=4, **MARKERS[kind])
    pdf.pages[0].obj["/Annots"] = Array([pdf.make_indirect(marker)])
    before, (after, removed) = shown(saved(pdf)), cleaned(pdf)
    assert removed == ()
    assert "/Annots" not in after.pages[0].obj
    assert ImageChops.difference(before, shown(saved(one_page()))).getbbox() is not None
    assert ImageChops.difference(before, shown(saved(after))).getbbox() is None


@pytest.mark.parametrize(
    ("kind", "entries"), [("Watermark", {}), ("Line", {"L": [1, 2]}), ("Stamp", {"Name": Name("/#")})]
)
def test_an_annotation_that_no_viewer_shows_is_named_to_the_sender(kind: str, entries: dict[str, Any]) -> None:
    pdf = one_page()
    undrawn = Dictionary(Type=Name.Annot, Subtype=Name(f"/{kind}"), Rect=[60, 100, 200, 130], F=4, **entries)
    pdf.pages[0].obj["/Annots"] = Array([pdf.make_indirect(undrawn)])
    assert cleaned(pdf)[1] == (annotations.UNDRAWN,)


def test_a_hidden_note_does_not_come_to_light() -> None:
    pdf = one_page()
    note = Dictionary(
        Type=Name.Annot, Subtype=Name.FreeText, Rect=[60, 500, 160, 520], F=2,
        AP=appearance(pdf, b"1 0 0 rg 0 0 100 20 re f"),
    )  # fmt: skip
    pdf.pages[0].obj["/Annots"] = Array([note])
    made, _ = drained(intake.take_in(saved(pdf)))
    assert shown(made).getpixel((100, 842 - 510)) == (255, 255, 255)


def test_layers_can_no_longer_be_switched() -> None:
    pdf = one_page()
    layer = pdf.make_indirect(
        Dictionary(Type=Name.OCG, Name="Draft", Usage=Dictionary(Print=Dictionary(PrintState=Name.OFF)))
    )
    usual = Dictionary(Order=Array([layer]), AS=Array([Dictionary(Event=Name.Print, OCGs=Array([layer]))]))
    pdf.Root["/OCProperties"] = Dictionary(OCGs=Array([layer]), D=usual, Configs=Array([]))
    after, removed = cleaned(pdf)
    layers = after.Root.OCProperties
    assert removed == (clean.LAYERS,)
    assert sorted(layers.D.keys()) == ["/Locked"]
    assert len(layers.D.Locked) == 1
    assert "/Usage" not in layers.OCGs[0]
    assert "/Configs" not in layers


def test_a_dynamic_xfa_form_is_refused_and_a_copy_beside_a_real_form_removed() -> None:
    pdf = one_page()
    pdf.Root["/AcroForm"] = Dictionary(Fields=Array([]), XFA=pdf.make_stream(b"<xdp/>"))
    with pytest.raises(BadRequest, match="XFA"):
        cleaned(pdf)
    field = pdf.make_indirect(Dictionary(FT=Name.Tx, T="a"))
    pdf.Root["/AcroForm"] = Dictionary(Fields=Array([field]), XFA=pdf.make_stream(b"<xdp/>"))
    after, removed = cleaned(pdf)
    assert removed == (clean.FORM, clean.XFA_COPY)
    assert "/AcroForm" not in after.Root
    pdf.Root["/NeedsRendering"] = True
    with pytest.raises(BadRequest, match="XFA"):
        cleaned(pdf)


def test_a_portfolio_is_refused() -> None:
    pdf = one_page()
    pdf.Root["/Collection"] = Dictionary(View=Name.T)
    with pytest.raises(BadRequest, match="portfolio"):
        cleaned(pdf)


def test_fields_and_bookmarks_in_a_circle_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OUTLINE_ITEMS", 50)
    pdf = one_page()
    group = pdf.make_indirect(Dictionary(T="a"))
    group["/Kids"] = Array([group])
    pdf.Root["/AcroForm"] = Dictionary(Fields=Array([group]))
    mark = pdf.make_indirect(Dictionary(Title="a"))
    mark["/Next"] = mark
    pdf.Root["/Outlines"] = pdf.make_indirect(Dictionary(First=mark))
    after, _ = cleaned(pdf)
    assert "/Outlines" not in after.Root


def test_more_fields_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FORM_FIELDS", 3)
    pdf = one_page()
    fields = [pdf.make_indirect(Dictionary(FT=Name.Tx, T=f"f{number}")) for number in range(4)]
    pdf.Root["/AcroForm"] = Dictionary(Fields=Array(fields))
    with pytest.raises(BadRequest, match="more than 3 form fields"):
        cleaned(pdf)
