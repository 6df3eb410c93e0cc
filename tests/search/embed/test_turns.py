"""Turns: each caller's texts a little at a time, whoever has had less first, and nobody fails by another's text."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from deedbox.search import limits
from deedbox.search.embed.turns import EmbeddingTurns, Read, Share, WindowPart
from deedbox.search.embed.vectors import of_windows

pytestmark = pytest.mark.anyio

WINDOW = limits.EMBED_WINDOW_CHARS


class Model:
    """Reads when it is told to. A window's vector is made of its text and number; `dense` windows hold half as much."""

    def __init__(self, *, dense: bool = False) -> None:
        self.calls: list[list[WindowPart]] = []
        self.may = asyncio.Semaphore(0)
        self.dense = dense

    def go_on(self, calls: int = 1000) -> None:
        for _ in range(calls):
            self.may.release()

    async def read(self, parts: Sequence[WindowPart]) -> list[Read]:
        self.calls.append(list(parts))
        await self.may.acquire()
        if any("broken" in part.text for part in parts):
            raise RuntimeError("a broken text")
        return [self.one(part) for part in parts]

    def one(self, part: WindowPart) -> Read:
        windows = max(1, -(-len(part.text) // (WINDOW // 2 if self.dense else WINDOW)))
        asked = range(part.first, min(windows, part.first + part.most))
        return windows, [vector(part.text, number).tobytes() for number in asked]


def vector(text: str, window: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return np.array([len(text) % 7 + 1, ord(text[0]), window + 1], np.float32)


def expected(text: str, windows: int) -> bytes:
    return of_windows([vector(text, number) for number in range(windows)]).tobytes()


def of(model: Model, texts: int = 4, windows: int = 4) -> EmbeddingTurns:
    return EmbeddingTurns(model.read, lambda: Share(texts, windows))


async def until_calls(model: Model, number: int) -> None:
    while len(model.calls) < number:
        await asyncio.sleep(0)


async def test_a_light_caller_is_next_however_much_a_heavy_one_has_waiting() -> None:
    model = Model()
    turns = of(model)
    heavy = [asyncio.create_task(turns.vectors(["heavy"] * 256, "heavy")) for _ in range(4)]
    await until_calls(model, 1)
    for _ in range(20):
        before = len(model.calls)
        light = asyncio.create_task(turns.vectors(["light"], "light"))
        await asyncio.sleep(0)
        model.go_on(1)
        await until_calls(model, before + 1)
        assert [part.text for part in model.calls[-1]] == ["light"]
        model.go_on(1)
        await light
        await until_calls(model, before + 2)
    assert not any(task.done() for task in heavy)
    model.go_on()
    assert [len(rows) for rows in await asyncio.gather(*heavy)] == [256] * 4


async def test_four_callers_who_want_all_get_a_quarter_each() -> None:
    model = Model()
    turns = of(model)
    sizes = {"a": 1, "b": 2, "c": 3, "d": 9}
    asked = [asyncio.create_task(turns.vectors([name * WINDOW * size] * 64, name)) for name, size in sizes.items()]
    for number in range(40):
        await until_calls(model, number + 1)
        model.go_on(1)
    await until_calls(model, 41)
    read = dict.fromkeys(sizes, 0)
    for part in (part for call in model.calls[:40] for part in call):
        read[part.text[0]] += part.most
    assert max(read.values()) - min(read.values()) <= 4, read
    for task in asked:
        task.cancel()
    model.go_on(1)


async def test_a_long_text_is_read_in_several_turns_and_is_the_mean_of_all() -> None:
    for dense in (False, True):
        model = Model(dense=dense)
        turns = of(model)
        long, short = "l" * (9 * WINDOW + 1), "s"
        asked = asyncio.create_task(turns.vectors([short, long, short], "one"))
        model.go_on()
        rows = [row.tobytes() for row in await asked]
        assert rows == [expected(short, 1), expected(long, 19 if dense else 10), expected(short, 1)]
        assert max(sum(part.most for part in call) for call in model.calls) == 4
        assert len(model.calls) >= 3


async def test_nobody_fails_by_the_text_of_another() -> None:
    model = Model()
    turns = of(model)
    broken = asyncio.create_task(turns.vectors(["good", "broken", "good"] * 3, "one"))
    sound = asyncio.create_task(turns.vectors(["good"] * 9, "other"))
    model.go_on()
    with pytest.raises(RuntimeError):
        await broken
    assert len(await sound) == 9
    assert len(await turns.vectors(["good"], "one")) == 1


async def test_what_nobody_waits_for_any_more_is_not_read() -> None:
    model = Model()
    turns = of(model)
    gone = asyncio.create_task(turns.vectors(["gone"] * 100, "one"))
    await until_calls(model, 1)
    stays = asyncio.create_task(turns.vectors(["stays"] * 2, "one"))
    await asyncio.sleep(0)
    gone.cancel()
    model.go_on()
    assert len(await stays) == 2
    assert len(await turns.vectors(["last"], "two")) == 1
    assert sum(part.text == "gone" for call in model.calls for part in call) == 4


async def test_no_text_has_no_vector() -> None:
    assert await of(Model()).vectors([], "one") == []
