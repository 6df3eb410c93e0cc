"""What can go wrong in sending the rows of a bulk send, to be planted into a server."""

import asyncio

from deedbox.kernel.db import Tx
from deedbox.signing.bulk import send_rows, store

GAP_SECONDS = 0.2
"""How long the gap stays open: long enough for a kill to fall into it."""


def row_noted_after_commit() -> None:
    """Documents are sent in one transaction; that their rows are done is noted in another."""
    send = send_rows.SendRows._store
    settle, change = store.settle, store.change

    async def in_two_steps(self: send_rows.SendRows, *args: object) -> None:
        noted: list[tuple[object, ...]] = []
        store.settle = lambda _, *more: noted.append(("settle", *more))
        store.change = lambda _, *more: noted.append(("change", *more))
        try:
            await send(self, *args)  # type: ignore[arg-type]
        finally:
            store.settle, store.change = settle, change
        await asyncio.sleep(GAP_SECONDS)

        def write(tx: Tx) -> None:
            for name, *more in noted:
                (settle if name == "settle" else change)(tx, *more)  # type: ignore[arg-type]

        await self._services.db.write(write)

    send_rows.SendRows._store = in_two_steps  # type: ignore[method-assign, assignment]
