"""Killed at any moment, an index goes on from its watermark and ends as if nothing had happened."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deedbox.search import limits
from deedbox.search.index.local import LocalIndex
from tests.faults import FULL
from tests.search.index.crasher import REWRITE_ROWS, nth
from tests.search.index.model import DIMENSIONS, Model, assert_same

ROOT = Path(__file__).parents[3]


def kill_at_random(folder: Path, seed: int, random_: random.Random) -> int:
    """Lets a child apply changes and kills it; the last watermark that it called done."""
    command = [sys.executable, "-m", "tests.search.index.crasher", str(folder), str(seed)]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    done = int(child.stdout.readline())
    time.sleep(random_.random() * 0.25)
    child.kill()
    done = int([str(done), *child.stdout.read().split("\n")[:-1]][-1])
    child.wait()
    child.stdout.close()
    return done


def model_at(seed: int, watermark: int) -> Model:
    model = Model()
    model.apply(nth(seed, number) for number in range(1, watermark + 1))
    return model


@pytest.mark.parametrize("seed", range(8 if FULL else 1))
def test_an_index_killed_at_any_moment_goes_on_from_its_watermark(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REWRITE_ROWS", REWRITE_ROWS)
    random_, last = random.Random(seed), 0
    for turn in range(25 if FULL else 4):
        done = kill_at_random(tmp_path, seed, random_)
        index = LocalIndex(tmp_path, DIMENSIONS, "recipe")
        try:
            last = index.watermark
            assert last >= done
            # The vectors stand exactly at the watermark; the words may be ahead, until the replay.
            assert index.size == model_at(seed, last).size
            replayed = last + random_.randint(0, 8)
            index.apply((nth(seed, number) for number in range(last + 1, replayed + 1)), replayed)
            # What the killed process had under way are changes of later numbers, and nothing of them may be seen
            # once they are replayed.
            for number in range(replayed + 1, replayed + 7):
                index.apply([nth(seed, number)], number)
            model = model_at(seed, replayed + 6)
            for again in range(5):
                assert_same(index, model, random.Random(100 * turn + again))
        finally:
            index.close()
    assert last > 0
