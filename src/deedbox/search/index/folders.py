"""Indexes in the data folder, one folder for each."""

import hashlib
import shutil
from pathlib import Path

from deedbox.search.index import Index, Place


class IndexFolders:
    """The indexes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, place: Place, dimensions: int) -> Index:
        from deedbox.search.index.local import LocalIndex

        return LocalIndex(self.folder_of(place), dimensions, place[1])

    def watermark(self, place: Place, dimensions: int) -> int:
        from deedbox.search.index.local import stored_watermark

        return stored_watermark(self.folder_of(place), dimensions, place[1])

    def discard(self, place: Place) -> None:
        shutil.rmtree(self.folder_of(place), ignore_errors=True)

    def size_bytes(self, workspace_id: str) -> int:
        folder = self._folder / workspace_id
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0

    def close(self) -> None:
        """Each index is closed by itself."""

    def folder_of(self, place: Place) -> Path:
        workspace_id, recipe = place
        return self._folder / workspace_id / hashlib.sha256(recipe.encode()).hexdigest()[:16]
