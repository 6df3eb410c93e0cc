"""Arrays as PostgreSQL reads them."""

from collections.abc import Collection, Iterable


def numbers(values: Iterable[object]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def quoted(values: Iterable[str]) -> str:
    return '{"' + '","'.join(values) + '"}'


def texts(values: Collection[str]) -> str:
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return quoted(escaped) if values else "{}"
