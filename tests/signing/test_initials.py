"""The initials that a name has in its script."""

import pytest

from deedbox.signing.initials import initials_of


@pytest.mark.parametrize(
    ("name", "initials"),
    [
        ("Ana María Núñez", "AMN"),
        ("Ann", "A"),
        ("Juan Carlos Alfonso Víctor María de Borbón", "JCAB"),
        ("(Bob) O’Neill", "BO"),
        ("Дмитрий Иванов", "ДИ"),
        ("王小明", "王"),
        ("山田 たろう", "山"),
        ("김철수", "김"),
        ("محمد الأحمد", "م\u200cا"),
        ("अनिल कुमार", "अकु"),
        ("สมชาย ใจดี", "สใจ"),
        ("!", "!"),
    ],
)
def test_initials(name: str, initials: str) -> None:
    assert initials_of(name) == initials
