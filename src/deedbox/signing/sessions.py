"""How a signer gets in: a link, which is exchanged for a session; and a code where the sender wants one."""

import math
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

import msgspec

from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits as shared_limits
from deedbox.kernel import tokens
from deedbox.kernel.clock import Instant, instant, moment
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, Forbidden, NotFound, TooManyRequests, Unauthorized
from deedbox.kernel.slow_hash import matches, slow_hash
from deedbox.kernel.tokens import TokenPrefix
from deedbox.signing import limits, states
from deedbox.signing.model import Auth, Identity, Packet, Signer
from deedbox.signing.new_document import NewParty
from deedbox.signing.notifier import Notifier
from deedbox.signing.parties import find_signer
from deedbox.signing.store import documents, links, people
from deedbox.signing.store.links import Consent, Link, LinkKind, Unsigned, Voucher

_TOKEN_BYTES = 24
_CODE_DIGITS = 6
_LINK_SHAPE = re.compile(TokenPrefix.SIGNING_LINK + r"[A-Za-z0-9_-]{32}")
_SESSION_SHAPE = re.compile(TokenPrefix.SESSION + r"[A-Za-z0-9_-]{32}")
_BY_LINK: dict[LinkKind, Identity] = {
    "mail": "mailed_link",
    "kept": "kept_link",
    "embedded": "embedded_link",
    "in_person": "in_person",
}
_ONCE: dict[LinkKind, int] = {"embedded": limits.EMBEDDED_LINK_SECONDS, "in_person": limits.IN_PERSON_SECONDS}
"""Links that open once, and how long they may wait for it."""


class SignerSession(msgspec.Struct, frozen=True):
    """A signer who is in."""

    workspace_id: str
    packet_id: str
    signer_id: str
    link: LinkKind
    """By which they came in."""
    voucher: Voucher | None
    """The key that made an embedded link, or who handed over the device."""
    checked: bool
    """Whether the code that the sender wants was given."""
    viewed: bool
    """Whether the documents were shown."""
    consent: Consent | None = None
    """What they agreed to when they came in; None if they are asked when they sign."""
    language: str | None = None
    """The one that they have chosen for the pages; None for their own."""
    unsigned: Unsigned = Unsigned()
    """What they have typed beside the fields and not signed."""

    def identity(self, auth: Auth) -> Identity:
        """How it is known who acts in this session."""
        return _BY_LINK[self.link] if auth == "none" else auth


HashedCodes: TypeAlias = Mapping[tuple[str, str], str]
"""Of the access codes that a sender has chosen, by the signer's address and name."""


class FreshCode(NamedTuple):
    code: Secret
    hash: str


class TriedCode(NamedTuple):
    """A code that a signer gave."""

    expected: str | None
    """The hash that it was compared with."""
    right: bool


def new_link(tx: Tx, signer_id: str, kind: LinkKind, *, now: datetime, voucher: Voucher | None = None) -> Secret:
    """The token of a new link; only its hash is kept."""
    token = tokens.create(TokenPrefix.SIGNING_LINK, _TOKEN_BYTES)
    ends = instant(now + timedelta(seconds=_ONCE[kind])) if kind in _ONCE else None
    links.add_link(tx, sha256(token.reveal()), Link(signer_id, kind, voucher, ends), instant(now))
    return token


def link_by_mail(tx: Tx, signer_id: str, notifier: Notifier, *, now: datetime) -> Secret:
    """The token of a new link for a mail to the signer; it is `kept` if no mail leaves this server."""
    return new_link(tx, signer_id, "mail" if notifier.delivers() else "kept", now=now)


def embedded_link(tx: Tx, packet: Packet, signer_id: str, voucher: Voucher, *, now: datetime) -> tuple[Secret, Instant]:
    """A link for a signer whose turn it is, to be shown in a page of the sender's; and when it ends."""
    need_turn(packet, signer_id)
    token = new_link(tx, signer_id, "embedded", now=now, voucher=voucher)
    return token, instant(now + timedelta(seconds=limits.EMBEDDED_LINK_SECONDS))


def need_turn(packet: Packet, signer_id: str) -> Signer:
    """The signer, for whom others open the document; Conflict unless it is their turn."""
    party, signer = find_signer(packet, signer_id)
    states.after(packet.first.status, "sign")
    if party.status != "active" or signer.status not in ("notified", "viewed"):
        raise Conflict(f"It is not {signer.name}'s turn to sign")
    return signer


def need_link_shape(token: str) -> None:
    """NotFound for what cannot be a link's token, without a look into the database."""
    if not _LINK_SHAPE.fullmatch(token):
        raise _no_link()


def link(tx: Tx, token: str) -> Link:
    """The link of this token; NotFound if there is none."""
    found = links.link(tx, sha256(token))
    if found is None:
        raise _no_link()
    return found


def _no_link() -> NotFound:
    return refusal(NotFound, "link_unknown")


def is_spent(link: Link, now: datetime) -> bool:
    """Whether the link works once and was used, or is too old; a mailed one works again and again."""
    return link.kind in _ONCE and (link.used_at is not None or (link.expires_at or "") <= instant(now))


def spent_link_error(sender: str) -> Conflict:
    return refusal(Conflict, "link_used", sender=sender)


def open_session(tx: Tx, token: str, link: Link, sender: str, *, now: datetime) -> Secret:
    """A new session for the link's token; Conflict for a link that works once and was used."""
    if link.kind in _ONCE and not links.use_link(tx, sha256(token), instant(now)):
        raise spent_link_error(sender)
    session = tokens.create(TokenPrefix.SESSION, _TOKEN_BYTES)
    expires = instant(now + timedelta(seconds=session_seconds(link.kind)))
    links.add_session(tx, sha256(session.reveal()), link.signer_id, sha256(token), instant(now), expires)
    return session


def session_seconds(kind: LinkKind) -> int:
    """How long a session lasts: on a device of someone else's, not longer than it may take to read and sign."""
    return limits.IN_PERSON_SECONDS if kind == "in_person" else shared_limits.SIGNER_SESSION_SECONDS


def has_shape(token: str) -> bool:
    """Whether it can be a session's token, without a look into the database."""
    return _SESSION_SHAPE.fullmatch(token) is not None


def current(tx: Tx, token: str, *, now: datetime) -> SignerSession:
    """The session of this token; Unauthorized when it is over."""
    found = links.session(tx, sha256(token), instant(now))
    link = found.link if found else None
    place = people.place_of(tx, link.signer_id) if link else None
    if found is None or link is None or place is None:
        raise _over(tx, token)
    viewed, checked = found.viewed_at is not None, found.checked_at is not None
    who = SignerSession(*place, link.signer_id, link.kind, link.voucher, checked, viewed, found.consent)
    return msgspec.structs.replace(who, language=found.language, unsigned=found.unsigned)


def link_of(tx: Tx, token: str) -> Link | None:
    """The link that opened this session, also one that is over, as long as it is known."""
    found = links.session(tx, sha256(token), "")
    return found.link if found else None


def _over(tx: Tx, token: str) -> Unauthorized:
    """What is told to whoever has a session that is over: of whom to ask a new link, as long as that is known."""
    link = link_of(tx, token)
    if link is not None and link.kind == "in_person" and link.voucher is not None:
        return refusal(Unauthorized, "session_over_in_person", host=link.voucher.name)
    signer_id = links.whose(tx, sha256(token))
    place = people.place_of(tx, signer_id) if signer_id else None
    packet = documents.packet(tx, *place) if place else None
    return refusal(Unauthorized, "session_over_of", sender=packet.sender) if packet else no_session()


def no_session() -> Unauthorized:
    """What is told to whoever has no cookie of a session."""
    return refusal(Unauthorized, "session_over")


def agree(tx: Tx, session: Secret, text: str, *, now: datetime) -> None:
    """The signer has agreed to this sentence, for as long as the session lasts."""
    links.keep_consent(tx, sha256(session.reveal()), Consent(text, instant(now)))


def speak(tx: Tx, token: str, language: str) -> None:
    """The session's pages are in this language from now on."""
    links.choose_language(tx, sha256(token), language)


def store_unsigned(tx: Tx, token: str, unsigned: Unsigned) -> None:
    """The session's next page has this in its form."""
    links.store_unsigned(tx, sha256(token), unsigned)


async def hashed_codes(wanted: Iterable[NewParty]) -> HashedCodes:
    """What is kept of the access codes, each with a salt of its own; no two signers share address and name."""
    signers = [signer for party in wanted for signer in party.signers]
    return {
        (one.address, one.name): await hashed_code(one.access_code) for one in signers if one.access_code is not None
    }


async def hashed_code(code: str) -> str:
    """What is kept of an access code."""
    return await slow_hash(code.strip())


async def fresh_code() -> FreshCode:
    """A number to be sent to a signer's mailbox."""
    code = f"{secrets.randbelow(10**_CODE_DIGITS):0{_CODE_DIGITS}}"
    return FreshCode(Secret(code), await slow_hash(code))


def keep_code(tx: Tx, signer_id: str, code: FreshCode, *, now: datetime) -> bool:
    """Whether this is the signer's code from now on; not when one was sent a moment ago, which still holds."""
    expires = now + timedelta(seconds=shared_limits.SIGNER_CODE_SECONDS)
    before = links.code(tx, signer_id, instant(now))
    if before is not None and before[1] > instant(expires - timedelta(seconds=limits.SIGNER_CODE_AGAIN_SECONDS)):
        return False
    links.keep_code(tx, signer_id, code.hash, instant(expires))
    return True


def count_try(tx: Tx, signer_id: str, *, now: datetime) -> None:
    """Counts an attempt at the code, before it is looked at; too many are refused for a while."""
    since = instant(now - timedelta(seconds=shared_limits.SIGNER_CODE_SECONDS))
    if links.count_try(tx, signer_id, instant(now), since) > shared_limits.SIGNER_CODE_TRIES:
        error = refusal(TooManyRequests, "code_tries")
        again = math.ceil(now.timestamp()) + shared_limits.SIGNER_CODE_SECONDS
        error.headers = {"Retry-After": str(shared_limits.SIGNER_CODE_SECONDS), "X-RateLimit-Reset": str(again)}
        raise error


def tries_left(tx: Tx, signer_id: str, *, now: datetime) -> int:
    """The attempts at the code that are left at this moment."""
    since = instant(now - timedelta(seconds=shared_limits.SIGNER_CODE_SECONDS))
    return max(0, shared_limits.SIGNER_CODE_TRIES - links.tries(tx, signer_id, since))


def code_wait(tx: Tx, signer_id: str, *, now: datetime) -> int:
    """The seconds until another code may be mailed."""
    sent = links.code(tx, signer_id, instant(now))
    if sent is None:
        return 0
    again = moment(sent[1]) - timedelta(seconds=shared_limits.SIGNER_CODE_SECONDS - limits.SIGNER_CODE_AGAIN_SECONDS)
    return max(0, math.ceil((again - now).total_seconds()))


def code_hash(tx: Tx, signer: Signer, *, now: datetime) -> str | None:
    """The hash of the code that the signer has to give; None if none holds at this moment."""
    mailed = links.code(tx, signer.id, instant(now))
    return signer.access_code_hash or (mailed[0] if mailed else None)


async def try_code(expected: str | None, code: str) -> TriedCode:
    """The code compared with what is expected."""
    return TriedCode(expected, await matches(expected, code.strip()))


def check_code(tx: Tx, token: str, signer: Signer, code: TriedCode, *, now: datetime) -> bool:
    """Whether this is the signer's code, still; the session is then as good as the signer."""
    if not code.right or code.expected != code_hash(tx, signer, now=now):
        return False
    links.record_code(tx, sha256(token), instant(now))
    return True


def require_code(session: SignerSession, auth: str) -> None:
    """Forbidden until the code was given that the sender wants."""
    if auth != "none" and not session.checked:
        raise refusal(Forbidden, "code_needed")


def close(tx: Tx, token: str, *, now: datetime) -> None:
    """The session is over; the signer's other ones stay."""
    links.close_session(tx, sha256(token), instant(now))


def forget(tx: Tx, signer_id: str, *, now: datetime) -> None:
    """Every link and session of the signer dies; the tries at a code stay counted."""
    links.forget(tx, signer_id, instant(now))
