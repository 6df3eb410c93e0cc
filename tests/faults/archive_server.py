"""The server with the bug in its archiving that PLANTED_BUG names, if any."""

import os
from collections.abc import Callable

from msgspec.structs import replace

from deedbox.archive.package import Bag, ManifestKey
from deedbox.archive.push import Push
from deedbox.archive.receipt import PackageReceipt
from deedbox.cli import main
from deedbox.kernel.egress import Egress, EgressResponse, Request
from deedbox.kernel.jobs import Work
from tests.faults.faulty_server import VARIABLE


def noted_before_it_is_pushed() -> None:
    """The receipt is written first: what dies on the way is never pushed."""
    pushed = Push._pushed
    waiting: dict[str, tuple[Bag, ManifestKey]] = {}

    async def promised(self: Push, bag: Bag, key: ManifestKey) -> PackageReceipt:
        waiting[bag.document_id] = bag, key
        async with self._builder.package(bag, await self._token(bag), key) as made:
            where = self._archive.target.location(made.name)
            return PackageReceipt(where, made.file.sha256, made.file.size_bytes, made.manifest_sha256, "")

    run = Push.run

    async def late(self: Push, work: Work) -> None:
        await run(self, work)
        for bag, key in [waiting.pop(one) for one in list(waiting)]:
            await pushed(self, bag, key)

    Push._pushed = promised  # type: ignore[method-assign]
    Push.run = late  # type: ignore[method-assign]


def put_without_looking() -> None:
    """Whatever lies under the name is replaced."""
    send = Egress.send

    async def bold(self: Egress, request: Request) -> EgressResponse:
        headers = {name: value for name, value in request.headers.items() if name != "If-None-Match"}
        return await send(self, replace(request, headers=headers))

    Egress.send = bold  # type: ignore[method-assign]


BUGS: dict[str, Callable[[], None]] = {
    "noted before it is pushed": noted_before_it_is_pushed,
    "put without looking": put_without_looking,
}

if __name__ == "__main__":
    if VARIABLE in os.environ:
        BUGS[os.environ[VARIABLE]]()
    main()
