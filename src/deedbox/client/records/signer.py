# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `signer`."""

from msgspec import Struct

from deedbox.client.records.documents import Field, Message


class SessionDocument(Struct, frozen=True, kw_only=True):
    id: str
    """The document's id."""
    title: str
    """What it is called."""
    status: str
    """Where it stands in its life."""
    message: Message | None
    """What the sender says; null: nothing."""


class SessionSigner(Struct, frozen=True, kw_only=True):
    id: str
    """The signer's id."""
    name: str
    """The signer's name."""
    status: str
    """How far this person is."""
    role: str
    """Whether this person signs, approves, or gets a copy of the sealed file."""
    delegation: bool
    """Whether this person may pass it on to someone else now."""


class SessionParty(Struct, frozen=True, kw_only=True):
    name: str
    """What the party is called."""
    order: int
    """When it is this party's turn."""


class SessionFile(Struct, frozen=True, kw_only=True):
    id: str
    """The file's id."""
    name: str
    """The file's name."""
    pages: int
    """How many pages it has."""
    sizes: list[tuple[float, float]]
    """Width and height of each page as it is displayed, in points."""


class SessionAttachment(Struct, frozen=True, kw_only=True):
    """A file that was given for a field."""

    field: str
    """The field's id."""
    signer: str
    """The id of the signer who gave it."""
    name: str
    """The file's name."""
    sha256: str
    """The SHA-256 of the bytes that came."""
    size_bytes: int
    """How many bytes came."""
    pages: int
    """How many pages it has."""
    sizes: list[tuple[float, float]]
    """Width and height of each page as it is displayed, in points."""


class SessionPacketDocument(Struct, frozen=True, kw_only=True):
    id: str
    """The document's id."""
    title: str
    """What it is called."""
    status: str
    """Where it stands in its life."""
    files: list[str]
    """The ids of its files among `files`; none until the code is given."""
    to_read: bool
    """Whether this person has nothing to fill in it."""


class SessionPacket(Struct, frozen=True, kw_only=True):
    id: str
    """The packet's id."""
    title: str
    """What it is called."""
    status: str
    """Where all of it stands."""
    documents: list[SessionPacketDocument]
    """What is signed in one act, in the order in which it is shown."""


class Session(Struct, frozen=True, kw_only=True):
    document: SessionDocument
    """What is to be signed; of a packet, its first document."""
    signer: SessionSigner
    """Who signs."""
    party: SessionParty
    """For which party."""
    needs: str | None
    """What has to be given before anything is shown."""
    files: list[SessionFile]
    """The files to read; none until the code is given."""
    fields: list[Field]
    """What this signer fills in; without those that are not shown, whatever is filled in."""
    attachments: list[SessionAttachment]
    """The files that were given for fields: by this signer so far, and by those who have signed before."""
    consent_text: str
    """In the signer's language."""
    outcome: str | None
    """What became of it, once the signer has no more to do."""
    packet: SessionPacket | None
    """The packet whose documents are signed together; null for a document that is sent by itself."""


class Done(Struct, frozen=True, kw_only=True):
    status: str = "ok"
    """Always `ok`."""


class Acted(Struct, frozen=True, kw_only=True):
    status: str
    """What the signer has done."""
    document_status: str
    """Where the document stands now, or all of the packet."""
