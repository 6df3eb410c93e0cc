"""The order in which the contract tells of a document or a packet."""

import re
from collections.abc import Sequence

LETTERS = {
    "packet.sent": "s", "document.sent": "S", "document.signed": "G", "document.approved": "A", "party.completed": "P",
    "document.declined": "D", "packet.declined": "d", "document.voided": "V", "document.expired": "X",
    "document.completed": "C", "packet.completed": "c",
}  # fmt: skip


def in_order(kinds: Sequence[str], documents: int) -> bool:
    """Whether events come as the contract says: each act tells of every document, and the packet has the first word
    and the last. A party whose people only get a copy is complete when it is sent."""
    s, d, c, n = ("s", "d", "c", f"{{{documents}}}") if documents > 1 else ("", "", "", "")
    ends = f"D{n}{d}|V{n}|X{n}|C{n}{c}|C{{0,{documents}}}"
    return bool(re.fullmatch(f"({s}S{n}P*((G{n}|A{n})P?|D{n})*({ends}))?", "".join(LETTERS[kind] for kind in kinds)))
