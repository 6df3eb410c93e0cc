"""Sandboxes whose children outlive a test: the next test finds them loaded, as they are between two calls.

To start a child and load its modules takes longer than what most tests ask of it. Tests about sandboxes themselves
start their own."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest
from msgspec import Struct

from deedbox.kernel.sandbox import SandboxKind, Sink
from deedbox.kernel.sandbox import pool as pools
from deedbox.kernel.sandbox.frames import Broken, Reply
from deedbox.kernel.sandbox.process import Child

CALLS = 200
"""After so many calls, of however many tests, a child is replaced."""


class WarmChild(Child):
    """A child that is left to the next test instead of being killed, if its last call ended well."""

    def __init__(self, kind: SandboxKind, left: "list[WarmChild]") -> None:
        super().__init__(kind)
        self.kind = kind
        self._left = left
        self._packages: tuple[str, ...] | None = None
        self._sound = False
        self._all_calls = 0

    async def open(self, packages: tuple[str, ...]) -> None:
        if self._packages is None:
            await super().open(packages)
            self._packages = packages
        else:
            assert self._packages == packages
            await self._connect()
            self.opened = True
        self._sound = True

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        # A loop closes the pipes that it was given: it gets copies, and the child does not notice when they go.
        output, input_ = super()._pipes()
        assert output
        assert input_
        return os.fdopen(os.dup(output.fileno()), "rb", 0), os.fdopen(os.dup(input_.fileno()), "wb", 0)

    async def ask(self, message: Struct, into: Sink | None = None, cpu_seconds: float | None = None) -> Reply:
        self._sound = False
        self._all_calls += 1
        reply = await super().ask(message, into, cpu_seconds)
        self._sound = not isinstance(reply, Broken)
        return reply

    def signal(self) -> None:
        if not self._reusable:
            super().signal()

    async def kill(self) -> None:
        if not self._reusable:
            await super().kill()
            self.end()
            return
        assert self._output
        assert self._input
        self._output.close()
        self._input.close()
        await asyncio.sleep(0)
        self.opened, self.calls = False, 0
        self._left.append(self)

    def end(self) -> None:
        super().signal()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.wait()

    @property
    def _reusable(self) -> bool:
        return self._sound and self.alive and self._all_calls < CALLS


@contextmanager
def children() -> Iterator[pytest.MonkeyPatch]:
    """While this lasts, sandboxes take children that others have left, and leave theirs."""
    left: list[WarmChild] = []

    def take(kind: SandboxKind) -> WarmChild:
        found = next((child for child in left if child.kind == kind and child.alive), None)
        if found is None:
            return WarmChild(kind, left)
        left.remove(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "Child", take)
        yield patch
    for child in left:
        child.end()
