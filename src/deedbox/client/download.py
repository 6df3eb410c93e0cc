"""A file that the server gives."""

import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

import httpx

_Fetch: TypeAlias = Callable[[Callable[[httpx.Response], object]], httpx.Response]
_AsyncFetch: TypeAlias = Callable[[Callable[[httpx.Response], Awaitable[object]]], Awaitable[httpx.Response]]


class Download:
    """A file, fetched when it is read or saved."""

    def __init__(self, fetch: _Fetch) -> None:
        self._fetch = fetch

    def read(self) -> bytes:
        """The whole file."""
        return self._fetch(httpx.Response.read).content

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the file there as it comes; what is there before stays until the file is whole."""
        with _replacing(Path(path)) as file:

            def read(response: httpx.Response) -> None:
                file.truncate(0)  # an attempt may have broken off
                file.seek(0)
                for piece in response.iter_bytes():
                    file.write(piece)

            self._fetch(read)
        return Path(path)


class AsyncDownload:
    """A file, fetched when it is read or saved."""

    def __init__(self, fetch: _AsyncFetch) -> None:
        self._fetch = fetch

    async def read(self) -> bytes:
        """The whole file."""
        return (await self._fetch(httpx.Response.aread)).content

    async def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the file there as it comes; what is there before stays until the file is whole."""
        with _replacing(Path(path)) as file:

            async def read(response: httpx.Response) -> None:
                file.truncate(0)  # an attempt may have broken off
                file.seek(0)
                async for piece in response.aiter_bytes():
                    file.write(piece)

            await self._fetch(read)
        return Path(path)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the path's place when it is whole, and leaves nothing if it never is."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            yield file  # type: ignore[misc]
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
