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


def commands(page: Path) -> list[str]:
    """Every command of the page's shell blocks, continued lines joined."""
    found: list[str] = []
    for _, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        joined = block.replace("\\\n", " ")
        found += [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return found
