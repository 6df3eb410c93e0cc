"""Who looks at a library: not everything in it is there for everyone."""

import msgspec

from deedbox.kernel.errors import Forbidden
from deedbox.search.library.upload import DEFAULT_COLLECTION, LibraryUpload


class SearchReader(msgspec.Struct, frozen=True):
    workspace_id: str
    documents: bool
    """Whether they may read documents: if not, the entries that stand for documents do not exist for them."""
    collections: frozenset[str] | None = None
    """What lies elsewhere does not exist for them; None: they are limited to none."""

    @property
    def sees_all(self) -> bool:
        """Whether nothing in the workspace is hidden from them."""
        return self.documents and self.collections is None

    def sees(self, upload: LibraryUpload) -> bool:
        return (self.documents or upload.document_id is None) and self.reaches(upload.collection)

    def reaches(self, collection: str) -> bool:
        return self.collections is None or collection in self.collections

    def covers(self, other: "SearchReader") -> bool:
        """Whether everything that is there for the other is there for this one."""
        within = self.collections is None or (other.collections is not None and other.collections <= self.collections)
        return self.workspace_id == other.workspace_id and within and (self.documents or not other.documents)

    @property
    def collection(self) -> str:
        """Where they put what they name no collection for."""
        return DEFAULT_COLLECTION if self.reaches(DEFAULT_COLLECTION) else min(self.collections or ())

    def need(self, collection: str) -> None:
        """Forbidden, with what to do instead, if they can put nothing there."""
        if not self.reaches(collection):
            names = ", ".join(sorted(self.collections or ()))
            raise Forbidden(f"This API key is limited to other collections. Name one of: {names}")
