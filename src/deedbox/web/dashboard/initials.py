"""People as dots: the letters that stand for a name."""

from deedbox.signing.initials import initials_of


def initials(name: str) -> str:
    """The first letters of the first and the last word, as many as fit a dot."""
    words = name.split()
    return initials_of(" ".join([*words[:1], *words[1:][-1:]])).upper() or "?"
