"""The table of login sessions, as their person looks at them."""

from collections.abc import Mapping

from deedbox.kernel.db import Row, Tx


def of_person(tx: Tx, person_id: str, now: str, limit: int) -> list[Row]:
    return tx.all(
        "select s.id, w.name, s.address, s.agent, s.created_at, s.seen_on from login_sessions s"
        " join workspaces w on w.id = s.workspace_id where s.person_id = :person_id and s.expires_at > :now"
        " order by s.id desc limit :limit",
        person_id=person_id,
        now=now,
        limit=limit,
    )


def end(tx: Tx, person_id: str, session_id: str) -> bool:
    ended = tx.run(
        "delete from login_sessions where id = :id and person_id = :person_id", id=session_id, person_id=person_id
    )
    return bool(ended)


def end_others(tx: Tx, person_id: str, keep: str) -> None:
    tx.run("delete from login_sessions where person_id = :id and id <> :keep", id=person_id, keep=keep)


def end_in(tx: Tx, workspace_id: str, person_id: str) -> None:
    """Ends the person's sessions in this workspace."""
    tx.run(
        "delete from login_sessions where workspace_id = :workspace_id and person_id = :person_id",
        workspace_id=workspace_id,
        person_id=person_id,
    )


def switch(tx: Tx, session_id: str, person_id: str, workspace_id: str) -> bool:
    changed = tx.run(
        "update login_sessions set workspace_id = :workspace_id where id = :id and exists (select 1 from memberships"
        " where person_id = :person_id and workspace_id = :workspace_id)",
        id=session_id,
        person_id=person_id,
        workspace_id=workspace_id,
    )
    return bool(changed)


def workspaces_of(tx: Tx, person_id: str, limit: int) -> list[Row]:
    return tx.all(
        "select w.id, w.name, m.role, m.created_at from memberships m join workspaces w on w.id = m.workspace_id"
        " where m.person_id = :id order by w.name, w.id limit :limit",
        id=person_id,
        limit=limit,
    )


def record_activity(tx: Tx, seen: Mapping[str, str]) -> None:
    rows = [{"id": session_id, "day": day} for session_id, day in seen.items()]
    tx.many("update login_sessions set seen_on = :day where id = :id and seen_on < :day", list(rows))
