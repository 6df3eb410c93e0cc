"""What a mail says, encrypted in its row until the mail is out."""

import msgspec

from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.rotation import EncryptedColumn
from deedbox.mail import limits
from deedbox.mail.letter import Mail
from deedbox.mail.store import MailEntry

_MAIL = msgspec.json.Decoder(Mail)

ENCRYPTED_MAIL = EncryptedColumn(table="mails", key_columns=("id",), column="data", place="mails.data:{id}")


class UnreadableMail(ServiceError):
    """What the mail says cannot be opened any more."""


def encrypt(box: ValueCipher, mail_id: str, mail: Mail) -> bytes:
    """The mail for its row; ValueError if it is larger than any mail has reason to be."""
    plain = msgspec.json.encode(mail)
    if len(plain) > limits.MAIL_DATA_BYTES:
        raise ValueError(f"a {mail.kind} mail has more than {limits.MAIL_DATA_BYTES} bytes")
    return box.encrypt(plain, ENCRYPTED_MAIL.place.format(id=mail_id))


def decrypt(box: ValueCipher, entry: MailEntry) -> Mail:
    if entry.data is None:
        raise UnreadableMail("What the mail said is no longer kept")
    try:
        plain = box.decrypt(entry.data, ENCRYPTED_MAIL.place.format(id=entry.id))
    except ValueError as error:
        raise UnreadableMail(f"The mail cannot be opened: {error}") from error
    return _MAIL.decode(plain)
