"""`word*` in a query: any word that begins so."""

import re

BEGUN = re.compile(r"(?<![^\s(])(?P<begun>[^\W_]{2,})\*(?=[\s.,;:!?)]|$)")


def without_stars(query: str) -> str:
    """The query, with what its words with a star begin with as words of their own."""
    return BEGUN.sub(r"\g<begun>", query)
