# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `signer`."""

from typing import Literal

from msgspec import Struct


class Code(Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    """The code that was mailed, or the one that the sender told."""


class Values(Struct, frozen=True, kw_only=True, omit_defaults=True):
    values: dict[str, str]
    """What is filled in so far, by the field's id."""


class Typed(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="typed"):
    text: str
    """The name, to be written in a script."""
    hand: Literal["caveat", "dancing", "vibes"] = "dancing"
    """In which hand: Dancing Script, Caveat or Great Vibes; scripts that it lacks are written in another."""


class Drawn(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="drawn"):
    """A drawn signature: its strokes, or an image of it. Send exactly one of `strokes` and `image`."""

    strokes: list[list[tuple[float, float, float, float]]] | None = None
    """What the hand drew, stroke by stroke: of each point x and y on the pad, from its top left corner, the force
    from 0 to 1 (0 where the device tells none) and the time in milliseconds. It is sealed as lines, not as
    pixels."""
    width: int = 1000
    """Of the pad, in the units of x and y."""
    height: int = 360
    """Of the pad, in the units of x and y."""
    image: str | None = None
    """A data URL, PNG or JPEG."""


class UploadedMark(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="uploaded"):
    image: str
    """A data URL, PNG or JPEG."""


class Complete(Struct, frozen=True, kw_only=True, omit_defaults=True):
    consent: bool
    """Must be true: the signer agrees to the consent text."""
    signature: Typed | Drawn | UploadedMark | None = None
    """How the signer signs; an approver gives none."""
    initials: Typed | Drawn | UploadedMark | None = None
    """For fields of initials; without them, the first letters of the signer's name stand there."""
    values: dict[str, str] = {}
    """What is filled in, by the field's id, beside what was kept before."""


class DeclineBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: str | None = None
    """Why, as the sender is told."""


class Delegation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    """The name of whoever signs instead."""
    email: str
    """Where the invitation goes."""
    reason: str | None = None
    """Why, as the sender is told."""
