"""Settings from flags, the environment and an optional TOML file."""

import difflib
import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from deedbox.kernel.errors import SetupError
from deedbox.kernel.log import redact
from deedbox.kernel.settings.checks import check
from deedbox.kernel.settings.fields import (
    CONFIG,
    ECOSYSTEM_KEY,
    OF_THE_CLIENT,
    PREFIX,
    SECRETS,
    Networks,
    Settings,
    variable,
)

__all__ = ["ECOSYSTEM_KEY", "PREFIX", "Networks", "Settings", "load", "variable"]


def load(environment: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings from flags, then environment, then file, then defaults; SetupError names what is wrong."""
    named = _from_environment(environment)
    named.update({name: value for name, value in (flags or {}).items() if value is not None})
    values = {**_from_file(environment, named), **named}
    for name, value in values.items():
        _check_one(name, value)
    settings = msgspec.convert(values, Settings, strict=False, dec_hook=_decode)
    check(settings)
    if settings.base_url is None:
        return settings
    # Links are made by adding a path that begins with a slash.
    return msgspec.structs.replace(settings, base_url=settings.base_url.rstrip("/"))


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    fields = {variable(name): name for name in Settings.__struct_fields__}
    values: dict[str, Any] = {}
    for name, text in environment.items():
        if name in fields:
            # A container passes on an unset variable as an empty one.
            if text:
                values[fields[name]] = text
        elif name.startswith(PREFIX) and name not in (CONFIG, *OF_THE_CLIENT):
            raise _unknown(name, list(fields), "the environment")
    return values


def _from_file(environment: Mapping[str, str], named: Mapping[str, Any]) -> dict[str, Any]:
    given = environment.get(CONFIG)
    path = Path(given) if given else Path(named.get("data_dir", Settings().data_dir)) / "deedbox.toml"
    if not given and not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(f"The settings file {path} cannot be read: {error}.", "Correct it or remove it.") from error
    for name in values:
        if name not in Settings.__struct_fields__:
            raise _unknown(name, list(Settings.__struct_fields__), str(path))
    return values


def _unknown(name: str, known: list[str], where: str) -> SetupError:
    # Compared without the prefix, which would make every name look alike.
    short = {full.removeprefix(PREFIX): full for full in known}
    close = difflib.get_close_matches(name.removeprefix(PREFIX), short, n=1)
    hint = f"Did you mean {short[close[0]]}?" if close else "docs/reference/settings.md lists them all."
    return SetupError(f"Unknown setting {name} in {where}.", hint)


def _check_one(name: str, value: Any) -> None:
    try:
        msgspec.convert({name: value}, Settings, strict=False, dec_hook=_decode)
    except msgspec.ValidationError as error:
        reason = redact(str(error).split(" - at ")[0])
        # The value is shown unless it could be a secret.
        shown = "" if name in SECRETS else f" ({redact(str(value))!r})"
        raise SetupError(
            f"The setting {variable(name)}{shown} is not valid: {reason}.",
            "docs/reference/settings.md says what it takes.",
        ) from error


def _decode(kind: Any, value: Any) -> Any:
    if kind is Networks:
        words = value.split(",") if isinstance(value, str) else value
        return Networks(ipaddress.ip_network(str(word).strip()) for word in words if str(word).strip())
    if not isinstance(value, (str, Path)) or not str(value):
        raise ValueError("Expected text that is not empty")
    return kind(value)
