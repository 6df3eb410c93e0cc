"""The words of the pages for those who run a workspace, a table per part. What signers read is in eight languages."""

from deedbox.words.dashboard import (
    account,
    branding,
    bulk,
    chosen,
    documents,
    frame,
    hooks,
    installation,
    keys,
    library,
    mail,
    members,
    reference,
    search,
    send,
    usage,
)

PARTS = (
    frame, account, branding, bulk, chosen, documents, hooks, installation,
    keys, library, mail, members, reference, search, send, usage,
)  # fmt: skip
WORDS: dict[str, str] = {name: said for part in PARTS for name, said in part.WORDS.items()}
