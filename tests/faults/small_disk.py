"""A disk of a few megabytes, which a fault test fills and empties; to make one takes root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

only_as_root = pytest.mark.skipif(os.getuid() != 0, reason="R18 was not run: only root can make a small disk (tmpfs)")
_BALLAST = "ballast"


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Takes every byte that is left."""
        with open(self.folder / _BALLAST, "ab", buffering=0) as file:
            for piece in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        file.write(bytes(piece))
                except OSError:
                    continue

    def empty(self) -> None:
        (self.folder / _BALLAST).unlink()


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """A new disk of this size at the folder, which is made; gone afterwards with all that is on it."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
