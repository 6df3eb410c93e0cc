"""Writes docs/reference/ from the code: python scripts/reference.py [--check]. With --check it only compares."""

import sys
from pathlib import Path
from typing import Any, get_type_hints

import click
import msgspec

from deedbox import cli
from deedbox.accounts.scopes import SCOPES, SEARCH_SCOPES, SHORTHANDS
from deedbox.accounts.tiers import TIERS
from deedbox.kernel.constraints import constraints_of
from deedbox.kernel.errors import MEANING
from deedbox.kernel.settings import Settings, variable
from deedbox.web.app import ROUTES
from deedbox.web.http.description import fields
from deedbox.web.http.openapi import bodies, document

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Written by scripts/reference.py from the code: change it there. -->\n\n"


def settings() -> str:
    lines = [
        "# Settings\n",
        "Each is an environment variable, or, under its name, a line of the TOML file that `DEEDBOX_CONFIG` names",
        "(by default `deedbox.toml` in the data folder). A command's flag wins over the environment, the environment",
        "over the file. An unknown setting is refused by name.\n",
        "| variable | in the file | default | what it does |",
        "|---|---|---|---|",
    ]
    hints = get_type_hints(Settings, include_extras=True)
    for field in msgspec.structs.fields(Settings):
        default = "–" if field.default in (None, ()) else f"`{field.default}`"
        meaning = hints[field.name].__metadata__[0].description
        lines.append(f"| `{variable(field.name)}` | `{field.name}` | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def scopes() -> str:
    lines = ["# Scopes and tiers\n", "A key opens what its scopes name; 403 names the one that is missing.\n"]
    lines += ["| scope | opens |", "|---|---|"]
    lines += [f"| `{name}` | {opens} |" for name, opens in {**SCOPES, **SHORTHANDS}.items()]
    lines += ["", f"A key made without a scope list gets {', '.join(f'`{scope}`' for scope in SEARCH_SCOPES)}.", ""]
    lines += ["| tier | requests a minute | requests a day |", "|---|---|---|"]
    for name, allowed in TIERS.items():
        own = " (unless the key sets its own)" if name == "enterprise" else ""
        lines.append(f"| {name}{own} | {allowed.per_minute:,} | {allowed.per_day:,} |")
    return "\n".join(lines) + "\n"


def errors() -> str:
    lines = [
        "# Errors\n",
        'The body of an error is `{"error", "status"}` under `/api/v1` and `{"error"}` elsewhere. A file of an',
        "unsupported type adds `supported`, the list of all types. `/v1/embeddings` answers in OpenAI's shape:",
        '`{"error": {"message", "type", "param", "code"}}`. The header `X-Service-Error-Code` says the reason to a',
        "program; `X-Request-Id` finds the request in the server's log.\n",
        "| code | meaning |",
        "|---|---|",
    ]
    lines += [f"| `{code}` | {meaning} |" for code, meaning in MEANING.items()]
    return "\n".join(lines) + "\n"


def commands() -> str:
    parts = ["# Commands\n\nEvery command takes `--json` and `--help`.\n"]
    context = click.Context(cli.deedbox, info_name="deedbox")
    for name in cli.COMMANDS:
        command = cli.deedbox.get_command(context, name)
        if command is None:
            raise LookupError(name)
        parts += _command(command, click.Context(command, info_name=name, parent=context))
    return "\n".join(parts)


def _command(command: click.Command, context: click.Context) -> list[str]:
    if isinstance(command, click.Group):
        inner = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        return [
            line
            for name, found in inner
            if found is not None
            for line in _command(found, click.Context(found, info_name=name, parent=context))
        ]
    text = command.get_help(context)
    return [f"## {context.command_path}\n", "```text", text, "```\n"]


def routes() -> str:
    described: dict[str, Any] = document(ROUTES)
    lines = [
        "# Routes\n",
        "The whole description, in OpenAPI 3.1, is at `/openapi.json` of every server.\n",
        "| method and path | what it does | needs |",
        "|---|---|---|",
    ]
    for path, operations in sorted(described["paths"].items()):
        for method, operation in operations.items():
            _, _, need = operation["description"].rpartition("Needs ")
            need = need.removeprefix("the scope ").rstrip(".") or "nothing"
            lines.append(f"| {method.upper()} {path} | {operation['summary']} | {need} |")
    lines += ["", "## Fields that depend on each other", "", "A request that breaks one of these rules gets 400."]
    lines += ["", "| rule | holds in |", "|---|---|"]
    holders: dict[str, list[str]] = {}
    kinds = fields.held(each for handler in ROUTES for each in bodies(handler))
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        for constraint in constraints_of(kind):
            holders.setdefault(constraint.sentence, []).append(f"`{kind.__name__}`")
    lines += [f"| {sentence} | {', '.join(names)} |" for sentence, names in holders.items()]
    return "\n".join(lines) + "\n"


PAGES = {
    "settings.md": settings,
    "scopes.md": scopes,
    "errors.md": errors,
    "commands.md": commands,
    "routes.md": routes,
}


def main() -> None:
    stale = [name for name, make in PAGES.items() if _differs(FOLDER / name, NOTE + make())]
    if "--check" in sys.argv and stale:
        sys.exit(f"docs/reference is out of date: {', '.join(stale)}. Run: make reference")
    for name in stale:
        (FOLDER / name).write_text(NOTE + PAGES[name](), encoding="utf-8")


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text(encoding="utf-8") != text


if __name__ == "__main__":
    main()
