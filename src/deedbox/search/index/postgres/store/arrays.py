"""Arrays as PostgreSQL reads them."""

from collections.abc import Collection, Iterable


def numbers(values: Iterable[object]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def quote(values: Iterable[str]) -> str:
    return '{"' + '","'.join(values) + '"}'


def texts(values: Collection[str]) -> str:
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return quote(escaped) if values else "{}"
