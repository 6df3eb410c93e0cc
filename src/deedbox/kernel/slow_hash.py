"""Hashes of passwords and codes: Argon2, so slow that whoever reads the database cannot guess what people type.

Each takes some forty milliseconds of CPU and 19 MB on purpose, so they have a few threads of their own, at which
callers take turns."""

import asyncio
import functools
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from deedbox.kernel import limits
from deedbox.kernel.fairness import FairQueue

if TYPE_CHECKING:
    from argon2 import PasswordHasher

_threads = ThreadPoolExecutor(limits.SLOW_HASHES, thread_name_prefix="slow-hash")
_turns = FairQueue(limits.SLOW_HASHES, "passwords and codes")


async def slow_hash(text: str) -> str:
    """What is stored of the text: enough to recognise it."""
    async with _turns.slot():
        return await asyncio.get_running_loop().run_in_executor(_threads, _hash, text)


async def matches(stored: str | None, text: str) -> bool:
    """Whether it is the text; it takes as long where there is nothing to compare with, so that time tells nothing."""
    async with _turns.slot():
        return await asyncio.get_running_loop().run_in_executor(_threads, _matches, stored, text)


def _hash(text: str) -> str:
    return _argon2().hash(text)


def _matches(stored: str | None, text: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerifyMismatchError

    try:
        _argon2().verify(stored or _nobody(), text)
    except (VerifyMismatchError, InvalidHashError):
        return False
    return stored is not None


@functools.cache
def _argon2() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher(limits.SLOW_HASH_PASSES, limits.SLOW_HASH_MEMORY_KB, parallelism=1)


@functools.cache
def _nobody() -> str:
    return _hash(secrets.token_urlsafe(16))
