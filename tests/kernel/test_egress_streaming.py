"""Bodies that are too large to hold: sent piece by piece, and received piece by piece."""

from collections.abc import AsyncIterator

import pytest

from deedbox.kernel.egress import Request, TookTooLong
from deedbox.kernel.limits import EGRESS_RESPONSE_BYTES
from tests.kernel.test_egress import egress, receiver

pytestmark = pytest.mark.anyio


async def pieces(*found: bytes) -> AsyncIterator[bytes]:
    for one in found:
        yield one


async def test_a_body_in_pieces_arrives_whole_with_the_size_that_was_told() -> None:
    async with receiver() as seen, egress() as client:
        answer = await client.send(
            Request(
                "PUT",
                f"http://127.0.0.1:{seen.port}/a",
                headers={"Content-Length": "300000"},
                body=pieces(b"a" * 100_000, b"b" * 200_000),
            )
        )
    assert answer.status == 200
    head, _, body = seen.requests[0].partition(b"\r\n\r\n")
    assert b"content-length: 300000" in head.lower()
    assert b"transfer-encoding" not in head.lower()
    assert body == b"a" * 100_000 + b"b" * 200_000


async def got(answer: bytes, limit: int = EGRESS_RESPONSE_BYTES) -> tuple[int, bytes, bytes, bool]:
    received = bytearray()

    async def write(chunk: bytes) -> None:
        received.extend(chunk)

    async with receiver(answer) as seen, egress() as client:
        found = await client.send(Request("GET", f"http://127.0.0.1:{seen.port}/", headers={}, into=write, limit=limit))
    return found.status, bytes(received), found.body, found.truncated


async def test_the_body_of_a_good_answer_is_written_on_up_to_the_limit() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcdefghi"
    assert await got(answer) == (200, b"abcdefghi", b"", False)
    assert await got(answer, limit=9) == (200, b"abcdefghi", b"", False)
    assert await got(answer, limit=4) == (200, b"abcd", b"", True)


async def test_the_body_of_another_answer_is_not_taken_for_what_was_asked() -> None:
    answer = b"HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone"
    assert await got(answer) == (404, b"", b"gone", False)


async def test_a_peer_may_be_silent_only_so_long() -> None:
    async with receiver(pause=30) as seen, egress() as client:
        with pytest.raises(TookTooLong):
            await client.send(Request("GET", f"http://127.0.0.1:{seen.port}/", headers={}, seconds=20, stall=0.2))
