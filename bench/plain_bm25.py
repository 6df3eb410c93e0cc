"""BM25 by the book, to compare with: whole documents, English stop words removed, English stems, every word of the
query as often as it occurs."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping

import tantivy

K1, B = 1.2, 0.75


class PlainBm25:
    """Documents by name, in memory."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
        builder = builder.filter(tantivy.Filter.stopword("english")).filter(tantivy.Filter.stemmer("english"))
        self._analyser = builder.build()
        terms = {name: self._analyser.analyze(text) for name, text in documents.items()}
        average = sum(map(len, terms.values())) / max(1, len(terms))
        self._damping = {name: K1 * (1 - B + B * len(said) / max(1, average)) for name, said in terms.items()}
        self._postings: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for name, said in terms.items():
            for term, count in Counter(said).items():
                self._postings[term].append((name, count))

    def ranked(self, query: str, top: int) -> list[str]:
        """The best documents, best first."""
        scores: Counter[str] = Counter()
        for term, said in Counter(self._analyser.analyze(query)).items():
            postings = self._postings.get(term, [])
            rarity = math.log(1 + (len(self._damping) - len(postings) + 0.5) / (len(postings) + 0.5))
            for name, count in postings:
                scores[name] += said * rarity * (K1 + 1) * count / (count + self._damping[name])  # type: ignore[assignment]
        return [name for name, _ in sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:top]]
