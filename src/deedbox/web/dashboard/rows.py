"""Rows of a form, such as people: those that are empty do not count, and the others are numbered without gaps."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from litestar.datastructures import FormMultiDict

from deedbox.web.http.page_forms import text


def rows(form: FormMultiDict, prefix: str, needed: Sequence[str]) -> list[dict[str, str]]:
    """What stands in each row, such as `people.3.name`, by the last part of its names; one counts in which any of what
    is needed is filled in."""
    found: dict[int, dict[str, str]] = {}
    pattern = re.compile(rf"{re.escape(prefix)}\.([0-9]{{1,4}})\.(\w+)")
    for name in form:
        if match := pattern.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = text(form, name)
    ordered = [found[number] for number in sorted(found)]
    return [row for row in ordered if any(row.get(name, "").strip() for name in needed)]


def replace_rows(form: FormMultiDict, kept: Mapping[str, Sequence[Mapping[str, str]]]) -> FormMultiDict:
    """The form with these rows in the place of all that stood under their prefixes."""
    plain: list[tuple[str, Any]] = [
        (name, value) for name, value in form.multi_items() if not any(name.startswith(f"{prefix}.") for prefix in kept)
    ]
    for prefix, each in kept.items():
        plain += [(f"{prefix}.{at}.{name}", value) for at, row in enumerate(each) for name, value in row.items()]
    return FormMultiDict(plain)
