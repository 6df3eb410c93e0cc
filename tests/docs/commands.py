"""Takes the commands out of a Markdown page."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if "decisions" not in path.parts and "reference" not in path.parts
)
_BLOCK = re.compile(r"^```(sh|bash|shell|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)

_HERE = re.compile(r"<<\s*'?(\w+)'?$")

_USE = re.compile(r"^( {4})?([A-Z_]+=\S* )*deedbox ", re.MULTILINE)
"""A line of a shell block or an indented block that calls `deedbox` by its name."""


def before_first_use(page: Path) -> str | None:
    """What the page says before its first call of `deedbox`; None if it has none."""
    text = page.read_text(encoding="utf-8")
    found = _USE.search(text)
    return text[: found.start()] if found else None


def commands(page: Path) -> list[str]:
    """Every command of the page's shell blocks, continued lines joined, each with its here-document."""
    found: list[str] = []
    for _, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        end = ""
        for line in block.replace("\\\n", " ").splitlines():
            if end:
                found[-1] += f"\n{line}"
                end = "" if line == end else end
            elif line.strip() and not line.startswith("#"):
                found.append(line.strip())
                end = here[1] if (here := _HERE.search(line)) else ""
    return found
