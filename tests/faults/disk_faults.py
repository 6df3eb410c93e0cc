"""A bug of the storage that a fault test plants: a file that is written after the row that names it."""

from deedbox.kernel.blobs import local
from deedbox.kernel.blobs.names import location_of
from deedbox.kernel.errors import Unavailable


def file_written_after_its_row() -> None:
    """That the disk does not take the bytes is heard too late: the row names them already."""
    keep = local._Draft.keep

    def named_first(self: local._Draft, data: bytearray, durable: bool) -> tuple[str, str]:
        digest = self._digest.copy()
        digest.update(data)
        try:
            return keep(self, data, durable)
        except Unavailable:
            return digest.hexdigest(), location_of(digest.hexdigest(), self.name)

    local._Draft.keep = named_first  # type: ignore[method-assign]
