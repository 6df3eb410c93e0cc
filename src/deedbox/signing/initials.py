"""What a signer's own hand leaves in a field: the signature, or the initials, given or those of the name."""

import unicodedata

from deedbox.signing.model import FieldType, Signer, SignerSignature

_NOT_JOINED = "\u200c"
_JOINED = ("AL",)
_WHOLE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")
"""Scripts whose names are so short that their first sign, of the family, stands for them."""
_VOWELS_BEFORE = "เแโใไ"
"""Thai writes them before the consonant that they follow."""
_MOST = 4


def by_hand(signer: Signer, kind: FieldType) -> SignerSignature | None:
    """What stands in the signer's fields of this kind; None for a kind that is not written by hand."""
    if signer.signature is None or kind not in ("signature", "initials"):
        return None
    if kind == "signature":
        return signer.signature
    return signer.initials or SignerSignature("typed", text=initials_of(signer.name), hand=signer.signature.hand)


def initials_of(name: str) -> str:
    """The first letters of a name's words: AMN for Ana María Núñez, 王 for 王小明, letters that join kept apart."""
    words = [letters for word in name.split() if (letters := _letters(word))]
    if words and unicodedata.name(words[0][0], "").startswith(_WHOLE):
        return words[0][0]
    firsts = [_first(word) for word in words]
    if len(firsts) > _MOST:
        firsts = [*firsts[: _MOST - 1], firsts[-1]]
    joins = any(unicodedata.bidirectional(first[0]) in _JOINED for first in firsts)
    return (_NOT_JOINED if joins else "").join(firsts) or name[:1]


def _letters(word: str) -> str:
    """The word from its first letter on: (Ana) and "Ana" are abbreviated like Ana."""
    start = next((at for at, letter in enumerate(word) if unicodedata.category(letter)[0] in "LN"), len(word))
    return word[start:]


def _first(word: str) -> str:
    """The first letter with the signs that belong to it."""
    end = 2 if word[0] in _VOWELS_BEFORE else 1
    while end < len(word) and unicodedata.category(word[end]) in ("Mn", "Mc", "Me"):
        end += 1
    return word[:end]
