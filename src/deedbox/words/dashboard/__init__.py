"""The words of the pages for those who run a workspace, a table per part. What signers read is in eight languages."""

from deedbox.words.dashboard import (
    account,
    branding,
    bulk,
    chosen,
    documents,
    editor,
    frame,
    hooks,
    installation,
    keys,
    library,
    mail,
    members,
    packets,
    reference,
    search,
    send,
    templates,
    usage,
)

PARTS = (
    frame, account, branding, bulk, chosen, documents, hooks, installation,
    keys, library, mail, members, reference, search, send, usage,
)  # fmt: skip
    frame,
    account,
    branding,
    bulk,
    chosen,
    documents,
    editor,
    hooks,
    installation,
    keys,
    library,
    mail,
    members,
    packets,
    reference,
    search,
    send,
    templates,
    usage,
)
WORDS: dict[str, str] = {name: said for part in PARTS for name, said in part.WORDS.items()}
