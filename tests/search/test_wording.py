"""Signs in a question ask for something where they are meant so, and are plain text everywhere else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deedbox.kernel.db import Database
from deedbox.search import limits
from deedbox.search.library import library, store
from deedbox.search.library.filing import FilingChange
from deedbox.search.library.reader import SearchReader
from deedbox.search.query import best_passages as query
from deedbox.search.query import query_syntax
from deedbox.search.query.best_passages import Mode, Question
from deedbox.search.query.query_syntax import Wording, read, replace_words
from tests.conftest import HandClock
from tests.search.corpus import Corpus

pytestmark = pytest.mark.anyio
TEXTS = (
    "The security deposit is paid back when the flat is returned",
    "A deposit for security reasons is never paid",
    "Security deposits of the garden are kept by the owner",
    "The colour of the car and of the garden",
)


@pytest.mark.parametrize(
    ("question", "understood"),
    [
        ('"security deposit" refund', Wording("security deposit refund", phrases=("security deposit",))),
        ('Is there a "security deposit"?', Wording("Is there a security deposit", phrases=("security deposit",))),
        ("deposit -garden", Wording("deposit", excluded=("garden",))),
        ('deposit -"the garden"', Wording("deposit", excluded=("the garden",))),
        ("deposit filename:lease", Wording("deposit", fields=(("filename", "lease"),))),
        ('FileName:"my lease" rent', Wording("rent", fields=(("filename", "my lease"),))),
        ("filename:lease.pdf", Wording("lease.pdf", fields=(("filename", "lease.pdf"),))),
        ('title:lease heading:"the Rent" due', Wording("due", fields=(("title", "lease"), ("heading", "the Rent")))),
        ('"due* date" x', Wording("due  date x", phrases=("due* date",))),
    ],
)
def test_signs_that_are_meant_so_are_understood(question: str, understood: Wording) -> None:
    assert read(question) == understood


@pytest.mark.parametrize(
    "question",
    [
        "When is the  rent\n due?",
        'an unclosed "quote',
        '5" pipes and 6" valves',
        '""  " "',
        "-5 degrees, -v and - or --",
        "2019-2024 well-known x-ray",
        "-lease",
        '-"the lease" -rent',
        "filename: Lease",
        "Title: a heading",
        "lease* OR (NOT body:x) [a TO b] ^2 ~1",
        "\ud800 😀 \x07",
    ],
)
def test_signs_that_merely_stand_there_are_plain_text(question: str) -> None:
    assert read(question) == Wording(question)


def test_no_more_is_asked_for_than_the_bound() -> None:
    understood = read("rent " + " ".join(f"-word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"))
    assert len(understood.excluded) == limits.QUERY_WISHES
    assert understood.text.endswith(" -wordz")


@given(st.text(alphabet=st.sampled_from('ab1é契約 "-:*()filename\\\n'), max_size=40), st.text(max_size=60))
def test_every_text_is_understood_somehow(question: str, passage: str) -> None:
    understood = read(question)
    understood.admits(passage)
    assert understood.text.strip() or not question.strip()


@pytest.mark.parametrize(
    ("question", "text", "wanted"),
    [
        ('"security deposit"', "The Security  Deposit.", True),
        ('"security deposit"', "security of the deposit", False),
        ('"security deposit"', "security deposits", False),
        ('"résiliation du bail"', "La RESILIATION du bail", True),
        ('"契約の終了"', "東京都の契約の終了です", True),
        ('"契約の終了"', "終了の契約", False),
        ("rent -garden", "two gardens", False),
        ("rent -garden", "guarded", True),
        ("Miete -Kündigung", "Die Kündigungen der Wohnung sind für das Haus und die Mieter", False),
        ("終了 -契約", "契約書", False),
        ("終了 -契約", "契りと約束", True),
        ('rent -"the garden"', "the old garden", True),
        ('rent -"the garden"', "In the garden", False),
    ],
)
def test_a_passage_is_wanted_or_not(question: str, text: str, wanted: bool) -> None:
    assert read(question).admits(text) is wanted


@pytest.fixture
async def corpus(db: Database, clock: HandClock, tmp_path: Path) -> AsyncIterator[Corpus]:
    made = Corpus(db, clock, tmp_path)
    await made.settle()
    yield made
    await made.engine.close()


async def found(corpus: Corpus, question: str, mode: Mode) -> set[int]:
    """Which of the texts answer."""
    passages = await query.answer(corpus.engine, corpus.reader(), Question(question, top_k=50, mode=mode))
    return {TEXTS.index(passage.chunk.text) for passage in passages}


async def answer_by_signs(corpus: Corpus) -> None:
    """Phrases, exclusions and names decide which passages answer, in every mode."""
    uploads = [await corpus.indexed(text) for text in TEXTS]
    renamed = {"filename": "The ÜBERSICHT of cars.txt"}
    await corpus.db.write(lambda tx: store.change_upload(tx, uploads[3], {}, renamed))
    for mode in ("keyword", "semantic", "hybrid"):
        assert await found(corpus, '"security deposit"', mode) == {0}
        assert await found(corpus, 'paid -"security deposit"', mode) >= {1}
        assert not await found(corpus, 'paid -"security deposit"', mode) & {0}
        assert not await found(corpus, "security deposit -gardens", mode) & {2, 3}
        assert await found(corpus, "colour filename:übersicht filename:CARS", mode) == {3}
        assert await found(corpus, "deposit filename:lease", mode) == set()
        assert await found(corpus, '"deposit security"', mode) == set()


async def test_signs_decide_which_passages_answer(corpus: Corpus) -> None:
    await answer_by_signs(corpus)


async def test_a_phrase_is_found_behind_many_chunks_that_are_better_by_single_words(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SIFTED_CANDIDATES", 30)
    monkeypatch.setattr(limits, "LEG_CANDIDATES", 30)
    for number in range(40):
        await corpus.indexed(f"late roof {number}")
        await corpus.indexed(f"rent roof {number}")
    await corpus.indexed("late rent " + "of some other kind " * 10)
    for mode in ("keyword", "semantic", "hybrid"):
        question = Question('"late rent" roof', top_k=5, mode=mode)
        [passage] = await query.answer(corpus.engine, corpus.reader(), question)
        assert passage.chunk.text.startswith("late rent")


async def test_a_phrase_that_no_passage_has_is_asked_as_its_words_unless_nothing_else_is_asked(
    corpus: Corpus,
) -> None:
    uploads = [await corpus.indexed(text) for text in TEXTS]

    async def ids(question: str, **more: int) -> tuple[set[int], dict[str, str]]:
        asked = Question(question, top_k=50, mode="keyword", **more)  # type: ignore[arg-type]
        answer = await query.answer_with_details(corpus.engine, corpus.reader(), asked)
        return {uploads.index(one.upload.id) for one in answer.passages}, answer.corrected

    said = {'"car of the garden"': "car of the garden"}
    assert await ids('the "car of the garden" deposit') == ({0, 1, 2, 3}, said)
    assert await ids('the "car of the garden" deposit -flat', offset=3) == (set(), said)
    assert await ids('a "security deposit" of the moon') == ({0}, {})
    assert await ids('"car of the garden"') == await ids('"car of the garden" filename:x') == (set(), {})
    assert await ids('"moon" 77777') == (set(), {})
    assert (await ids('"the gardn" deposit'))[1] == {"gardn": "garden", '"the gardn"': "the gardn"}


def test_what_was_meant_stands_in_the_place_of_words_and_phrases() -> None:
    meant = {"gardn": "garden", '"the gardn"': "the gardn"}
    assert replace_words('Is "the gardn" rented?', meant) == "Is the garden rented?"


async def answer_by_words(corpus: Corpus) -> None:
    """Names, titles, headings, stars and mended words find the same wherever the index lies."""
    texts = ("# Lease of a flat\nThe tenant pays rent", "Invoice\nMoney is owed to the garage", "Notes on a tenant")
    uploads = [await corpus.indexed(text) for text in texts]

    async def ids(
        question: str, mode: Mode = "keyword", only: SearchReader | None = None
    ) -> tuple[set[int], dict[str, str]]:
        asked = Question(question, top_k=50, mode=mode)
        answer = await query.answer_with_details(corpus.engine, only or corpus.reader(), asked)
        return {uploads.index(one.upload.id) for one in answer.passages}, answer.corrected

    assert await ids("title:LEASE rent") == ({0}, {})
    assert await ids("title:invoice money") == ({1}, {})
    assert await ids('heading:"lease of" rent', "hybrid") == ({0}, {})
    assert await ids("heading:invoice money") == (set(), {})
    assert await ids("tenan* -notes") == ({0}, {})
    assert await ids("monney") == ({1}, {"monney": "money"})
    assert await ids('"monney"') == await ids("filename:monney") == await ids("-monney 77777") == (set(), {})
    assert (await ids("monney", "semantic"))[1] == {}
    await corpus.db.write(lambda tx: library.file(tx, corpus.reader(), uploads[1], FilingChange(filename="Gärten.txt")))
    assert await ids("garten") == ({1}, {})
    await corpus.db.write(lambda tx: library.file(tx, corpus.reader(), uploads[1], FilingChange(collection="other")))
    limited = SearchReader(corpus.reader().workspace_id, documents=True, collections=frozenset({"default"}))
    assert await ids("monney", only=limited) == (set(), {}), "a word that only others see is not told"
    assert await ids("tennant", only=limited) == ({0, 2}, {"tennant": "tenant"})


async def test_names_titles_stars_and_mended_words_find(corpus: Corpus) -> None:
    await answer_by_words(corpus)


@pytest.mark.parametrize(
    "asked", ["“first month” rent", "„first month“ rent", "« first month » rent", "”first month” rent"]
)
def test_typographic_quotes_mark_a_phrase(asked: str) -> None:
    assert query_syntax.read(asked) == query_syntax.read('"first month" rent')
    if "« " not in asked:
        assert query_syntax.replace_words(asked, {'"first month"': "first month"}) == "first month rent"
