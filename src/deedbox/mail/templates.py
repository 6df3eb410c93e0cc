"""A letter as subject, plain text and HTML. Everything that a person typed is escaped."""

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from deedbox import words
from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from deedbox.kernel.mailbox import one_line
from deedbox.mail.letter import Mail

_LONG_TEXTS = ("body", "reason")


class Rendered(msgspec.Struct, frozen=True):
    subject: str
    text: str
    html: str


def render(mail: Mail, *, attached: bool) -> Rendered:
    """The mail as its reader sees it; `attached` says whether the file goes with it."""
    language = words.known(mail.language)
    values = {name: _tidy(name, value) for name, value in msgspec.structs.asdict(mail.letter).items()}
    subject = values.get("subject") or words.table(language)[f"mail.{mail.kind}_subject"].format(**values)
    # Cut by characters, so that a header never ends within one.
    subject = subject if len(subject) <= limits.MAIL_SUBJECT_CHARS else subject[: limits.MAIL_SUBJECT_CHARS - 1] + "…"
    values |= {
        "subject": subject,
        "name": one_line(mail.to.name),
        "enclosed": mail.attachment is not None,
        "attached": attached,
        "language": language,
        "direction": words.direction(language),
        "written": lambda instant: words.moment(language, moment(instant)),
    }
    text = _environment().get_template(f"{mail.kind}.txt").render(values, say=_sayer(language, str))
    html = _environment().get_template(f"{mail.kind}.html").render(values, say=_sayer(language, _markup()))
    return Rendered(subject, _without_gaps(text), html)


def _tidy(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name not in _LONG_TEXTS:
        return one_line(value)
    return "\n".join(one_line(line) for line in value.strip().splitlines())


def _sayer(language: str, kind: Callable[[str], str]) -> Callable[..., str]:
    """`say("greeting", name=…)`: a sentence of the table, with values that HTML escapes put in."""

    table = words.table(language)

    def say(sentence: str, /, **values: object) -> str:
        return kind(table[f"mail.{sentence}"]).format(**values)

    return say


def _without_gaps(text: str) -> str:
    """At most one empty line at a time: parts that are left out leave no hole."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def _markup() -> Callable[[str], str]:
    from markupsafe import Markup, escape

    return lambda sentence: Markup(escape(sentence))  # noqa: S704 (escaped first)


@functools.cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup, escape

    environment = Environment(
        loader=PackageLoader("deedbox.mail"),
        autoescape=select_autoescape(enabled_extensions=("html",), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["lines"] = lambda text: Markup("<br>").join(escape(line) for line in text.splitlines())
    environment.filters["quoted"] = lambda text: "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return environment
