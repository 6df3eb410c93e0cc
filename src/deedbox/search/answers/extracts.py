"""An answer that no model writes: the sentences of the passages that have most of the question's words."""

from collections.abc import Sequence

from deedbox.search import limits
from deedbox.search.answers import sentences
from deedbox.search.answers.support import Quote, Sentence
from deedbox.search.query.best_passages import Passage


def extracts(passages: Sequence[Passage]) -> list[Sentence]:
    """The best sentences, best first, each with its passage; none if no sentence has a word of the question."""
    known = dict[str, tuple[int, int, Sentence]]()
    for number, passage in enumerate(passages, 1):
        for begin, end in sentences.spans(passage.chunk.text):
            text = " ".join(passage.chunk.text[begin:end].split())[: limits.ANSWER_SENTENCE_CHARS]
            if asked := _asked_words(passage, begin, end):
                # The same sentence may stand in two passages, where they overlap.
                known.setdefault(text, (-asked, number, Sentence(text, [number], True, None, [Quote(number, text)])))
    ranked = sorted(known.values(), key=lambda each: each[:2])
    return [sentence for _, _, sentence in ranked[: limits.ANSWER_EXTRACTS]]


def _asked_words(passage: Passage, begin: int, end: int) -> int:
    """How many different words of the question the sentence has."""
    from deedbox.search.index.analysis import terms

    text = passage.chunk.text
    marked = [text[start:stop] for start, stop in passage.highlights if begin <= start and stop <= end]
    return len({term for word in marked for term in terms(word)})
