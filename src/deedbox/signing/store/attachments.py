"""The table of files that signers have given and not signed with yet."""

from collections.abc import Mapping, Sequence

import msgspec

from deedbox.kernel.db import Tx, Value
from deedbox.signing.model import Attachment

_ATTACHMENT = msgspec.json.Decoder(Attachment)


def list_all(tx: Tx, packet_id: str) -> list[Attachment]:
    """Those of all signers of the packet."""
    rows = tx.all(
        "select attachment from kept_attachments where signer_id in (select id from signers where packet_id = :id)"
        " order by field_id, signer_id",
        id=packet_id,
    )
    return [_ATTACHMENT.decode(row[0]) for row in rows]


def keep(tx: Tx, attachment: Attachment) -> None:
    """In place of what the signer gave before for the field."""
    tx.run(
        "insert into kept_attachments (field_id, signer_id, attachment) values (:field_id, :signer_id, :attachment)"
        " on conflict (field_id, signer_id) do update set attachment = excluded.attachment",
        field_id=attachment.field_id,
        signer_id=attachment.signer_id,
        attachment=msgspec.json.encode(attachment).decode(),
    )


def drop(tx: Tx, attachments: Sequence[Attachment]) -> None:
    rows: list[Mapping[str, Value]] = [{"field_id": one.field_id, "signer_id": one.signer_id} for one in attachments]
    if rows:
        tx.many("delete from kept_attachments where field_id = :field_id and signer_id = :signer_id", rows)
