"""The words of the pages for those who run a workspace, a table per part. What signers read is in eight languages."""

from deedbox.words.dashboard import account, bulk, chosen, documents, frame, keys, mail

PARTS = (frame, account, bulk, chosen, documents, keys, mail)
from deedbox.words.dashboard import account, documents, frame, hooks, keys, mail

PARTS = (frame, account, documents, hooks, keys, mail)
from deedbox.words.dashboard import account, branding, documents, frame, installation, keys, mail, usage

PARTS = (frame, account, branding, documents, installation, keys, mail, usage)
from deedbox.words.dashboard import account, documents, frame, keys, library, mail, reference, search

PARTS = (frame, account, documents, keys, library, mail, reference, search)
from deedbox.words.dashboard import account, documents, frame, mail, members

PARTS = (frame, account, documents, mail, members)
WORDS: dict[str, str] = {name: said for part in PARTS for name, said in part.WORDS.items()}
