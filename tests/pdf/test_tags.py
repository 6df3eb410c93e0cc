"""Text tags: what they ask for, and where they lie on the page as it is displayed."""

from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits as pdf_limits
from deedbox.pdf.intake import tags
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.marks.marks import Tag
from tests.pdf.papers import drained, lines, paper


def found(data: bytes) -> tuple[Tag, ...]:
    return drained(intake.take_in(data))[1].tags


def test_a_tag_is_found_with_its_role_and_stands_on_its_line() -> None:
    (tag,) = found(paper(lines("Signed: {{signature:Buyer}}", x=60, y=200)))
    assert (tag.kind, tag.role, tag.required, tag.text) == ("signature", "Buyer", True, "{{signature:Buyer}}")
    assert tag.place.w * 595 == pytest.approx(180)
    assert tag.place.h * 842 == pytest.approx(48)
    assert (tag.place.y + tag.place.h) * 842 == pytest.approx(842 - 200, abs=6)
    assert tag.place.x * 595 == pytest.approx(60 + 40, abs=1)
    assert tag.font_size == 11


def test_a_text_tag_has_a_label_and_settings() -> None:
    (tag,) = found(paper(lines("{{text:Buyer:Place of birth;required=false;w=120;h=30.5}}", size=8)))
    assert (tag.kind, tag.label, tag.required) == ("text", "Place of birth", False)
    assert (tag.place.w * 595, tag.place.h * 842) == pytest.approx((120, 30.5))


@pytest.mark.parametrize(
    ("tag", "kind", "label"),
    [
        ("{{date:Buyer}}", "date_signed", ""),
        ("{{date:Buyer;w=90}}", "date_signed", ""),
        ("{{date_signed:Buyer:Signed on}}", "date_signed", "Signed on"),
        ("{{date:Buyer:Date of birth}}", "date", "Date of birth"),
    ],
)
def test_only_a_date_tag_without_label_is_the_signing_date(tag: str, kind: str, label: str) -> None:
    (one,) = found(paper(lines(tag, size=8)))
    assert (one.kind, one.label) == (kind, label)


def test_a_select_has_options() -> None:
    (tag,) = found(paper(lines("{{select:Buyer:Payment;options=Cash | Card}}", size=8)))
    assert tag.options == ("Cash", "Card")


def test_a_tag_may_bound_a_text_and_group_radio_buttons() -> None:
    text, radio = found(
        paper(
            lines("{{text:Buyer:Code;read_only=true;max_length=5;pattern=[A-Z]{2}[0-9]{3,}}}", size=6)
            + lines("{{radio:Buyer:Yes;group=Pets}}", y=600)
        )
    )
    assert (text.read_only, text.max_length, text.pattern) == (True, 5, "[A-Z]{2}[0-9]{3,}")
    assert (radio.kind, radio.label, radio.group, radio.read_only) == ("radio", "Yes", "Pets", False)


def test_a_pattern_may_have_braces() -> None:
    first, second = found(
        paper(
            lines("{{text:Buyer:Code;pattern=[A-Z]{2}[a-z]{1,3}}}", size=6)
            + lines("{{text:Buyer:Other;pattern=[0-9]{2}-x;max_length=9}}", y=600)
        )
    )
    assert (first.pattern, second.pattern, second.max_length) == ("[A-Z]{2}[a-z]{1,3}", "[0-9]{2}-x", 9)


def test_tags_come_in_the_order_of_the_pages_and_lines() -> None:
    data = paper(lines("{{date:B}} and {{name:B}}", "{{checkbox:B}}"), lines("{{email:S}}"))
    assert [(tag.kind, tag.place.page) for tag in found(data)] == [
        ("date_signed", 1), ("name", 1), ("checkbox", 1), ("email", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["{{company_name}}", "{{}}", "{{Signature:Buyer}}", "{signature:Buyer}", "{{shape:Buyer}}", "{{signature}}"]
)
def test_what_is_no_tag_is_left_alone(text: str) -> None:
    assert found(paper(lines(text))) == ()


@pytest.mark.parametrize(
    "text",
    [
        "{{signature: }}",
        "{{signature:Buyer;colour=red}}",
        "{{signature:Buyer;required=maybe}}",
        "{{signature:Buyer;w=wide}}",
        "{{text:Buyer;max_length=0}}",
        "{{text:Buyer;read_only=perhaps}}",
        "{{signature:Buyer;h=0}}",
        "{{signature:Buyer;w=-5}}",
        "{{select:Buyer:Payment}}",
        "{{date:Buyer;options=a|b}}",
        "{{signature:" + "B" * (limits.FIELD_LABEL_CHARS + 1) + "}}",
    ],
)
def test_a_tag_that_cannot_be_understood_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(BadRequest) as refused:
        tags.read(text)
    assert text in refused.value.message


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (30, 40, 560, 800)])
def test_a_tag_is_where_its_text_is_displayed_however_the_page_is_turned(
    rotate: int, crop: tuple[int, ...] | None
) -> None:
    x, y = 200.0, 300.0
    entries: dict[str, Any] = {"CropBox": list(crop)} if crop else {}
    data = paper(lines("{{initials:Buyer}}", x=x, y=y), Rotate=rotate, **entries)
    (tag,) = found(data)
    left, bottom, right, top = crop or (0, 0, 595, 842)
    w, h = right - left, top - bottom
    # The start of the text, seen from the displayed top left corner, in fractions.
    corner = {
        0: ((x - left) / w, (top - y) / h),
        90: ((y - bottom) / h, (x - left) / w),
        180: ((right - x) / w, (y - bottom) / h),
        270: ((top - y) / h, (right - x) / w),
    }[rotate]
    assert (tag.place.x, tag.place.y + tag.place.h) == pytest.approx(corner, abs=0.01)
    assert 0 <= tag.place.x <= tag.place.x + tag.place.w <= 1.0001
    assert 0 <= tag.place.y <= tag.place.y + tag.place.h <= 1.0001


def test_a_tag_may_run_over_the_end_of_a_line() -> None:
    (tag,) = found(paper(lines("{{text:Buyer:", "Place of birth}}")))
    assert tag.label == "Place of birth"


def test_more_tags_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_limits, "TEXT_TAGS", 2)
    with pytest.raises(BadRequest, match="more than 2 text tags"):
        found(paper(lines("{{date:A}}", "{{date:B}}", "{{date:C}}")))


def test_a_field_ends_where_the_text_after_its_tag_begins() -> None:
    alone, followed, wide = (
        found(paper(lines(text, x=60, y=200)))[0].place.w * 595
        for text in ("{{text:B}}", "{{text:B}} and so on", "{{text:B;w=150}} and so on")
    )
    assert (alone, wide) == pytest.approx((150, 150))
    assert followed == pytest.approx(43, abs=3)


def test_a_field_in_a_large_line_is_large() -> None:
    (tag,) = found(paper(lines("{{text:Buyer}}", size=22)))
    assert tag.font_size == 22
    assert tag.place.h * 842 == pytest.approx(36)


def test_a_tag_too_small_to_be_read_asks_for_the_usual_size() -> None:
    (tag,) = found(paper(lines("{{text:Buyer}}", size=2)))
    assert tag.font_size == 11
    assert tag.place.h * 842 == pytest.approx(18)
