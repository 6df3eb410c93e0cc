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
    frame, account, branding, bulk, chosen, documents, editor, hooks, installation,
    keys, library, mail, members, packets, reference, search, templates, usage,
)  # fmt: skip
from deedbox.words.dashboard import account, documents, frame, keys, mail, members

PARTS = (frame, account, documents, keys, mail, members)
from deedbox.words.dashboard import account, documents, editor, frame, mail

PARTS = (frame, account, documents, editor, mail)
WORDS: dict[str, str] = {name: said for part in PARTS for name, said in part.WORDS.items()}
