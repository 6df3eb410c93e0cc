"""A user's program: it sends a lease, follows it, and asks what it says. Runs with the client alone."""

import sys
from pathlib import Path

from deedbox.client import ApiError, Deedbox, LoneSigner, NewDocument, NewQuery


def main(folder: Path) -> None:
    with Deedbox() as deedbox:
        new = NewDocument(title="Lease", signers=[LoneSigner(name="Ann", email="ann@example.com")], send=True)
        document = deedbox.documents.create(new, [folder / "lease.pdf"])
        status: str = document.status
        assert status == "sent"
        titles: list[str] = [each.title for each in deedbox.documents.list(status="sent", limit=1)]
        assert "Lease" in titles
        deedbox.documents.original_file(document.id).save(folder / "original.pdf")
        uploaded = deedbox.search.upload_document(("lease.txt", b"Either party may end it with three months' notice."))
        deedbox.search.build_index()
        answer = deedbox.search.ask(NewQuery(query="How many months' notice ends it?"))
        assert uploaded.doc_id in [each.metadata.doc_id for each in answer.results]
        try:
            deedbox.documents.get("doc_00000000000000000000000000")
        except ApiError as error:
            print(document.id, error.status, error.code)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
