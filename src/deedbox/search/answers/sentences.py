"""The sentences of a text."""

import re

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:\w|art|arts|no|nos|nr|dr|mr|mrs|ms|st|cf|ca|vs|abs|bzw|para|paras|sec|cl|fig|vol|inc|ltd|co|corp"
    r"|pp|ff|al|approx|e\.g|i\.e|z\.b|d\.h|u\.s)$",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？]+|\n\s*\n|\n")
_ITEM = re.compile(r"\s{0,9}(?:[-•*]|\(?(?:\w|[ivxlc]{2,6})[.)])\s")
"""What an item of a list begins with."""
_ROW = " | "
_LOOK = 80


def spans(text: str) -> list[tuple[int, int]]:
    """Where each sentence begins and ends, without the space around it.

    A line is one of its own if it is a row of a table, or if the next is an item of a list or does not go on with a
    small letter."""
    found, begin = list[tuple[int, int]](), 0
    for stop in _STOP.finditer(text):
        if _ends(text, begin, stop):
            found.append((begin, stop.end()))
            begin = stop.end()
    found.append((begin, len(text)))
    return [_trimmed(text, *span) for span in found if text[span[0] : span[1]].strip()]


def split(text: str) -> list[str]:
    return [text[begin:end] for begin, end in spans(text)]


def _ends(text: str, begin: int, stop: re.Match[str]) -> bool:
    if stop.group() == "\n":
        line = text[text.rfind("\n", 0, stop.start()) + 1 : stop.start()]
        return _ROW in line or _ITEM.match(text, stop.end()) is not None or not _goes_on(text, stop.end())
    if not stop.group().startswith((".", "!", "?", "…")):
        return True
    return not (_goes_on(text, stop.end()) or _ABBREVIATION.search(text[begin : stop.start()]))


def _goes_on(text: str, at: int) -> bool:
    """Whether the next letter is a small one."""
    return text[at : at + _LOOK].lstrip()[:1].islower()


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    inner = text[begin:end]
    return begin + len(inner) - len(inner.lstrip()), end - (len(inner) - len(inner.rstrip()))
