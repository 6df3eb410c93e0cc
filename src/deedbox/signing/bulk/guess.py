"""What the columns of a CSV file probably mean, for whoever then says it: from their headings alone."""

import re
from collections.abc import Iterator, Mapping, Sequence

from deedbox.signing.bulk.columns import KnownColumns, is_plain

_WORDS: Mapping[str, tuple[str, ...]] = {
    "email": ("email", "e mail", "mail", "email address", "e mail address", "mail address"),
    "name": ("name", "full name", "person", "who"),
    "language": ("language", "lang", "sprache", "langue", "idioma"),
    "time_zone": ("time zone", "timezone"),
    "access_code": ("access code", "code", "pin"),
}
"""What the fields of a person are called in people's own tables."""
_OWN: Mapping[str, tuple[str, ...]] = {
    "key": ("key", "row key"),
    "external_id": ("external id", "reference", "ref", "our id", "id"),
    "language": _WORDS["language"],
}
_NUMBERED = re.compile(r"(?P<number>[1-9][0-9]?)\s+|\s+(?P<last>[1-9][0-9]?)$")


def guess(headings: Sequence[str], known: KnownColumns) -> list[str | None]:
    """The meaning of each heading, as `columns` would name it; None for one to leave out. None is given twice."""
    found: list[str | None] = []
    for heading in headings:
        meaning = next((one for one in _meanings(heading.strip(), known) if one not in found), None)
        found.append(meaning)
    return found


def find_missing_roles(meanings: Sequence[str | None], known: KnownColumns) -> list[str]:
    """The roles for which no column holds the name, or none the address."""
    return [role for role in known.roles if {f"{role}.name", f"{role}.email"} - set(meanings)]


def _meanings(heading: str, known: KnownColumns) -> Iterator[str]:
    if is_plain(heading, known):
        yield heading
    said = _plain(heading)
    yield from (f"value:{label}" for label in known.labels if _plain(label) == said)
    for role in known.roles:
        if rest := _without(said, _plain(role)):
            yield from _person(role, rest)
    if len(known.roles) == 1:
        yield from _person(next(iter(known.roles)), said)
    yield from (name for name, words in _OWN.items() if said in words)


def _person(role: str, said: str) -> Iterator[str]:
    """The field of the role's person that these words name; of another than the first by a number before or behind."""
    found = _NUMBERED.search(said)
    number = int(found["number"] or found["last"]) if found else 1
    bare = _NUMBERED.sub(" ", said).strip() if found else said
    whose = role if number == 1 else f"{role}[{number}]"
    yield from (f"{whose}.{field}" for field, words in _WORDS.items() if bare in words)


def _without(said: str, role: str) -> str:
    """What is said beside the name of the role; nothing where it is not named, or where it is all that is said."""
    if said == role:
        return "name"
    rest = re.sub(rf"\b{re.escape(role)}(?: s)?\b", " ", said) if role else said
    return " ".join(rest.split()) if rest != said else ""


def _plain(text: str) -> str:
    """Words in small letters, whatever stands between them."""
    return " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())
