"""E-mail addresses: which are accepted, and how their domains are written on the wire."""

import functools
import re
import unicodedata
from types import ModuleType

import msgspec

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import ADDRESSES_KEPT, EMAIL_CHARS, EMAIL_LOCAL_BYTES, PERSON_NAME_CHARS

_NAMED = re.compile(r'(?P<name>"[^"<>\\]*"|[^"<>\\]*?)\s*<(?P<address>[^<>]*)>')
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


@functools.lru_cache(maxsize=ADDRESSES_KEPT)  # asked several times for each signer of a document
def checked_address(text: str) -> str:
    """The address with its domain as ASCII, in lower case; BadRequest when it is none."""
    if len(text) > EMAIL_CHARS:
        raise _too_long()
    library = _library()
    try:
        found = library.validate_email(text, check_deliverability=False, globally_deliverable=False)
    except library.EmailNotValidError as error:
        raise _no_address(text) from error
    local, domain = found.local_part, str(found.ascii_domain)
    if not _is_plain(local) or not _is_complete(domain):
        raise _no_address(text)
    address = f"{local}@{domain}"
    if len(address.encode()) > EMAIL_CHARS:
        raise _too_long()
    return address


@functools.cache
def _library() -> ModuleType:
    # Here and not above: to load it takes a tenth of a second, and a server starts without it.
    import email_validator

    # Names of private networks and of tests. What an installation of one's own can reach is not for a list to say.
    email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()
    return email_validator


def _is_plain(local: str) -> bool:
    """Whether it fits, and holds nothing beyond ASCII but letters: signs and spaces there serve only to deceive."""
    letters = all(letter.isascii() or unicodedata.category(letter)[0] in "LMN" for letter in local)
    return letters and len(local.encode()) <= EMAIL_LOCAL_BYTES


def _is_complete(domain: str) -> bool:
    # One label is a typing error, except for the machine's own mail; a number at the end is an address of a machine.
    return ("." in domain or domain == "localhost") and not domain.rpartition(".")[2].isdigit()


def _no_address(text: str) -> BadRequest:
    return BadRequest(f"{one_line(text)!r} is not an e-mail address; write it as name@example.com")


def _too_long() -> BadRequest:
    return BadRequest(f"The e-mail address is longer than {EMAIL_CHARS} characters")
