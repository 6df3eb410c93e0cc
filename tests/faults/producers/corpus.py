"""The whole corpus in a folder, as `producer--variant.pdf`, and a few files that need only the test environment; and
the documents that search reads, as `producer--variant.kind`."""

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tests.faults.producers import (
    at_hand,
    converters,
    documents,
    handmade,
    libraries,
    programs,
    rewriters,
    written_here,
)

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".venv-producers" / "bin" / "python"
"""Where the libraries live that we compare with and never depend on: `scripts/setup producers` makes it."""
ORIGINALS = 40
"""Files that rewriters are given, out of those that producers made."""
_FEW_BY_HAND = (
    "box-crop-and-unit-turned-90", "form-without-appearances", "annotations", "state-left-behind", "deep-tree",
    "shape-hybrid", "shape-linearised", "layers", "owner-password-4", "owner-password-6",
)  # fmt: skip
_FEW_AT_HAND = ("typst--1.4", "typst--2.0", "typst--a-2b", "pillow--here-cmyk")


def few() -> Iterator[tuple[str, bytes]]:
    """A dozen files and two."""
    yield from ((name, data) for name, data in at_hand.made() if name in _FEW_AT_HAND)
    yield from ((f"handmade--{name}", made()) for name, made in handmade.handmade() if name in _FEW_BY_HAND)


def make(folder: Path, work: Path) -> Iterator[str]:
    """Fills the folder; yields a line for each producer that is missing, or could not do a thing."""
    for name, data in at_hand.made():
        (folder / f"{name}.pdf").write_bytes(data)
    for name, by_hand in handmade.handmade():
        (folder / f"handmade--{name}.pdf").write_bytes(by_hand())
    yield from by_libraries(libraries, folder)
    yield from programs.make_all(folder, work)
    made = [path for path in sorted(folder.glob("*.pdf")) if _can_be_rewritten(path)]
    originals = random.Random(300).sample(made, min(ORIGINALS, len(made)))
    yield from rewriters.rewritten(originals, folder, work, lambda program: shutil.which(program) is not None)


def make_documents(folder: Path, work: Path) -> Iterator[str]:
    """Fills the folder with documents of other kinds for search to read; yields lines as `make` does."""
    for name, data in written_here.documents():
        (folder / name).write_bytes(data)
    yield from by_libraries(documents, folder)
    yield from converters.make_all(folder, work)


def by_libraries(program: ModuleType, folder: Path) -> Iterator[str]:
    """Has the program write its files in the environment of the libraries; yields a line for what is missing."""
    if not PYTHON.exists():
        yield "libraries: no environment for them; run scripts/setup producers"
        return
    done = subprocess.run(
        [str(PYTHON), str(program.__file__), str(folder)], capture_output=True, text=True, check=False
    )
    said = done.stderr.splitlines()
    yield from (line for line in said if line.startswith(libraries.FAILED))
    if done.returncode:
        yield f"libraries: {''.join(said[-1:])}"


def _can_be_rewritten(path: Path) -> bool:
    return not path.name.startswith("handmade") and "encrypted" not in path.name and path.stat().st_size < 1_000_000
