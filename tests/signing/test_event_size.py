"""What an event tells of a document fits a delivery, however much the document was given."""

import msgspec
import pytest

from deedbox.signing import limits
from tests.signing.desk import Desk, party

pytestmark = pytest.mark.anyio


async def test_a_document_with_as_much_metadata_as_it_may_have_is_sent_and_told_of_without_it(desk: Desk) -> None:
    most = {f"{number:0>40}": "語" * limits.METADATA_VALUE_CHARS for number in range(limits.METADATA_ENTRIES)}
    document = await desk.sent(party("Buyer", "ann"), metadata=most)
    assert document.status == "sent"
    row = await desk.db.read(lambda tx: tx.one("select data from events where subject_id = :id", id=document.id))
    assert row is not None
    told = msgspec.json.decode(row[0])
    assert (told["document_id"], told["metadata"], told["truncated"]) == (document.id, {}, True)


async def test_metadata_that_fits_is_told(desk: Desk) -> None:
    document = await desk.sent(party("Buyer", "ann"), metadata={"deal": "7"})
    row = await desk.db.read(lambda tx: tx.one("select data from events where subject_id = :id", id=document.id))
    assert row is not None
    told = msgspec.json.decode(row[0])
    assert told["metadata"] == {"deal": "7"}
    assert "truncated" not in told
