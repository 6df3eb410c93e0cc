"""The tables of workspaces, people, login links, sessions and API keys."""

from collections.abc import Iterable, Mapping

import msgspec

from deedbox.accounts.tiers import Tier
from deedbox.kernel.db import Row, Tx, Value

_KEY_COLUMNS = (
    "id, workspace_id, name, prefix, last4, scopes, tier, per_minute, per_day, created_at, created_by, expires_at,"
    " last_used_at, revoked_at, collections"
)
_KEY_BY_HASH = f"select {_KEY_COLUMNS} from api_keys where key_hash = :key_hash"


class KeyRow(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    name: str
    prefix: str
    last4: str
    scopes: str
    tier: Tier
    per_minute: int | None
    per_day: int | None
    created_at: str
    created_by: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    collections: str | None = None
    """A JSON list of those that the key is limited to; None: it is not."""


def key_by_hash(tx: Tx, key_hash: bytes) -> KeyRow | None:
    row = tx.one(_KEY_BY_HASH, key_hash=key_hash)
    return KeyRow(*row) if row else None


def key(tx: Tx, workspace_id: str, key_id: str) -> KeyRow | None:
    row = tx.one(
        f"select {_KEY_COLUMNS} from api_keys where workspace_id = :workspace_id and id = :id",
        workspace_id=workspace_id,
        id=key_id,
    )
    return KeyRow(*row) if row else None


def keys(tx: Tx, workspace_id: str, limit: int, after: str | None) -> list[KeyRow]:
    rows = tx.all(
        f"select {_KEY_COLUMNS} from api_keys where workspace_id = :workspace_id and id < :after"
        " order by id desc limit :limit",
        workspace_id=workspace_id,
        after=after or "key_~",
        limit=limit,
    )
    return [KeyRow(*row) for row in rows]


def names_of(tx: Tx, workspace_id: str, ids: Iterable[str]) -> dict[str, str]:
    """What the keys of the workspace, and people, with these ids are called."""
    named = {f"id{number}": one for number, one in enumerate(ids)}
    if not named:
        return {}
    among = f"in (:{', :'.join(named)})"
    sql = (
        f"select id, name from api_keys where workspace_id = :workspace_id and id {among}"
        f" union all select id, name from people where id {among}"
    )
    return {row[0]: row[1] for row in tx.all(sql, workspace_id=workspace_id, **named)}


def any_key(tx: Tx) -> bool:
    return tx.one("select 1 from api_keys limit 1") is not None


def count_active_keys(tx: Tx, workspace_id: str, now: str) -> int:
    row = tx.one(
        "select count(*) from api_keys where workspace_id = :id and revoked_at is null"
        " and (expires_at is null or expires_at > :now)",
        id=workspace_id,
        now=now,
    )
    return int(row[0]) if row else 0


def add_key(tx: Tx, row: KeyRow, key_hash: bytes) -> None:
    tx.run(
        f"insert into api_keys ({_KEY_COLUMNS}, key_hash) values (:id, :workspace_id, :name, :prefix, :last4, :scopes,"
        " :tier, :per_minute, :per_day, :created_at, :created_by, :expires_at, :last_used_at, :revoked_at,"
        " :collections, :key_hash)",
        **msgspec.structs.asdict(row),
        key_hash=key_hash,
    )


def change_key(tx: Tx, row: KeyRow) -> None:
    tx.run(
        "update api_keys set name = :name, per_minute = :per_minute, per_day = :per_day, expires_at = :expires_at"
        " where id = :id",
        id=row.id,
        name=row.name,
        per_minute=row.per_minute,
        per_day=row.per_day,
        expires_at=row.expires_at,
    )


def made_with(tx: Tx, key_id: str) -> list[KeyRow]:
    """The keys that this one has made, and those that they have made in turn, but for revoked ones."""
    made = (
        "with recursive made (id) as (select id from api_keys where created_by = :id"
        " union select k.id from api_keys k join made m on k.created_by = m.id)"
    )
    rows = tx.all(
        f"{made} select {_KEY_COLUMNS} from api_keys where id in (select id from made) and revoked_at is null",
        id=key_id,
    )
    return [KeyRow(*row) for row in rows]


def revoke_keys(tx: Tx, key_ids: Iterable[str], now: str) -> None:
    rows: list[Mapping[str, Value]] = [{"id": key_id, "now": now} for key_id in key_ids]
    tx.many("update api_keys set revoked_at = :now where id = :id and revoked_at is null", rows)


def forget_key(tx: Tx, key_id: str) -> None:
    """Removes a key that was made for one request: it stands in no list of keys."""
    tx.run("delete from api_keys where id = :id", id=key_id)


def record_key_use(tx: Tx, used: dict[str, str]) -> None:
    """Notes when each key was last used."""
    rows = [{"id": key_id, "at": at} for key_id, at in used.items()]
    tx.many("update api_keys set last_used_at = :at where id = :id and coalesce(last_used_at, '') < :at", list(rows))


def add_workspace(tx: Tx, workspace_id: str, name: str, now: str) -> None:
    tx.run(
        "insert into workspaces (id, name, created_at) values (:id, :name, :now)", id=workspace_id, name=name, now=now
    )


def first_workspace(tx: Tx) -> Row | None:
    return tx.one("select id, name from workspaces order by id limit 1")


def workspace(tx: Tx, workspace_id: str) -> Row | None:
    return tx.one("select id, name from workspaces where id = :id", id=workspace_id)


class WorkspaceRow(msgspec.Struct, frozen=True):
    id: str
    name: str
    sender_name: str | None
    sender_email: str | None
    notices: bool
    accent: str | None
    logo_sha256: str | None
    embed_sites: list[str]
    search_documents: bool


def workspace_row(tx: Tx, workspace_id: str) -> WorkspaceRow | None:
    row = tx.one(
        "select id, name, sender_name, sender_email, notices, accent, logo_sha256, embed_sites, search_documents"
        " from workspaces where id = :id",
        id=workspace_id,
    )
    if row is None:
        return None
    found, name, sender, email, notices, accent, logo, sites, searched = row
    embed_sites = msgspec.json.decode(sites)
    return WorkspaceRow(found, name, sender, email, bool(notices), accent, logo, embed_sites, bool(searched))


def change_workspace(tx: Tx, row: WorkspaceRow) -> None:
    tx.run(
        "update workspaces set name = :name, sender_name = :sender_name, sender_email = :sender_email,"
        " notices = :notices, accent = :accent, logo_sha256 = :logo_sha256, embed_sites = :embed_sites,"
        " search_documents = :search_documents where id = :id",
        id=row.id,
        name=row.name,
        sender_name=row.sender_name,
        sender_email=row.sender_email,
        notices=int(row.notices),
        accent=row.accent,
        logo_sha256=row.logo_sha256,
        embed_sites=msgspec.json.encode(row.embed_sites).decode(),
        search_documents=int(row.search_documents),
    )


def is_logo(tx: Tx, sha256: str) -> bool:
    """Whether a workspace shows this file to everybody."""
    return tx.one("select 1 from workspaces where logo_sha256 = :sha256", sha256=sha256) is not None


def add_person(tx: Tx, person_id: str, name: str, now: str) -> None:
    tx.run("insert into people (id, name, created_at) values (:id, :name, :now)", id=person_id, name=name, now=now)


def name_of(tx: Tx, person_id: str) -> str:
    row = tx.one("select name from people where id = :id", id=person_id)
    return row[0] if row else ""


def add_member(tx: Tx, workspace_id: str, person_id: str, role: str, now: str) -> None:
    tx.run(
        "insert into memberships (workspace_id, person_id, role, created_at)"
        " values (:workspace_id, :person_id, :role, :now)",
        workspace_id=workspace_id,
        person_id=person_id,
        role=role,
        now=now,
    )


def owner(tx: Tx, workspace_id: str) -> Row | None:
    """The id of the workspace's first owner, and the e-mail address once chosen."""
    return tx.one(
        "select p.id, p.email from memberships m join people p on p.id = m.person_id"
        " where m.workspace_id = :id and m.role = 'owner' order by p.id limit 1",
        id=workspace_id,
    )


def update_person(
    tx: Tx, person_id: str, name: str, email: str, password_hash: str | None, instead_of: str | None
) -> bool:
    """Whether the person was changed: not if the password is another one by now."""
    changed = tx.run(
        "update people set name = :name, email = :email, password_hash = :password_hash where id = :id"
        " and coalesce(password_hash, '') = :instead_of",
        id=person_id,
        name=name,
        email=email,
        password_hash=password_hash,
        instead_of=instead_of or "",
    )
    return bool(changed)


def forget_password(tx: Tx, person_id: str) -> None:
    tx.run("update people set password_hash = null where id = :id", id=person_id)


def is_email_in_use(tx: Tx, email: str, except_person: str) -> bool:
    return tx.one("select 1 from people where email = :email and id <> :id", email=email, id=except_person) is not None


def credentials(tx: Tx, email: str) -> Row | None:
    """The person's id and password hash."""
    return tx.one("select id, password_hash from people where email = :email", email=email)


def add_login_link(tx: Tx, token_hash: bytes, person_id: str, now: str, expires_at: str) -> None:
    tx.run(
        "insert into login_links (token_hash, person_id, created_at, expires_at)"
        " values (:token_hash, :person_id, :now, :expires_at)",
        token_hash=token_hash,
        person_id=person_id,
        now=now,
        expires_at=expires_at,
    )


def use_login_link(tx: Tx, token_hash: bytes, now: str) -> str | None:
    row = tx.one(
        "update login_links set used_at = :now where token_hash = :token_hash and used_at is null"
        " and expires_at > :now returning person_id",
        token_hash=token_hash,
        now=now,
    )
    return row[0] if row else None


class NewSession(msgspec.Struct, frozen=True):
    token_hash: bytes
    id: str
    person_id: str
    workspace_id: str | None
    """None: the person's first."""
    address: str
    agent: str
    created_at: str
    seen_on: str
    expires_at: str
    passkey_id: str | None
    """The passkey that opened it, whose end is its end too."""


def add_session(tx: Tx, new: NewSession) -> bool:
    """Whether the person is a member of the workspace, or of any."""
    added = tx.run(
        "insert into login_sessions"
        " (token_hash, id, person_id, workspace_id, address, agent, created_at, seen_on, expires_at, passkey_id)"
        " select :token_hash, :id, person_id, workspace_id, :address, :agent, :created_at, :seen_on, :expires_at,"
        " :passkey_id"
        " from memberships where person_id = :person_id and workspace_id = coalesce(:workspace_id, workspace_id)"
        " order by workspace_id limit 1",
        **msgspec.structs.asdict(new),
    )
    return bool(added)


def session(tx: Tx, token_hash: bytes, now: str) -> Row | None:
    return tx.one(
        "select s.person_id, s.workspace_id, w.name, p.name, p.email, p.password_hash, m.role, s.id, s.created_at,"
        " s.seen_on from login_sessions s join people p on p.id = s.person_id"
        " join workspaces w on w.id = s.workspace_id"
        " join memberships m on m.person_id = s.person_id and m.workspace_id = s.workspace_id"
        " where s.token_hash = :token_hash and s.expires_at > :now",
        token_hash=token_hash,
        now=now,
    )


def drop_session(tx: Tx, token_hash: bytes) -> None:
    tx.run("delete from login_sessions where token_hash = :token_hash", token_hash=token_hash)


def drop_other_sessions(tx: Tx, person_id: str, keep: bytes) -> None:
    tx.run("delete from login_sessions where person_id = :id and token_hash <> :keep", id=person_id, keep=keep)


def drop_login_links(tx: Tx, person_id: str) -> None:
    tx.run("delete from login_links where person_id = :id", id=person_id)


def set_password(tx: Tx, person_id: str, password_hash: str) -> None:
    tx.run("update people set password_hash = :hash where id = :id", id=person_id, hash=password_hash)


def keys_made_by(tx: Tx, workspace_id: str, now: str) -> list[Row]:
    """Maker and name of every key that works, the oldest first."""
    return tx.all(
        "select created_by, name from api_keys where workspace_id = :id and revoked_at is null"
        " and (expires_at is null or expires_at > :now) order by id",
        id=workspace_id,
        now=now,
    )


def prune(tx: Tx, now: str) -> int:
    """Forgets login links, sessions, invitations and challenges that have expired."""
    tables = ("login_links", "login_sessions", "invitations", "passkey_challenges")
    return sum(tx.run(f"delete from {table} where expires_at < :now", now=now) for table in tables)
