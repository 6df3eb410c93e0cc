"""Who looks at a library: not everything in it is there for everyone."""

import msgspec

from deedbox.kernel.errors import Forbidden
from deedbox.search.upload import Upload


class Reader(msgspec.Struct, frozen=True):
    workspace_id: str
    documents: bool
    """Whether they may read documents: if not, the entries that stand for documents do not exist for them."""
    collections: frozenset[str] | None = None
    """The collections that exist for them; None: all."""

    def sees(self, upload: Upload) -> bool:
        return (self.documents or upload.document_id is None) and self.reaches(upload.collection)

    def reaches(self, collection: str) -> bool:
        return self.collections is None or collection in self.collections

    def need(self, collection: str) -> None:
        """Forbidden if nothing may be put into this collection."""
        if not self.reaches(collection):
            raise Forbidden(f"This API key is limited to the collections {', '.join(sorted(self.collections or ()))}")
