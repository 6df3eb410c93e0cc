"""A document that is there, or the one error that says that it is not."""

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.signing import store
from deedbox.signing.document import Document, Party, Signer


def find(tx: Tx, workspace_id: str, document_id: str) -> Document:
    """A document of the workspace; another workspace's is not there at all."""
    document = store.document(tx, workspace_id, document_id)
    if document is None:
        raise NotFound("Document does not exist")
    return document


def signer_of(document: Document, signer_id: str) -> tuple[Party, Signer]:
    for party in document.parties:
        for signer in party.signers:
            if signer.id == signer_id:
                return party, signer
    raise NotFound("Signer does not exist")
