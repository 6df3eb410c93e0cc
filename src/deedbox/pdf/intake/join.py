"""Runs in a sandbox: the files of a document as one PDF, in their order."""

import io
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake.take_in import pieces, written


def join(data: bytes, sizes: Sequence[int]) -> Generator[bytes, None, int]:
    """Yields the PDF with the pages of all files in pieces; they lie one after the other in `data`, each of its size.

    What comes back is how many pages there are."""
    parts = list(_parts(data, sizes))
    with pikepdf.open(io.BytesIO(parts[0])) as whole:
        # They count the pages of the first file only.
        _drop(whole.Root, "/PageLabels")
        for part in parts[1:]:
            with pikepdf.open(io.BytesIO(part)) as pdf:
                _append(whole, pdf)
        count = len(whole.pages)
        if count > limits.DOCUMENT_PAGES:
            raise BadRequest(
                f"Together the files have {count:,} pages: a document has at most {limits.DOCUMENT_PAGES:,}"
            )
        made = written(whole)
    yield from pieces(made)
    return count


def _parts(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += size


def _append(whole: pikepdf.Pdf, pdf: pikepdf.Pdf) -> None:
    for page in pdf.pages:
        # Numbers in the tree of their own file: in another's they would name something else.
        _drop(page.obj, "/StructParents")
        for annotation in _listed(page.obj, "/Annots"):
            if isinstance(annotation, Dictionary):
                _drop(annotation, "/StructParent")
    whole.pages.extend(pdf.pages)
    if "/OCProperties" in pdf.Root:
        _keep_layers(whole, whole.copy_foreign(pdf.make_indirect(pdf.Root.OCProperties)))


def _keep_layers(whole: pikepdf.Pdf, more: pikepdf.Object) -> None:
    """What was hidden in its own file stays hidden."""
    both = [layers for layers in (whole.Root.get("/OCProperties"), more) if isinstance(layers, Dictionary)]
    groups = Array([group for layers in both for group in _listed(layers, "/OCGs")])
    hidden = Array([group for layers in both for group in _hidden(layers)])
    whole.Root["/OCProperties"] = Dictionary(OCGs=groups, D=Dictionary(OFF=hidden, Locked=groups))


def _hidden(layers: Any) -> list[Any]:
    usual = layers.get("/D")
    if not isinstance(usual, Dictionary):
        return []
    if usual.get("/BaseState") != "/OFF":
        return _listed(usual, "/OFF")
    shown = {group.objgen for group in _listed(usual, "/ON")}
    return [group for group in _listed(layers, "/OCGs") if group.objgen not in shown]


def _drop(owner: Any, name: str) -> None:
    if name in owner:
        del owner[name]


def _listed(owner: Any, name: str) -> list[Any]:
    found = owner.get(name)
    return list(found) if isinstance(found, Array) else []
