"""A file on its way into a document: converted if need be, and made ready to be stamped and sealed."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blobs, Received
from deedbox.kernel.blobs.streaming import head_of, streamed
from deedbox.pdf import convert
from deedbox.pdf.marks import Prepared, Tag
from deedbox.pdf.workshop import Workshop
from deedbox.signing.drafts import NewField, TakenFile


class Intake:
    def __init__(self, blobs: Blobs, workshop: Workshop) -> None:
        self._blobs = blobs
        self._workshop = workshop

    @asynccontextmanager
    async def taken(
        self, name: str, original: Received, without_field: Callable[[Sequence[NewField]], int]
    ) -> AsyncIterator[TakenFile]:
        """The file with the PDF that will be signed, until the end of this; BadRequest says why it cannot be one.

        `without_field` tells how many signers need a place of their own beside the fields that the file names."""
        async with AsyncExitStack() as held:
            source = convert.source(name, await head_of(self._blobs, original.blob, convert.HEAD_BYTES))
            pdf = original
            if source != "pdf":
                pdf = await held.enter_async_context(self._converted(original, source))
            incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
            async with streamed(self._blobs, pdf.blob) as data:
                made = await self._workshop.take_in(data, incoming.write)
            taken = _taken(name, original, await incoming.finish(), made)
            signers = without_field(taken.tags)
            yield await self._with_places(taken, signers, held) if signers else taken

    async def _with_places(self, taken: TakenFile, signers: int, held: AsyncExitStack) -> TakenFile:
        """The same with places for so many signatures, on pages of their own if there is no room."""
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with streamed(self._blobs, taken.prepared.blob) as data:
            block = await self._workshop.block(data, signers, incoming.write)
        if not block.added:
            return msgspec.structs.replace(taken, places=block.places)
        added = (block.size.width, block.size.height) if block.size else taken.sizes[-1]
        sizes = [*taken.sizes, *[added] * block.added]
        return msgspec.structs.replace(taken, places=block.places, sizes=sizes, prepared=await incoming.finish())

    @asynccontextmanager
    async def _converted(self, original: Received, source: convert.Source) -> AsyncIterator[Received]:
        async with self._blobs.receive(limits.PREPARED_FILE_BYTES) as incoming:
            async with streamed(self._blobs, original.blob) as data:
                await self._workshop.convert(data, source, incoming.write)
            yield await incoming.finish()


def _taken(name: str, original: Received, prepared: Received, made: Prepared) -> TakenFile:
    return TakenFile(
        name=name,
        original=original,
        prepared=prepared,
        sizes=[(page.width, page.height) for page in made.pages],
        tags=[_field(tag) for tag in made.tags],
        covers=[cover for tag in made.tags for cover in tag.covers],
    )


def _field(tag: Tag) -> NewField:
    return NewField(
        type=tag.kind,
        **msgspec.structs.asdict(tag.place),
        party=tag.role,
        required=tag.required,
        label=tag.label or None,
        options=tag.options,
    )
