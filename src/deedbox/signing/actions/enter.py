"""Enter: a signer follows their link."""

from datetime import datetime

from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.signing import parties, sessions
from deedbox.signing.desk import Office
from deedbox.signing.model import Packet
from deedbox.signing.sessions import Session
from deedbox.signing.store import documents


def enter(office: Office, tx: Tx, token: str, now: datetime) -> Secret:
    """A session for the link's token; where the sender wants one, a code is mailed."""
    opened = sessions.exchange(tx, token, now=now)
    inside = sessions.current(tx, opened.reveal(), now=now)
    packet = packet_for(tx, inside)
    _, signer = parties.find_signer(packet, inside.signer_id)
    if signer.auth == "email_code" and packet.first.status == "sent":
        office.notifier.code(tx, packet, signer, sessions.new_code(tx, signer.id, now=now), now=now)
    return opened


def packet_for(tx: Tx, session: Session) -> Packet:
    """What the signer who is in has to sign."""
    packet = documents.packet(tx, session.workspace_id, session.packet_id)
    if packet is None:
        raise NotFound("The document does not exist any more")
    return packet
