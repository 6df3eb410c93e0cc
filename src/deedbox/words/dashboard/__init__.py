"""The words of the pages for those who run a workspace, a table per part. What signers read is in eight languages."""

from deedbox.words.dashboard import account, bulk, chosen, documents, frame, keys, mail, templates

PARTS = (frame, account, bulk, chosen, documents, keys, mail, templates)
WORDS: dict[str, str] = {name: said for part in PARTS for name, said in part.WORDS.items()}
