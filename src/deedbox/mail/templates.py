"""A letter as subject, plain text and HTML. Everything that a person typed is escaped."""

import functools
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from deedbox import i18n
from deedbox.kernel.clock import moment
from deedbox.kernel.mailbox import one_line
from deedbox.mail import limits
from deedbox.mail.letter import Mail

_LONG_TEXTS = ("body", "reason")
_TIMES = ("expires_at", "expired_at")


class Rendered(msgspec.Struct, frozen=True):
    subject: str
    text: str
    html: str


def render(mail: Mail, *, attached: bool) -> Rendered:
    """The mail as its reader sees it; `attached` says whether the files go with it."""
    language = i18n.known(mail.language)
    values = _values(mail, language)
    subject = _subject(mail, values, language)
    values |= {
        "subject": subject,
        "name": one_line(mail.to.name),
        "enclosed": bool(mail.attachments),
        "attached": attached,
        "language": language,
        "direction": i18n.direction(language),
        "look": mail.look,
    }
    return Rendered(
        subject,
        _without_gaps(_filled(mail, "txt", values, _sayer(language, str))),
        _filled(mail, "html", values, _html_sayer(language)),
    )


def _values(mail: Mail, language: str) -> dict[str, Any]:
    """What the letter says, as its templates put it in."""
    values = {name: _tidy(name, value) for name, value in msgspec.structs.asdict(mail.letter).items()}
    values["who"] = i18n.sender(language, values.get("sender", ""), values.get("company", ""))
    for name in _TIMES:
        if values.get(name):
            values[name] = i18n.moment(language, moment(values[name]), mail.time_zone)
    values["host"] = urlsplit(values.get("link") or "").netloc
    return {"to_sender": False, **values}


def _subject(mail: Mail, values: Mapping[str, Any], language: str) -> str:
    named = i18n.table(language)
    usual = named[f"mail.{mail.wording.replace('reminder', 'invitation')}_subject"]
    subject = values.get("subject") or usual.format(**{**values, "sender": values["who"]})
    if mail.kind == "reminder":
        subject = named["mail.reminder_own_subject"].format(subject=subject)
    # Cut by characters, so that a header never ends within one.
    return subject if len(subject) <= limits.MAIL_SUBJECT_CHARS else subject[: limits.MAIL_SUBJECT_CHARS - 1] + "…"


def _filled(mail: Mail, form: str, values: Mapping[str, Any], say: Callable[..., str]) -> str:
    lead = say(f"{mail.wording}_lead", **{**values, "sender": values["who"]})
    return str(_environment().get_template(f"{mail.kind}.{form}").render(values, lead=lead, say=say))


def _tidy(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_tidy(name, one) for one in value]
    if isinstance(value, msgspec.Struct):
        return {name: _tidy(name, one) for name, one in msgspec.structs.asdict(value).items()}
    if not isinstance(value, str):
        return value
    if name not in _LONG_TEXTS:
        return one_line(value)
    return "\n".join(one_line(line) for line in value.strip().splitlines())


def _sayer(language: str, kind: Callable[[str], str], value: Callable[[str], str] = str) -> Callable[..., str]:
    """`say("greeting", name=…)`: a sentence of the table with values put in, each as `value` makes it."""

    table = i18n.table(language)

    def say(sentence: str, /, **values: object) -> str:
        put_in = {name: value(one) if isinstance(one, str) else one for name, one in values.items()}
        return kind(table[f"mail.{sentence}"]).format(**put_in)

    return say


def _without_gaps(text: str) -> str:
    """At most one empty line at a time: parts that are left out leave no hole."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def _html_sayer(language: str) -> Callable[..., str]:
    """Escapes what is put in, and keeps its direction from turning the sentence around it."""
    from markupsafe import Markup, escape

    return _sayer(
        language,
        lambda sentence: Markup(escape(sentence)),  # noqa: S704 (escaped first)
        lambda text: Markup("<bdi>{}</bdi>").format(text),
    )


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
