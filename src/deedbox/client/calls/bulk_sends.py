# Written by scripts/client.py from the OpenAPI document: change it there.
"""One template, a document for each row of a table."""

from collections.abc import AsyncIterator, Iterator
from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.records.bulk_sends import BulkRowPage, BulkSend, BulkSendPage, DryRun, Row
from deedbox.client.requests.bulk_sends import NewBulkSend


class ListBulkSendsQuery(TypedDict, total=False):
    """What `list_bulk_sends` can be asked for."""

    limit: int
    """How many to show at most."""


class ListBulkSendRowsQuery(TypedDict, total=False):
    """What `list_bulk_send_rows` can be asked for."""

    limit: int
    """How many to show at most."""
    status: Literal["canceled", "failed", "queued", "sent"]
    """Only rows of this status."""


class BulkSendsCalls:
    """One template, a document for each row of a table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListBulkSendsQuery]) -> Iterator[BulkSend]:
        """List bulk sends, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/bulk-sends", query=query), BulkSendPage, lambda page: page.bulk_sends
        )

    def create(
        self, body: NewBulkSend, file: FileSource | None = None, *, idempotency_key: str | None = None
    ) -> BulkSend | DryRun:
        """Send a document to each of many people.

        Every row is checked first: if one cannot be sent, none is. Rows that were sent before under the same name,
        template and key are not sent again."""
        return self._connection.either(
            Call(
                "POST",
                "/api/v1/bulk-sends",
                headers=once(idempotency_key),
                body=Form([("file", file)], {"bulk_send": body}) if file else body,
            ),
            BulkSend,
            DryRun,
        )

    def get(self, bulk_send_id: str) -> BulkSend:
        """One bulk send."""
        return self._connection.answer(Call("GET", f"/api/v1/bulk-sends/{part(bulk_send_id)}"), BulkSend)

    def pause(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Send no more rows until it is resumed."""
        return self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/pause", headers=once(idempotency_key)), BulkSend
        )

    def resume(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Resume a paused bulk send."""
        return self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/resume", headers=once(idempotency_key)), BulkSend
        )

    def cancel(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Never send the rows that wait.

        What was sent stays sent: void those documents to take them back."""
        return self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/cancel", headers=once(idempotency_key)), BulkSend
        )

    def retry(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Try the rows again that failed."""
        return self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/retry", headers=once(idempotency_key)), BulkSend
        )

    def list_rows(self, bulk_send_id: str, **query: Unpack[ListBulkSendRowsQuery]) -> Iterator[Row]:
        """The rows of a bulk send, and what became of them.

        As CSV, cells that a spreadsheet would take for a formula begin with an apostrophe."""
        return self._connection.pages(
            Call("GET", f"/api/v1/bulk-sends/{part(bulk_send_id)}/rows", query=query),
            BulkRowPage,
            lambda page: page.rows,
        )

    def list_rows_csv(self, bulk_send_id: str, **query: Unpack[ListBulkSendRowsQuery]) -> Download:
        """The rows of a bulk send, and what became of them.

        As CSV, cells that a spreadsheet would take for a formula begin with an apostrophe."""
        return self._connection.download(
            Call("GET", f"/api/v1/bulk-sends/{part(bulk_send_id)}/rows", query=query, headers={"Accept": "text/csv"})
        )


class AsyncBulkSendsCalls:
    """One template, a document for each row of a table."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListBulkSendsQuery]) -> AsyncIterator[BulkSend]:
        """List bulk sends, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/bulk-sends", query=query), BulkSendPage, lambda page: page.bulk_sends
        )

    async def create(
        self, body: NewBulkSend, file: FileSource | None = None, *, idempotency_key: str | None = None
    ) -> BulkSend | DryRun:
        """Send a document to each of many people.

        Every row is checked first: if one cannot be sent, none is. Rows that were sent before under the same name,
        template and key are not sent again."""
        return await self._connection.either(
            Call(
                "POST",
                "/api/v1/bulk-sends",
                headers=once(idempotency_key),
                body=Form([("file", file)], {"bulk_send": body}) if file else body,
            ),
            BulkSend,
            DryRun,
        )

    async def get(self, bulk_send_id: str) -> BulkSend:
        """One bulk send."""
        return await self._connection.answer(Call("GET", f"/api/v1/bulk-sends/{part(bulk_send_id)}"), BulkSend)

    async def pause(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Send no more rows until it is resumed."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/pause", headers=once(idempotency_key)), BulkSend
        )

    async def resume(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Resume a paused bulk send."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/resume", headers=once(idempotency_key)), BulkSend
        )

    async def cancel(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Never send the rows that wait.

        What was sent stays sent: void those documents to take them back."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/cancel", headers=once(idempotency_key)), BulkSend
        )

    async def retry(self, bulk_send_id: str, *, idempotency_key: str | None = None) -> BulkSend:
        """Try the rows again that failed."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/bulk-sends/{part(bulk_send_id)}/retry", headers=once(idempotency_key)), BulkSend
        )

    def list_rows(self, bulk_send_id: str, **query: Unpack[ListBulkSendRowsQuery]) -> AsyncIterator[Row]:
        """The rows of a bulk send, and what became of them.

        As CSV, cells that a spreadsheet would take for a formula begin with an apostrophe."""
        return self._connection.pages(
            Call("GET", f"/api/v1/bulk-sends/{part(bulk_send_id)}/rows", query=query),
            BulkRowPage,
            lambda page: page.rows,
        )

    def list_rows_csv(self, bulk_send_id: str, **query: Unpack[ListBulkSendRowsQuery]) -> AsyncDownload:
        """The rows of a bulk send, and what became of them.

        As CSV, cells that a spreadsheet would take for a formula begin with an apostrophe."""
        return self._connection.download(
            Call("GET", f"/api/v1/bulk-sends/{part(bulk_send_id)}/rows", query=query, headers={"Accept": "text/csv"})
        )
