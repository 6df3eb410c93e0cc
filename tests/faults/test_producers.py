"""Files of every producer there is are sealed as the server seals them, hold for the programs of others, and look the
same but for the stamp; or they are refused by name.

The full run makes more than 300 files with every program and library that is installed (`scripts/fault-deps`,
`scripts/setup producers`) and says which were not.
"""

import io
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pikepdf
import pytest
from msgspec import Struct, field

from deedbox.pdf.intake import signed_input
from tests.faults import FULL
from tests.faults.chain import Chain, Outcome
from tests.faults.producers import corpus, handmade
from tests.pdf.oracles import need
from tests.pdf.papers import lines, paper, saved
from tests.pdf.sealed import updated

pytestmark = pytest.mark.anyio

FILES = 300 if FULL else 12
REFUSED = {"reportlab--encrypted": signed_input.LOCKED}
"""What a producer makes and we do not take."""


class Score(Struct):
    """What became of the files of each producer."""

    rows: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, name: str, outcome: Outcome) -> None:
        row = self.rows.setdefault(name.partition("--")[0], Counter())
        row["files"] += 1
        row["refused"] += bool(outcome.refused)
        row["sealed"] += bool(outcome.sealed)
        for judge in ("deedbox", "pdfsig", "openssl", "qpdf", "look"):
            row[judge] += bool(outcome.sealed) and judge not in outcome.faults
        if outcome.refused != REFUSED.get(name, ""):
            self.wrong.append(f"{name}: refused: {outcome.refused}")
        self.wrong += [f"{name}: {judge}: {fault}" for judge, fault in outcome.faults.items()]

    def table(self) -> str:
        columns = ("files", "sealed", "deedbox", "pdfsig", "openssl", "qpdf", "look", "refused")
        total: Counter[str] = sum(self.rows.values(), Counter())
        lines = [f"{'producer':24}" + "".join(f"{column:>9}" for column in columns)]
        for producer, row in [*sorted(self.rows.items()), ("all", total)]:
            lines.append(f"{producer:24}" + "".join(f"{row[column]:>9}" for column in columns))
        return "\n".join(lines)


@pytest.fixture
async def chain(tmp_path: Path) -> AsyncIterator[Chain]:
    need("pdfsig", "certutil", "openssl", "qpdf", "pdftoppm")
    async with Chain(tmp_path) as made:
        yield made


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    if not FULL:
        yield from corpus.few()
        return
    made, work = folder / "made", folder / "work"
    made.mkdir()
    work.mkdir()
    for line in corpus.make(made, work):
        print(line)
    yield from ((path.stem, path.read_bytes()) for path in sorted(made.glob("*.pdf")))


async def test_every_file_is_sealed_and_holds_or_is_refused_by_name(chain: Chain, tmp_path: Path) -> None:
    score = Score()
    for name, data in files(tmp_path):
        score.add(name, await chain.take(data))
    print(score.table())
    assert score.wrong == []
    assert sum(row["sealed"] for row in score.rows.values()) >= FILES


async def test_what_must_be_refused_is_refused_by_its_name(chain: Chain) -> None:
    for name, data, words in handmade.refused():
        assert (name, (await chain.take(data)).refused) == (name, words)


async def test_the_rig_sees_what_went_wrong(chain: Chain) -> None:
    """The seeded bugs: another text, a page too few, a page of another size, a stamp elsewhere, a broken seal."""
    data = paper(lines("The price is 1000", size=20))
    sealed = (await chain.take(data)).sealed
    assert await chain.faults(data, sealed) == {}
    assert set(await chain.faults(paper(lines("The price is 9000", size=20)), sealed)) == {"look", "poppler"}
    assert set(await chain.faults(paper(lines("The price is 1000", size=20), b""), sealed)) == {"look"}
    assert set(await chain.faults(paper(b"", media=(0, 0, 612, 792)), sealed)) == {"look", "poppler"}
    assert "look" in await chain.faults(data, displaced(sealed))
    assert {"deedbox", "pdfsig"} <= set(await chain.faults(data, updated(sealed)))
    at = sealed.index(b"\n%") + 2
    assert {"deedbox", "pdfsig", "openssl"} <= set(
        await chain.faults(data, sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :])
    )


def displaced(sealed: bytes) -> bytes:
    """The stamp half as large, towards the lower left corner."""
    with pikepdf.open(io.BytesIO(sealed)) as pdf:
        for form in pdf.pages[0].Resources.XObject.values():
            form["/Matrix"] = pikepdf.Array([0.5, 0, 0, 0.5, 0, 0])
        return saved(pdf)
