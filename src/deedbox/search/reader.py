"""Who looks at a library: not everything in it is there for everyone."""

import msgspec

from deedbox.search.upload import Upload


class Reader(msgspec.Struct, frozen=True):
    workspace_id: str
    documents: bool
    """Whether they may read documents: if not, the entries that stand for documents do not exist for them."""

    def sees(self, upload: Upload) -> bool:
        return self.documents or upload.document_id is None
