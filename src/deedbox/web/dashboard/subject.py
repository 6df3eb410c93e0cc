"""What a page is about and what its buttons act on: a document by itself, or a packet with all its documents."""

from typing import Any, NamedTuple

from deedbox.signing.action_context import ActionContext
from deedbox.signing.model import Document, Packet
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest

_DOCUMENTS, _PACKETS = "/app/documents", "/app/packets"


def paths(below: str) -> list[str]:
    """The same route below a document and below a packet."""
    return [f"{place}/{{subject_id:str}}{below}" for place in (_DOCUMENTS, _PACKETS)]


class DashboardSubject(NamedTuple):
    id: str
    is_packet: bool

    @property
    def path(self) -> str:
        """Where its page is."""
        return f"{_PACKETS if self.is_packet else _DOCUMENTS}/{self.id}"

    async def seen(self, request: AnyRequest) -> Packet:
        """The packet as it is now: one past its time expires at the first look."""
        here = context.of(request)
        return await (here.packet(self.id) if self.is_packet else here.packet_of(self.id))

    def packet(self, ctx: ActionContext) -> Packet:
        """The packet to act on; Conflict for a document that shares its packet with others."""
        return ctx.packet(self.id) if self.is_packet else ctx.lone_packet_of(self.id)


def of(request: AnyRequest, subject_id: str) -> DashboardSubject:
    """What the address of the request names."""
    return DashboardSubject(subject_id, request.scope["path"].startswith(f"{_PACKETS}/"))


def shown(packet: Packet, document: Document | None) -> dict[str, Any]:
    """What the templates that both pages share need to know, of a document or of the whole packet."""
    whole = (
        DashboardSubject(packet.first.id, is_packet=False)
        if packet.lone
        else DashboardSubject(packet.id, is_packet=True)
    )
    return {
        "whole": whole.path,
        "acts": packet.lone or document is None,
        "title": document.title if document else packet.title,
        "state": document.status if document else packet.status,
    }
