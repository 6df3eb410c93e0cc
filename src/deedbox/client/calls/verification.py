# Written by scripts/client.py from the OpenAPI document: change it there.
"""Whether a file is what was sealed here."""

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.verification import Verification, Vouched


class VerificationCalls:
    """Whether a file is what was sealed here."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def verify_file(self, file: FileSource, *, idempotency_key: str | None = None) -> Verification:
        """Verify a sealed PDF."""
        return self._connection.answer(
            Call("POST", "/api/v1/verify", headers=once(idempotency_key), body=Form([("file", file)])), Verification
        )

    def verify_code(self, code: str) -> Vouched:
        """What a verification code vouches for."""
        return self._connection.answer(Call("GET", f"/api/v1/verify/{part(code)}", key=False), Vouched)


class AsyncVerificationCalls:
    """Whether a file is what was sealed here."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def verify_file(self, file: FileSource, *, idempotency_key: str | None = None) -> Verification:
        """Verify a sealed PDF."""
        return await self._connection.answer(
            Call("POST", "/api/v1/verify", headers=once(idempotency_key), body=Form([("file", file)])), Verification
        )

    async def verify_code(self, code: str) -> Vouched:
        """What a verification code vouches for."""
        return await self._connection.answer(Call("GET", f"/api/v1/verify/{part(code)}", key=False), Vouched)
