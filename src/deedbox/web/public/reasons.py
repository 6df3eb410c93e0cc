"""Why a verdict is what it is, in the reader's language; what only an expert understands stays in English beside it."""

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from deedbox import i18n
from deedbox.kernel.clock import moment

OWN = ("seal", "technical")
"""Words of the page, which no report says."""
_STAMPED = re.compile(r"A document timestamp from (\S+)\.")
_BEGINNING = re.compile(r"The first (\d+) bytes of this file are a sealed file with a genuine seal\. .+")


class ReportReason(NamedTuple):
    said: str
    detail: str = ""
    """In English: what exactly is wrong in the bytes of the file."""


def translate(reason: str, language: str) -> ReportReason:
    """One of a report's reasons, which are English sentences, as the words of the language have it."""
    if i18n.known(language) == i18n.DEFAULT:
        return ReportReason(reason)
    say = i18n.of_use(language, "reason")
    if stamped := _STAMPED.fullmatch(reason):
        return ReportReason(say["stamped"].format(at=i18n.moment(language, moment(stamped[1]))))
    if beginning := _BEGINNING.fullmatch(reason):
        return ReportReason(say["beginning"].format(size=beginning[1]))
    if found := _found(reason, say):
        return found
    # Of which signature: ours, or a field's name that the file gives.
    whose, _, rest = reason.partition(": ")
    if found := _found(rest, say):
        return ReportReason(f"{say['seal'] if whose == 'Seal' else whose}: {found.said}", found.detail)
    return ReportReason(say["technical"], reason)


def _found(reason: str, say: Mapping[str, str]) -> ReportReason | None:
    """The sentence, or one that begins with it and goes on with details."""
    plain = reason.rstrip(".")
    if name := _names().get(plain):
        return ReportReason(say[name])
    head, _, detail = plain.partition(": ")
    name = _names().get(head)
    return ReportReason(say[name], detail) if name and detail else None


@functools.cache
def _names() -> Mapping[str, str]:
    """The name of each sentence that a report may give, by what it is in English."""
    table = i18n.of_use(i18n.DEFAULT, "reason").items()
    return {sentence.rstrip("."): name for name, sentence in table if name not in OWN}
