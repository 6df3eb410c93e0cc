"""Names in a sentence: the first few, and how many more there are."""

from collections.abc import Sequence

from deedbox.i18n.dashboard import WORDS
from deedbox.web import limits


def few(names: Sequence[str]) -> str:
    """Such as “Rent, City and 3 more”; empty if there are none."""
    shown, more = ", ".join(names[: limits.FIELDS_NAMED]), len(names) - limits.FIELDS_NAMED
    return WORDS["few_and_more"].format(names=shown, more=more) if more > 0 else shown
