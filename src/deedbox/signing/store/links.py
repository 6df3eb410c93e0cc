"""Links, sessions and codes of signers: hashes only."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Row, Tx, Value

LinkKind: TypeAlias = Literal["mail", "kept", "embedded", "in_person"]
"""A `kept` link stands in a mail that never left this server: the sender can read it and pass it on."""
_LINK = "l.signer_id, l.kind, l.voucher_id, l.voucher_name, l.expires_at, l.used_at"
_NO_CODE = ""


class Voucher(msgspec.Struct, frozen=True):
    """Who vouches for the person: the API key that asked for an embedded link, or who handed over the device."""

    id: str
    name: str


class Link(msgspec.Struct, frozen=True):
    signer_id: str
    kind: LinkKind
    voucher: Voucher | None = None
    expires_at: str | None = None
    """Of a link that opens once; a mailed one lasts as long as its document, and a while longer."""
    used_at: str | None = None


class Consent(msgspec.Struct, frozen=True):
    """What a signer agreed to when they came in, before they signed."""

    text: str
    """The sentence as it was shown."""
    at: str


class Unsigned(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands in the form beside its fields, and is worth nothing until it is signed."""

    signature: str | None = None
    initials: str | None = None
    consents: bool = False
    """Whether the consent is ticked."""


_UNSIGNED = msgspec.json.Decoder(Unsigned)


class SessionRow(msgspec.Struct, frozen=True):
    link: Link
    """By which the signer came in."""
    checked_at: str | None
    viewed_at: str | None
    consent: Consent | None
    language: str | None
    """The one that the signer has chosen for the pages."""
    unsigned: Unsigned


# links


def add_link(tx: Tx, token_hash: bytes, link: Link, now: str) -> None:
    tx.later(
        "insert into signing_links (token_hash, signer_id, kind, voucher_id, voucher_name, created_at, expires_at)"
        " values (:token_hash, :signer_id, :kind, :voucher_id, :voucher_name, :now, :expires_at)",
        token_hash=token_hash,
        signer_id=link.signer_id,
        kind=link.kind,
        voucher_id=link.voucher.id if link.voucher else None,
        voucher_name=link.voucher.name if link.voucher else None,
        now=now,
        expires_at=link.expires_at,
    )


def link(tx: Tx, token_hash: bytes) -> Link | None:
    row = tx.one(f"select {_LINK} from signing_links l where l.token_hash = :hash", hash=token_hash)
    return _link(row) if row else None


def use_link(tx: Tx, token_hash: bytes, now: str) -> bool:
    """Uses up a link that works once; False if it was used before or has expired."""
    sql = (
        "update signing_links set used_at = :now where token_hash = :token_hash and used_at is null"
        " and expires_at > :now"
    )
    return bool(tx.run(sql, token_hash=token_hash, now=now))


# sessions


def add_session(tx: Tx, token_hash: bytes, signer_id: str, link_hash: bytes, now: str, expires_at: str) -> None:
    tx.run(
        "insert into signer_sessions (token_hash, signer_id, link_hash, created_at, expires_at)"
        " values (:token_hash, :signer_id, :link_hash, :now, :expires_at)",
        token_hash=token_hash,
        signer_id=signer_id,
        link_hash=link_hash,
        now=now,
        expires_at=expires_at,
    )


def session(tx: Tx, token_hash: bytes, now: str) -> SessionRow | None:
    row = tx.one(
        f"select s.checked_at, s.viewed_at, s.consent, s.consented_at, s.language, s.unsigned, {_LINK}"
        " from signer_sessions s join signing_links l on l.token_hash = s.link_hash"
        " where s.token_hash = :hash and s.expires_at > :now",
        hash=token_hash,
        now=now,
    )
    if row is None:
        return None
    checked_at, viewed_at, text, consented_at, language, unsigned, *link = row
    consent = Consent(text, consented_at) if text else None
    return SessionRow(_link(tuple(link)), checked_at, viewed_at, consent, language, _unsigned(unsigned))


def _unsigned(kept: str | None) -> Unsigned:
    return _UNSIGNED.decode(kept) if kept else Unsigned()


def whose(tx: Tx, token_hash: bytes) -> str | None:
    """The signer of a session, also of one that is over, until it is forgotten."""
    row = tx.one("select signer_id from signer_sessions where token_hash = :hash", hash=token_hash)
    return str(row[0]) if row else None


def keep_consent(tx: Tx, token_hash: bytes, consent: Consent) -> None:
    sql = "update signer_sessions set consent = :text, consented_at = :at where token_hash = :hash"
    tx.run(sql, hash=token_hash, text=consent.text, at=consent.at)


def choose_language(tx: Tx, token_hash: bytes, language: str) -> None:
    sql = "update signer_sessions set language = :language where token_hash = :hash"
    tx.run(sql, hash=token_hash, language=language)


def store_unsigned(tx: Tx, token_hash: bytes, unsigned: Unsigned) -> None:
    sql = "update signer_sessions set unsigned = :kept where token_hash = :hash"
    tx.run(sql, hash=token_hash, kept=msgspec.json.encode(unsigned).decode())


def record_code(tx: Tx, token_hash: bytes, now: str) -> None:
    tx.run("update signer_sessions set checked_at = :now where token_hash = :hash", hash=token_hash, now=now)


def record_view(tx: Tx, token_hash: bytes, now: str) -> bool:
    """Notes that the documents were shown in this session; False if they had been before."""
    sql = "update signer_sessions set viewed_at = :now where token_hash = :hash and viewed_at is null"
    return bool(tx.run(sql, hash=token_hash, now=now))


def has_viewed_page(tx: Tx, token_hash: bytes, file_id: str, page: int) -> bool:
    sql = "select 1 from page_views where session_hash = :hash and file_id = :file_id and page = :page"
    return tx.one(sql, hash=token_hash, file_id=file_id, page=page) is not None


def add_page_view(tx: Tx, token_hash: bytes, file_id: str, page: int) -> bool:
    """Notes that the page was shown in this session; False if it had been before."""
    sql = (
        "insert into page_views (session_hash, file_id, page) values (:hash, :file_id, :page)"
        " on conflict (session_hash, file_id, page) do nothing"
    )
    return bool(tx.run(sql, hash=token_hash, file_id=file_id, page=page))


def close_session(tx: Tx, token_hash: bytes, now: str) -> None:
    """Ends the session; its row stays until it is pruned, so that a reload can say what became of it."""
    tx.run("delete from page_views where session_hash = :hash", hash=token_hash)
    sql = "update signer_sessions set expires_at = :now, unsigned = null where token_hash = :hash"
    tx.run(sql, hash=token_hash, now=now)


def prune(tx: Tx, ended: str) -> int:
    """Forgets sessions that were over by then: how many."""
    over: list[Mapping[str, Value]] = [
        {"hash": bytes(row[0])}
        for row in tx.all(
            "select token_hash from signer_sessions where expires_at <= :ended order by expires_at limit :most",
            ended=ended,
            most=limits.PRUNE_ROWS,
        )
    ]
    if over:
        tx.many("delete from page_views where session_hash = :hash", over)
        tx.many("delete from signer_sessions where token_hash = :hash", over)
    return len(over)


# codes


def keep_code(tx: Tx, signer_id: str, code_hash: str, expires_at: str) -> None:
    tx.run(
        "insert into signer_codes (signer_id, code_hash, expires_at, tries) values (:id, :code_hash, :expires_at, 0)"
        " on conflict (signer_id) do update set code_hash = excluded.code_hash, expires_at = excluded.expires_at",
        id=signer_id,
        code_hash=code_hash,
        expires_at=expires_at,
    )


def code(tx: Tx, signer_id: str, now: str) -> tuple[str, str] | None:
    """The hash of the code that the signer was sent, and when it ends."""
    row = tx.one(
        "select code_hash, expires_at from signer_codes where signer_id = :id and expires_at > :now",
        id=signer_id,
        now=now,
    )
    return (row[0], row[1]) if row else None


def tries(tx: Tx, signer_id: str, since: str) -> int:
    """The attempts in the present span of time."""
    sql = "select tries from signer_codes where signer_id = :id and first_try_at > :since"
    row = tx.one(sql, id=signer_id, since=since)
    return int(row[0]) if row else 0


def count_try(tx: Tx, signer_id: str, now: str, since: str) -> int:
    """The attempts in the present span of time, this one included."""
    row = tx.one(
        "insert into signer_codes (signer_id, code_hash, expires_at, tries, first_try_at)"
        " values (:id, :none, :now, 1, :now) on conflict (signer_id) do update set"
        " tries = case when signer_codes.first_try_at is null or signer_codes.first_try_at <= :since then 1"
        " else signer_codes.tries + 1 end,"
        " first_try_at = case when signer_codes.first_try_at is null or signer_codes.first_try_at <= :since then :now"
        " else signer_codes.first_try_at end returning tries",
        id=signer_id,
        none=_NO_CODE,
        now=now,
        since=since,
    )
    return int(row[0]) if row else 1


def forget(tx: Tx, signer_id: str, now: str) -> None:
    """The signer's links, sessions and code are gone; the tries at a code stay counted."""
    whose = "select token_hash from signer_sessions where signer_id = :id"
    tx.run(f"delete from page_views where session_hash in ({whose})", id=signer_id)
    tx.run("delete from signer_sessions where signer_id = :id", id=signer_id)
    tx.run("delete from signing_links where signer_id = :id", id=signer_id)
    sql = "update signer_codes set code_hash = :none, expires_at = :now where signer_id = :id"
    tx.run(sql, id=signer_id, none=_NO_CODE, now=now)


def _link(row: Row) -> Link:
    signer_id, kind, voucher_id, voucher_name, expires_at, used_at = row
    voucher = Voucher(voucher_id, voucher_name or "") if voucher_id else None
    return Link(signer_id, kind, voucher, expires_at, used_at)
