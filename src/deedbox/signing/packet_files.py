"""The files of a packet under the names that they have in a zip file: a folder for each document."""

from collections.abc import Iterator
from typing import NamedTuple

from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Tx
from deedbox.kernel.plain_name import plain_name
from deedbox.signing.model import Document, Packet
from deedbox.signing.store import sealed

CERTIFICATE = "certificate.pdf"


class NamedFile(NamedTuple):
    name: str
    blob: Blob


def list_all(tx: Tx, packet: Packet) -> list[NamedFile]:
    """All that there is so far: originals, sealed files, certificates, evidence, and the certificate of the whole."""
    found = _certificate(tx, packet)
    for folder, document in _folders(packet):
        for number, file in enumerate(document.files, 1):
            name = f"{folder}/original/{number:02}-{plain_name(file.name)}"
            found.append(NamedFile(name, blobs.demand(tx, file.sha256)))
        found += _sealed(tx, folder, document)
        if made := sealed.find(tx, document.id):
            found.append(NamedFile(f"{folder}/evidence.json", blobs.demand(tx, made.evidence_sha256)))
    return found


def for_signers(tx: Tx, packet: Packet) -> list[NamedFile]:
    """What those who signed get: the sealed files with their certificates, and that of the whole."""
    found = _certificate(tx, packet)
    for folder, document in _folders(packet):
        found += _sealed(tx, folder, document)
    return found


def _certificate(tx: Tx, packet: Packet) -> list[NamedFile]:
    sha256 = packet.certificate_sha256
    return [NamedFile(CERTIFICATE, blobs.demand(tx, sha256))] if sha256 is not None else []


def _sealed(tx: Tx, folder: str, document: Document) -> list[NamedFile]:
    made = sealed.find(tx, document.id)
    if made is None:
        return []
    return [
        # Named as its folder, whose number keeps it apart from the files that are named for what they are.
        NamedFile(f"{folder}/{folder}.pdf", blobs.demand(tx, made.sha256)),
        NamedFile(f"{folder}/{CERTIFICATE}", blobs.demand(tx, made.certificate_sha256)),
    ]


def _folders(packet: Packet) -> Iterator[tuple[str, Document]]:
    for number, document in enumerate(packet.documents, 1):
        yield f"{number:02}-{plain_name(document.title)}", document
