"""E-mail addresses: which are accepted, and how their domains are written on the wire."""

import re
import unicodedata

import msgspec

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import EMAIL_CHARS, EMAIL_LOCAL_BYTES, PERSON_NAME_CHARS

_ATOM_SIGNS = "!#$%&'*+-/=?^_`{|}~"
_NAMED = re.compile(r'(?P<name>"[^"<>\\]*"|[^"<>\\]*?)\s*<(?P<address>[^<>]*)>')
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
# They turn the reading direction of what follows them, so that a name can disguise what stands after it.
_TURNING = dict.fromkeys([0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


class Mailbox(msgspec.Struct, frozen=True):
    """Someone who has an address: both parts fit into a header as they are."""

    address: str
    name: str = ""

    @property
    def domain(self) -> str:
        """The part after the @, as ASCII."""
        return self.address.rpartition("@")[2]


def mailbox(address: str, name: str = "") -> Mailbox:
    """The mailbox of a person who typed this name and this address; BadRequest when it is no address."""
    return Mailbox(checked_address(address), one_line(name)[:PERSON_NAME_CHARS])


def named_mailbox(text: str) -> Mailbox:
    """The mailbox written `address` or `Name <address>`."""
    found = _NAMED.fullmatch(text.strip())
    if found is None:
        return mailbox(text.strip())
    return mailbox(found["address"], found["name"].strip('"'))


def one_line(text: str) -> str:
    """The text as a header or a line may hold it: no line break, no control character, nothing that turns the text."""
    turned = text.translate(_TURNING)
    plain = "".join(
        letter if unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp") else " " for letter in turned
    )
    return " ".join(plain.split())


def checked_address(text: str) -> str:
    """The address with its domain as ASCII, in lower case; BadRequest when it is none."""
    if len(text) > EMAIL_CHARS:
        raise BadRequest(f"The e-mail address is longer than {EMAIL_CHARS} characters")
    local, at, domain = unicodedata.normalize("NFC", text).rpartition("@")
    ascii_domain = _ascii(domain)
    if not at or not _is_local(local) or not _is_domain(ascii_domain):
        raise BadRequest(f"{one_line(text)!r} is not an e-mail address; write it as name@example.com")
    address = f"{local}@{ascii_domain}"
    if len(address.encode()) > EMAIL_CHARS:
        raise BadRequest(f"The e-mail address is longer than {EMAIL_CHARS} characters")
    return address


def _is_local(local: str) -> bool:
    atoms = local.split(".")
    return len(local.encode("utf-8", "replace")) <= EMAIL_LOCAL_BYTES and all(
        atom and all(_is_atom_letter(letter) for letter in atom) for atom in atoms
    )


def _is_atom_letter(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter in _ATOM_SIGNS
    # RFC 6531 takes every letter; signs and spaces beyond ASCII serve only to deceive.
    return unicodedata.category(letter)[0] in "LMN"


def _is_domain(domain: str) -> bool:
    labels = domain.split(".")
    # One label is a typing error, except for the machine's own mail.
    enough = len(labels) > 1 or domain == "localhost"
    return enough and all(_LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit()


def _ascii(domain: str) -> str:
    if domain.isascii():
        return domain.lower()
    import idna

    try:
        return idna.encode(domain, uts46=True).decode("ascii")
    except idna.IDNAError:
        return ""
