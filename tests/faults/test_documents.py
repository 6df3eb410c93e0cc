"""Documents of the programs and libraries that write them are read as people read them: each text was looked through
before it was kept beside this fault test.

What libraries and programs made is kept (`producers/kept`), so that the small size needs neither. The full run makes
everything anew with what is installed (`scripts/fault-deps`, `scripts/setup producers`) and says what was not.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from deedbox.search.extract import extract
from deedbox.search.extract.kinds import KINDS, PICTURES, kind_of
from deedbox.search.library.upload import Extraction
from tests.faults import FULL
from tests.faults.producers import corpus, written_here

KEPT = Path(__file__).parent / "producers" / "kept"
READ = Path(__file__).parent / "producers" / "read"
FILES = 60


def told(found: Extraction) -> str:
    """The text with a form feed where a page begins and a number sign before each heading."""
    pages = [(offset, 0, "\f") for offset in found.page_starts or []]
    pieces, at = list[str](), 0
    for offset, _, mark in sorted([*pages, *((offset, 1, "# ") for offset, _ in found.headings)]):
        pieces += [found.text[at:offset], mark]
        at = offset
    return "".join([*pieces, found.text[at:]])


def files(folder: Path) -> dict[str, bytes]:
    if not FULL:
        kept = {path.name: path.read_bytes() for path in sorted(KEPT.iterdir())}
        return kept | dict(written_here.documents())
    made, work = folder / "made", folder / "work"
    made.mkdir()
    work.mkdir()
    missing = list(corpus.make_documents(made, work))
    print("\n".join(missing))
    assert not (missing and os.environ.get("CI")), missing
    return {path.name: path.read_bytes() for path in sorted(made.iterdir()) if path.is_file()}


def test_every_document_is_read_as_a_person_reads_it(tmp_path: Path) -> None:
    found = {name: told(extract(data, kind_of(name).name)) for name, data in files(tmp_path).items()}
    expected = {name: (READ / f"{name}.txt").read_text(encoding="utf-8") for name in found}
    assert found == expected
    if len(found) < FILES:
        pytest.skip(f"{len(found)} of {FILES} documents could be made here")


def test_documents_of_every_kind_are_among_them() -> None:
    names = [path.name.removesuffix(".txt") for path in READ.iterdir()]
    assert len(names) >= FILES
    assert {kind_of(name).name for name in names} == set(KINDS) - set(PICTURES) - {"txt"}


def test_the_rig_sees_another_text() -> None:
    """The seeded bugs: a word, a heading and a page that are not where they were."""
    found = Extraction("Rent\nNotice\n", [0, 5], [(0, "Rent")])
    assert told(found) == "\f# Rent\n\fNotice\n"
    changes: list[dict[str, Any]] = [{"text": "Rant\nNotice\n"}, {"page_starts": [0]}, {"headings": []}]
    for change in changes:
        assert told(structs.replace(found, **change)) != told(found)
