"""Pictures of the pages of stored PDFs, drawn in a sandbox."""

from deedbox.kernel.sandbox import SandboxKind, Stream
from deedbox.kernel.sandbox.pool import Sandbox

_KIND = SandboxKind(name="pages", preload=("deedbox.pdf.render",))


class PageImages:
    """No process runs before the first picture is asked for."""

    def __init__(self) -> None:
        self._sandbox = Sandbox(_KIND)

    async def render(self, data: bytes | Stream, number: int) -> bytes:
        """The page as WebP; NotFound if there is no such page, BadRequest if it cannot be drawn."""
        image: bytes = await self._sandbox.call("deedbox.pdf.render:render", data, number)
        return image

    async def close(self) -> None:
        await self._sandbox.close()
