"""Writes the Python client from the OpenAPI document: python scripts/client.py [--check]. With it, it only compares.

src/deedbox/client holds what it writes (`__init__.py`, `deedbox.py`, `calls/`, `records/`, `requests/`) beside what
people write."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from client_calls import calls, facade
from client_records import PARTS, Records

from deedbox.web.app import ROUTES
from deedbox.web.http.description.calls import module_name
from deedbox.web.http.openapi import document

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src" / "deedbox" / "client"
NOTE = "# Written by scripts/client.py from the OpenAPI document: change it there.\n"
BY_HAND = {
    "call": ["FileSource"],
    "download": ["AsyncDownload", "Download"],
    "errors": ["ApiError", "BadSignature", "DeedboxError", "NoAnswer"],
    "events": ["ServerEvent"],
    "inline": ["inline"],
    "webhook": ["verify_webhook"],
}


def modules(described: dict[str, Any]) -> dict[str, str]:
    """Every generated module, by its path in the client's folder."""
    records = Records(described, taken={name for names in BY_HAND.values() for name in names})
    tags = [tag for tag in described["tags"] if records.operations(tag["name"])]
    written = {"records/__init__.py": '"""The structs of answers, by subject."""\n'}
    written["calls/__init__.py"] = '"""The calls, one for each operation of the API, by subject."""\n'
    written["requests/__init__.py"] = '"""The structs that calls take, by subject."""\n'
    for tag in tags:
        for part in PARTS:
            if structs := records.module(part, tag):
                written[f"{part}/{module_name(tag['name'])}.py"] = structs
        written[f"calls/{module_name(tag['name'])}.py"] = calls(tag, records)
    written["deedbox.py"] = facade(tags)
    written["__init__.py"] = _exports(records)
    return _formatted(written)


def _exports(records: Records) -> str:
    sources = {f"deedbox.client.{module}": names for module, names in BY_HAND.items()}
    sources["deedbox.client.deedbox"] = ["AsyncDeedbox", "Deedbox"]
    sources |= records.names_by_module()
    lines = ['"""The Python client: `Deedbox` and `AsyncDeedbox`, and the structs that their calls take and give."""']
    lines += [f"from {module} import {', '.join(names)}" for module, names in sources.items()]
    everything = sorted(name for names in sources.values() for name in names)
    return "\n".join([*lines, f"__all__ = {everything!r}"]) + "\n"


def _formatted(written: dict[str, str]) -> dict[str, str]:
    """The modules without unused imports, in the house's format."""
    ours = 'lint.isort.known-first-party=["deedbox"]'  # also what is not written yet
    with tempfile.TemporaryDirectory() as folder:
        for name, text in written.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(NOTE + text, encoding="utf-8")
        for command in (["check", "--fix", "--select", "I,F401", "--config", ours], ["format"]):
            line = [sys.executable, "-m", "ruff", *command, "--config", ROOT / "pyproject.toml", "--quiet", folder]
            subprocess.run(line, check=True)
        return {name: (Path(folder) / name).read_text(encoding="utf-8") for name in written}


def main() -> None:
    wanted = modules(document(ROUTES))
    found = {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py")}
    found = {name: text for name, text in found.items() if text.startswith(NOTE)}
    stale = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if "--check" in sys.argv and stale:
        sys.exit(f"src/deedbox/client is out of date: {', '.join(stale)}. Run: make client")
    for name in stale:
        (FOLDER / name).parent.mkdir(exist_ok=True)
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()


if __name__ == "__main__":
    main()
