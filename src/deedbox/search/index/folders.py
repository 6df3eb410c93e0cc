"""Indexes in the data folder, one folder for each."""

import hashlib
import shutil
from pathlib import Path

from deedbox.search.index import FORMAT, Index, Place, lock


class IndexFolders:
    """The indexes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, place: Place, dimensions: int) -> Index:
        from deedbox.search.index.local import LocalIndex

        folder = self.folder_of(place)
        lock.discard_older(folder)
        return LocalIndex(folder, dimensions, place[1])

    def watermark(self, place: Place, dimensions: int) -> int:
        from deedbox.search.index.files import stored_watermark

        return stored_watermark(self.folder_of(place), dimensions, place[1])

    def discard(self, place: Place) -> None:
        lock.discard(self.folder_of(place))

    def incoming(self, place: Place) -> Path:
        """Where files that are to take the place of an index are put together."""
        folder = self.folder_of(place)
        return folder.with_name(f"{folder.name}.incoming")

    def replace(self, index: Index, place: Place, dimensions: int) -> Index:
        """The index whose files have come in, instead of this one; another process's, if that was quicker."""
        from deedbox.search.index.files import begin_again

        incoming = self.incoming(place)
        begin_again(incoming)
        index.discard()
        try:
            incoming.rename(self.folder_of(place))
        except OSError:
            shutil.rmtree(incoming, ignore_errors=True)
        return self.open(place, dimensions)

    def size_bytes(self, workspace_id: str) -> int:
        folder = self._folder / workspace_id
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0

    def close(self) -> None:
        """Each index is closed by itself."""

    def folder_of(self, place: Place) -> Path:
        workspace_id, recipe = place
        return self._folder / workspace_id / f"{hashlib.sha256(recipe.encode()).hexdigest()[:16]}-{FORMAT}"
