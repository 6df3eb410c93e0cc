"""The rows of the People page as they are typed, and what its buttons do to them where no script does it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest


class PersonForm(msgspec.Struct):
    """A row: someone who signs, approves or gets a copy; as it is typed, to be shown again whatever is wrong."""

    key: str = ""
    name: str = ""
    email: str = ""
    language: str = ""
    role: str = "signer"
    auth: str = "none"


class StepForm(msgspec.Struct):
    """People whose turn it is at the same time: a party of the document."""

    key: str = ""
    name: str = ""
    rule: str = "all"
    quorum: str = ""
    together: bool = False
    """Whether it is their turn together with the step before."""
    signers: Annotated[list[PersonForm], Meta(max_length=limits.DOCUMENT_SIGNERS)] = []


class PeopleForm(msgspec.Struct):
    parties: Annotated[list[StepForm], Meta(max_length=limits.DOCUMENT_PARTIES)] = []


def _with_step(_: AnyRequest, steps: list[StepForm], __: str) -> list[StepForm]:
    return [*steps, StepForm(signers=[PersonForm()])]


def _with_person(_: AnyRequest, steps: list[StepForm], which: str) -> list[StepForm]:
    for step in steps[number_in(which) :][:1]:
        step.signers.append(PersonForm())
    return steps


def _with_me(request: AnyRequest, steps: list[StepForm], _: str) -> list[StepForm]:
    me = context.of(request).person
    return [*steps, StepForm(signers=[PersonForm(name=me.name, email=me.email or "")])]


def _up(_: AnyRequest, steps: list[StepForm], which: str) -> list[StepForm]:
    at = number_in(which)
    if 0 < at < len(steps):
        steps[at - 1], steps[at] = steps[at], steps[at - 1]
    return steps


def _down(request: AnyRequest, steps: list[StepForm], which: str) -> list[StepForm]:
    return _up(request, steps, str(number_in(which) + 1))


def _earlier(_: AnyRequest, steps: list[StepForm], which: str) -> list[StepForm]:
    return _sent(steps, which, -1)


def _later(_: AnyRequest, steps: list[StepForm], which: str) -> list[StepForm]:
    return _sent(steps, which, 1)


def _sent(steps: list[StepForm], which: str, way: int) -> list[StepForm]:
    """With one person a place further: within their step, into the next, or behind the last into one of their own."""
    step, row = (number_in(part) for part in [*which.split("."), ""][:2])
    if step >= len(steps) or row >= len(steps[step].signers):
        return steps
    people, beside = steps[step].signers, step + way
    if 0 <= row + way < len(people):
        people.insert(row + way, people.pop(row))
    elif 0 <= beside < len(steps):
        steps[beside].signers.insert(0 if way > 0 else len(steps[beside].signers), people.pop(row))
    elif len(people) > 1:
        steps.insert(max(beside, 0), StepForm(signers=[people.pop(row)]))
    return [one for one in steps if one.signers]


def _dropped(_: AnyRequest, steps: list[StepForm], which: str) -> list[StepForm]:
    step, row = [*which.split("."), ""][:2]
    for found in steps[number_in(step) :][:1]:
        del found.signers[number_in(row) : number_in(row) + 1]
    return [step for step in steps if step.signers]


def number_in(text: str) -> int:
    """What the text says; of what is no such number, one that is too large."""
    fits = text.isascii() and text.isdecimal() and len(text) <= len(str(limits.DOCUMENT_SIGNERS))
    return int(text) if fits else limits.DOCUMENT_SIGNERS + 1


ACTS = {
    "step": _with_step,
    "person": _with_person,
    "me": _with_me,
    "up": _up,
    "down": _down,
    "earlier": _earlier,
    "later": _later,
    "drop": _dropped,
}
"""What the buttons do to the rows where no script does it; nothing is kept by these."""
