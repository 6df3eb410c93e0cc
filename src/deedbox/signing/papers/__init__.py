"""The files of documents, the papers made of them, and what sealing has made of those."""
