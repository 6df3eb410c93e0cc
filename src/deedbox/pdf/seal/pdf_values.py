"""PDF values as our own writer writes them."""

import codecs
import re
from collections.abc import Iterable, Mapping

codecs.lookup("utf-16-be")  # which a closed sandbox could no longer load
_PLAIN = re.compile(r"[ -'*-\[\]-~]*")
_IN_NAMES = re.compile(rb"[^!\"$&'*-.0-;=?-Z\\^-z|~]")


def reference(objgen: tuple[int, int]) -> bytes:
    return b"%d %d R" % objgen


def dictionary(entries: Mapping[str, bytes]) -> bytes:
    """A dictionary by its entries' names, which have their slash."""
    return b"<< %b >>" % b" ".join(b"%b %b" % (_name(key), value) for key, value in entries.items())


def array(entries: Iterable[bytes]) -> bytes:
    return b"[%b]" % b" ".join(entries)


def text(words: str) -> bytes:
    """A text string: readable where it is plain, in UTF-16 otherwise."""
    if _PLAIN.fullmatch(words):
        return b"(%b)" % words.encode("ascii")
    return b"<%b>" % (b"\xfe\xff" + words.encode("utf-16-be")).hex().encode()


def _name(key: str) -> bytes:
    plain = key[1:].encode("utf-8", "surrogateescape")
    return b"/" + _IN_NAMES.sub(lambda found: b"#%02x" % found[0][0], plain)
