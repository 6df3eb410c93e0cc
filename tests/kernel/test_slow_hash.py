"""Argon2 hashes of passwords and codes."""

import asyncio
from collections.abc import Iterator

import pytest

from deedbox.kernel import limits
from deedbox.kernel.slow_hash import _argon2, matches, slow_hash
from tests.conftest import SLOW_HASH_MEMORY_KB

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def as_slow_as_it_is(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other tests have quicker hashes."""
    monkeypatch.setattr(limits, "SLOW_HASH_MEMORY_KB", SLOW_HASH_MEMORY_KB)
    _argon2.cache_clear()
    yield
    _argon2.cache_clear()


async def test_a_text_matches_itself_alone() -> None:
    stored = await slow_hash("correct horse")
    assert stored.startswith("$argon2id$")
    assert await matches(stored, "correct horse")
    assert not await matches(stored, "correct horsE")
    assert await slow_hash("correct horse") != stored


async def test_nothing_matches_nobody() -> None:
    assert await matches(None, "correct horse") is False
    assert await matches("not a hash", "correct horse") is False


async def test_others_go_on_while_texts_are_hashed() -> None:
    hashing = asyncio.gather(*(slow_hash("correct horse") for _ in range(6)))
    turns = 0
    while not hashing.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 100, "the loop stood still"
