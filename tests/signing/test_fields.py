"""Properties of fields: what is refused when it is asked for, what is shown, and that hidden fields never print."""

import time
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from deedbox import i18n
from deedbox.i18n import refusals
from deedbox.kernel.errors import BadRequest
from deedbox.signing import field_value, limits, pattern, show_if
from deedbox.signing.answers import fill_in
from deedbox.signing.completion.facts import Facts
from deedbox.signing.completion.marks import marks
from deedbox.signing.model import (
    Document,
    DocumentFile,
    Field,
    FieldType,
    Packet,
    Party,
    ShowIf,
    Signer,
    WorkspaceBrand,
)
from deedbox.signing.new_document import NewField
from tests.signing.desk import Desk, party, received

pytestmark = pytest.mark.anyio

AT = "2026-03-01T12:00:00Z"
ANN = Signer("sgn_1", "pty_1", "Ann", "ann@example.com", "en", "none")
BOB = replace(ANN, id="sgn_2", party_id="pty_2", name="Bob", email="bob@example.com")
FIRST = Party("pty_1", "First", 1, "all", None, "decline_document", True, [ANN])
SECOND = replace(FIRST, id="pty_2", name="Second", order=2, signers=[BOB])
FILE = DocumentFile("fil_1", "a.pdf", "0" * 64, 1, [(595.0, 842.0)])
PLACE: dict[str, Any] = {"page": 1, "x": 0.1, "y": 0.1, "w": 0.5, "h": 0.05}


def field(number: int, kind: FieldType = "checkbox", signer: Signer = ANN, **more: Any) -> Field:
    made = Field(
        f"fld_{number}", "fil_1", signer.id, None, kind, 1, 0.1, 0.1, 0.5, 0.05, False, f"L{number}", None, [], None
    )
    return replace(made, **more)


def document(fields: list[Field]) -> Document:
    return Document("doc_1", "wsp_1", "pkt_1", "T", "sent", "api", None, {}, [], False, AT, AT, fields=fields)


@st.composite
def conditions(draw: st.DrawFn) -> list[Field]:
    """Up to fourteen checkboxes of two signers, each perhaps shown by any other, or by itself."""
    count = draw(st.integers(1, 14))
    fields = []
    for number in range(count):
        decides = draw(st.one_of(st.none(), st.integers(0, count - 1)))
        equals = draw(
            st.sampled_from(["true", "false", "maybe"] if draw(st.integers(0, 9)) == 0 else ["true", "false"])
        )
        condition = None if decides is None else ShowIf(f"L{decides}", equals)
        fields.append(field(number, signer=draw(st.sampled_from([ANN, BOB])), show_if=condition))
    return fields


@given(conditions(), st.lists(st.sampled_from(["true", "false", ""]), min_size=14, max_size=14))
def test_a_chain_of_conditions_is_refused_or_can_be_decided_and_hidden_fields_never_print(
    fields: list[Field], answers: list[str]
) -> None:
    try:
        laid = document(show_if.resolve(fields, [FIRST, SECOND]))
    except BadRequest:
        return
    filled = {one.id: answer for one, answer in zip(fields, answers, strict=False)}
    for turn, who in ((FIRST, ANN), (SECOND, BOB)):
        laid = replace(laid, fields=fill_in(laid, turn, who, filled, AT))
    by_id = {one.id: one for one in laid.fields}
    for one in laid.fields:
        if one.show_if is not None and (by_id[one.show_if.field].value or "false") != one.show_if.equals:
            assert one.value is None, "it is hidden and holds something"
    printed = marks(facts(laid), {}).marks
    assert len(printed) == sum(one.value == "true" for one in laid.fields if one.id in show_if.shown(laid.fields))


def facts(laid: Document) -> Facts:
    packet = Packet("pkt_1", "wsp_1", True, "S", "C", None, "en", None, None, None, [FIRST, SECOND], [laid])
    placed = replace(laid, files=[FILE])
    return Facts(WorkspaceBrand("C"), packet, placed, received("x").blob, [], [])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([field(0, show_if=ShowIf("L0", "true"))], "in a circle"),
        ([field(0, show_if=ShowIf("L1", "true")), field(1, show_if=ShowIf("L0", "true"))], "in a circle"),
        ([field(0, show_if=ShowIf("L9", "true"))], "there is no such field"),
        ([field(0, show_if=ShowIf("L1", "true")), field(1), field(2, label="L1")], "several fields are called so"),
        ([field(0, show_if=ShowIf("L1", "yes")), field(1)], "can never be 'yes'"),
        ([field(0, show_if=ShowIf("L1", "a")), field(1, "select", options=["b"])], "can never be 'a'"),
        ([field(0, show_if=ShowIf("L1", "x")), field(1, "signature")], "can never be 'x'"),
        ([field(0, show_if=ShowIf("L1", "true")), field(1, signer=BOB)], "does not sign before"),
        (
            [field(0, "radio", group="g", show_if=ShowIf("L1", "true")), field(1, "radio", group="g")],
            "two radio buttons of one group",
        ),
        (
            [field(n, show_if=ShowIf(f"L{n + 1}", "true")) for n in range(limits.SHOW_IF_DEPTH + 1)]
            + [field(limits.SHOW_IF_DEPTH + 1)],
            "more than 10 steps",
        ),
    ],
)
def test_a_condition_that_nobody_could_fulfil_is_refused(fields: list[Field], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        show_if.resolve(fields, [FIRST, SECOND])


def test_a_condition_may_name_an_earlier_signer_s_field_or_a_choice_in_a_group() -> None:
    fields = [
        field(0, signer=BOB, show_if=ShowIf("L1", "true")),
        field(1),
        field(2, "text", show_if=ShowIf("Pets", "Yes")),
        field(3, "radio", group="Pets", label="Yes"),
        field(4, "radio", group="Pets", label="No"),
    ]
    found = show_if.resolve(fields, [FIRST, SECOND])
    assert [one.show_if for one in found[:3]] == [ShowIf("fld_1", "true"), None, ShowIf("fld_3", "true")]


def test_what_others_or_the_sender_have_settled_can_no_longer_come_to_be_shown() -> None:
    fields = [
        field(0, signer=BOB, show_if=ShowIf("fld_1", "true")),
        field(1, value="false"),
        field(2, signer=BOB, show_if=ShowIf("fld_3", "true")),
        field(3, signer=BOB),
        field(4, "text", signer=BOB, show_if=ShowIf("fld_5", "b")),
        field(5, "text", signer=BOB, read_only=True, default="a"),
    ]
    own = {one.id for one in fields if one.signer_id == BOB.id}
    assert show_if.possible(fields, own) & own == {"fld_2", "fld_3", "fld_5"}
    assert show_if.shown(fields) & own == {"fld_3", "fld_5"}


def test_of_a_group_one_is_chosen_and_what_a_colleague_has_signed_with_stays() -> None:
    both = [field(n, "radio", group="g", signer_id=None, party_id="pty_1") for n in (1, 2)]
    signed = document([replace(both[0], value="true"), both[1]])
    mine: dict[str, str] = {"fld_2": "true", "fld_1": ""}
    for filled in ({}, mine):
        found = fill_in(signed, FIRST, ANN, filled, AT)
        assert [one.value for one in found] == ["true", None]
    offered = document([replace(both[0], default="true"), both[1]])
    assert [one.value for one in fill_in(offered, FIRST, ANN, {"fld_2": "true"}, AT)] == [None, "true"]


def test_a_pattern_takes_time_by_the_length_of_the_text_alone() -> None:
    start = time.thread_time()
    assert not pattern.matches("(a+)+$", "a" * 10_000 + "!")
    assert not pattern.matches("(a|aa)+b", "a" * 10_000)
    assert time.thread_time() - start < 0.5
    assert pattern.matches("[A-Z]{2}[0-9]{4}", "AB1234")
    assert not pattern.matches("[A-Z]{2}[0-9]{4}", "AB12345"), "the whole value counts"
    assert pattern.matches(r"\p{Lu}\p{L}+", "Ærø")


async def test_a_pattern_that_cannot_be_used_is_refused_where_it_is_given(desk: Desk) -> None:
    for wrong in ("(a", "(?=a)b", r"(a)\1", "a{1001}", "[z-a]", "((a{100}){100}){100}"):
        with pytest.raises(BadRequest, match="cannot be used"):
            await desk.draft(fields=[asked("text", pattern=wrong)])


async def test_the_patterns_of_a_document_are_bounded_in_all_the_time_that_they_may_take(desk: Desk) -> None:
    with pytest.raises(BadRequest, match="cannot be used: it takes 7,214 steps"):
        await desk.draft(fields=[asked("text", pattern=".*.*.*.*.*a.{900}[ab]*")])
    slow = ".*.*.*.*.*a.{400}[ab]*"
    many = [asked("text", label=f"L{n}", pattern=slow, default="b" * 2000) for n in range(300)]
    start = time.thread_time()
    with pytest.raises(BadRequest, match="'L31': up to here, the patterns of the document take too long"):
        await desk.draft(fields=many)
    assert time.thread_time() - start < 2
    waits = [asked("checkbox", label=f"L{n}", show_if=ShowIf("One", "b" * 2000)) for n in range(40)]
    with pytest.raises(BadRequest, match="'One': up to here, the patterns of the document take too long"):
        await desk.draft(fields=[asked("text", pattern=slow), *waits])
    usual = [asked("text", label=f"L{n}", pattern="[A-Z]{2}[0-9]{4}", default="AB1234") for n in range(300)]
    assert len((await desk.draft(fields=usual)).fields) == 301


def test_every_fault_of_every_type_of_field_can_be_said_in_every_language() -> None:
    whole = replace(document([]), files=[FILE])
    for kind in get_args(FieldType):
        of_kind = field(1, kind, options=["Yes", "No"], pattern="[0-9]+", max_length=3, w=0.01, h=0.01)
        for value in ("yes", "maybe so", "12/13", "\U0001f9ff", "1" * 2001):
            for wrong in field_value._faults(whole, of_kind, value, "en"):
                for language in i18n.LANGUAGES:
                    assert refusals.sentence(wrong, language)


async def test_a_wrong_value_in_a_radio_button_is_refused(desk: Desk) -> None:
    buttons = [asked("radio", group="Pets", label=label) for label in ("Yes", "No")]
    with pytest.raises(BadRequest, match="Yes: A radio button is true or false"):
        await desk.draft(fields=[replace(buttons[0], default="maybe"), buttons[1]])
    sent = await desk.sent(party("Ann", "ann"), fields=buttons)
    with pytest.raises(BadRequest, match="Yes: A radio button is true or false"):
        await desk.sign(sent, "ann", **{sent.fields[0].id: "maybe"})


async def test_a_value_is_for_the_text_and_not_for_the_radio_button_of_its_label(desk: Desk) -> None:
    buttons = [asked("radio", group="Pets", label=label) for label in ("Other", "No")]
    made = await desk.draft(fields=[*buttons, asked("text", label="Other")], values={"Other": "a goldfish"})
    assert [one.default for one in made.fields[:3]] == [None, None, "a goldfish"]
    with pytest.raises(BadRequest, match="No field has the label 'No'"):
        await desk.draft(fields=buttons, values={"No": "true"})


def asked(kind: FieldType, **more: Any) -> NewField:
    return NewField(type=kind, **PLACE, signer="ann@example.com", **{"label": "One", **more})


DISCORDANT: list[tuple[list[NewField], str]] = [
    ([asked("text", read_only=True)], "needs a default or a value"),
    ([asked("checkbox", read_only=True, default="false")], "needs a default or a value"),
    ([asked("signature", read_only=True)], "only its signer can fill it"),
    ([asked("attachment", default="x")], "only its signer can fill it"),
    ([asked("number", max_length=3)], "only a text field may have"),
    ([asked("number", pattern="a")], "only a text field may have"),
    ([asked("text", group="g")], "only a radio field may have"),
    ([asked("radio")], "needs a group and a label"),
    ([asked("radio", group="g", label=None)], "needs a group and a label"),
    ([asked("radio", group="g"), asked("radio", group="g")], "have the same label"),
    (
        [asked("radio", group="g", default="true"), asked("radio", group="g", label="b", default="true")],
        "one may be",
    ),
    ([asked("radio", group="g", read_only=True, default="true"), asked("radio", group="g", label="b")], "all be"),
    ([asked("text", max_length=3, default="four")], "At most 3 characters"),
    ([asked("text", pattern="[0-9]+", default="four")], "not have the required format"),
    (
        [asked("text", pattern="[0-9]+"), asked("date", label="b", show_if=ShowIf("One", "x"))],
        "not have the required format",
    ),
    ([asked("attachment", label=f"a{n}") for n in range(21)], "at most 20 attachments"),
]


async def test_properties_that_do_not_go_together_are_refused(desk: Desk) -> None:
    for fields, said in DISCORDANT:
        with pytest.raises(BadRequest, match=said):
            await desk.draft(fields=fields)


async def test_values_choose_in_a_group_and_are_bounded_like_those_of_signers(desk: Desk) -> None:
    buttons = [asked("radio", group="Pets", label=label) for label in ("Yes", "No")]
    made = await desk.draft(fields=buttons, values={"Pets": "No"})
    assert [one.default for one in made.fields[:2]] == [None, "true"]
    with pytest.raises(BadRequest, match="choose one of Yes, No"):
        await desk.draft(fields=buttons, values={"Pets": "Perhaps"})
    with pytest.raises(BadRequest, match="At most 2 characters"):
        await desk.draft(fields=[asked("text", max_length=2)], values={"One": "abc"})


async def test_what_is_read_only_stands_and_cannot_be_written(desk: Desk) -> None:
    fixed = [asked("text", read_only=True), asked("name", label="Who", read_only=True)]
    document = await desk.sent(party("Ann", "ann"), fields=fixed, values={"One": "500"})
    with pytest.raises(BadRequest, match="One: This was filled in by the sender"):
        await desk.sign(document, "ann", **{document.fields[0].id: "1"})
    signed = await desk.sign(document, "ann")
    assert [one.value for one in signed.fields[:2]] == ["500", "Ann"]


async def test_a_required_group_wants_one_choice_and_no_more(desk: Desk) -> None:
    buttons = [asked("radio", group="Pets", label=label) for label in ("Yes", "No")]
    document = await desk.sent(party("Ann", "ann"), fields=buttons)
    yes, no = [one.id for one in document.fields[:2]]
    with pytest.raises(BadRequest, match="Choose one of Yes, No"):
        await desk.sign(document, "ann")
    with pytest.raises(BadRequest, match="Choose only one of Yes, No"):
        await desk.sign(document, "ann", **{yes: "true", no: "true"})
    signed = await desk.sign(document, "ann", **{yes: "false", no: "true"})
    assert [one.value for one in signed.fields[:2]] == [None, "true"]


async def test_a_hidden_field_is_not_required_and_keeps_nothing(desk: Desk) -> None:
    tick = asked("checkbox", label="Pets", required=False)
    which = asked("text", label="Which", pattern="[a-z]+", show_if=ShowIf("Pets", "true"))
    for ticked, typed, value in (("false", "", None), ("false", "A CAT", None), ("true", "cat", "cat")):
        document = await desk.sent(party("Ann", "ann"), fields=[tick, which])
        box, text = [one.id for one in document.fields[:2]]
        signed = await desk.sign(document, "ann", **{box: ticked, text: typed})
        assert [one.value for one in signed.fields[:2]] == [ticked, value]
    document = await desk.sent(party("Ann", "ann"), fields=[tick, which])
    with pytest.raises(BadRequest, match="Which: This field is required"):
        await desk.sign(document, "ann", **{document.fields[0].id: "true"})


async def test_who_has_only_a_signature_that_may_be_hidden_gets_another(desk: Desk) -> None:
    tick = asked("checkbox", label="Pets", required=False)
    hidden = asked("signature", label="S", show_if=ShowIf("Pets", "true"))
    document = await desk.sent(party("Ann", "ann"), fields=[tick, hidden])
    signed = await desk.sign(document, "ann")
    assert [(one.type, bool(one.value)) for one in signed.fields[1:]] == [("signature", False), ("signature", True)]
