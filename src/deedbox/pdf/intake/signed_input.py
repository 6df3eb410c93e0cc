"""Files that were locked or signed before they came: how they are taken, and what is told of their signatures."""

from typing import Literal, TypeAlias

from msgspec import Struct

from deedbox.kernel.redacted import Redacted

SignedInput: TypeAlias = Literal["refuse", "flatten"]
"""`flatten`: the signatures are checked and named, and how they look becomes part of the page."""

LOCKED = "This file is password-protected. Enter its password or upload an unprotected copy."
NOT_OPENED = "The password does not open this PDF. Give another, or upload it without protection."


class EarlierSignature(Struct, frozen=True, kw_only=True):
    """A signature in a file as it came. The file that is sealed shows how it looked, and no longer holds it."""

    kind: Literal["signature", "timestamp"]
    """A person's or company's signature, or a time-stamp of the document."""
    signer: str
    """As its certificate names the signer; whether that certificate is to be trusted was not judged."""
    issuer: str
    """Who issued the certificate."""
    signed_at: str | None
    """As the signer says."""
    timestamped_at: str | None
    """As the time-stamp says."""
    valid: bool
    """It fits the bytes that it is about, and nothing was done to the file later that it does not allow."""
    covers_entire_file: bool
    """False: it is about an earlier state of the file, and something was added later."""
    problem: str | None = None
    """Why it is not valid."""


class IntakeTerms(Redacted, frozen=True):
    """How the sender wants a file to be taken in."""

    password: str | None = None
    """Opens the file. It is kept nowhere."""
    signed_input: SignedInput = "refuse"
    tags: bool = True
    """Whether its text may ask for fields; else what looks like a tag is text like any other."""
    form: bool = False
    """Whether the fields of a fillable PDF are taken off its pages, to be asked of those who sign."""
    web_links: bool = True
    """Whether links may lead to web addresses; those of a stranger would stand behind the sender's own pages."""
    converted: bool = False
    """Whether a converter wrote the PDF: then a character without a font is a reason to refuse it."""
