"""The same list as most would write it today: FastAPI, SQLAlchemy ORM, Pydantic response models, dependencies.

Runs in the benches' own environment: python bench/peers/fastapi_app.py DATABASE PORT"""

import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Query
from pydantic import BaseModel
from sqlalchemy import ForeignKey, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, sessionmaker


class Base(DeclarativeBase):
    pass


class ApiKey(Base):
    __tablename__ = "api_keys"
    id: Mapped[str] = mapped_column(primary_key=True)
    workspace_id: Mapped[str]
    key_hash: Mapped[bytes]
    scopes: Mapped[str]
    expires_at: Mapped[str | None]
    revoked_at: Mapped[str | None]


class PacketRow(Base):
    __tablename__ = "packets"
    id: Mapped[str] = mapped_column(primary_key=True)
    message: Mapped[str | None]
    language: Mapped[str]
    reminders: Mapped[str | None]
    expires_at: Mapped[str | None]
    expires_after_hours: Mapped[int | None]


class DocumentRow(Base):
    __tablename__ = "documents"
    id: Mapped[str] = mapped_column(primary_key=True)
    workspace_id: Mapped[str]
    packet_id: Mapped[str] = mapped_column(ForeignKey("packets.id"))
    packet: Mapped[PacketRow] = relationship(lazy="joined")
    title: Mapped[str]
    status: Mapped[str]
    source: Mapped[str]
    external_id: Mapped[str | None]
    metadata_: Mapped[str] = mapped_column("metadata")
    template_id: Mapped[str | None]
    template_version: Mapped[int | None]
    bulk_send_id: Mapped[str | None]
    files: Mapped[str]
    seal: Mapped[str | None]
    created_at: Mapped[str]
    updated_at: Mapped[str]
    sent_at: Mapped[str | None]
    completed_at: Mapped[str | None]
    declined_at: Mapped[str | None]
    voided_at: Mapped[str | None]
    expired_at: Mapped[str | None]
    decline: Mapped[str | None]
    void: Mapped[str | None]
    archive_status: Mapped[str]
    archive_attempts: Mapped[int]
    verification_code: Mapped[str | None]
    signed_input: Mapped[str]
    error: Mapped[str | None]


class Progress(BaseModel):
    signers_total: int
    signers_signed: int
    parties_total: int
    parties_completed: int


class Document(BaseModel):
    id: str
    object: str = "document"
    title: str
    status: str
    source: str
    external_id: str | None
    metadata: dict[str, str]
    template_id: str | None
    template_version: int | None
    packet_id: str | None = None
    bulk_send_id: str | None
    message: dict[str, Any] | None
    language: str
    files: list[Any]
    parties: list[Any] = []
    fields: list[Any] = []
    progress: Progress
    seal: dict[str, Any] | None
    reminders: dict[str, Any] | None
    expires_at: str | None
    expires_after_hours: int | None
    created_at: str
    updated_at: str
    sent_at: str | None
    completed_at: str | None
    declined_at: str | None
    voided_at: str | None
    expired_at: str | None
    decline: dict[str, Any] | None
    void: dict[str, Any] | None
    archive: dict[str, Any]
    verification_code: str | None
    signed_input: str
    attachments: list[Any] = []
    error: str | None


class DocumentPage(BaseModel):
    documents: list[Document]
    count: int
    has_more: bool
    next_cursor: str | None


engine = create_engine(f"sqlite:///{sys.argv[1]}", connect_args={"check_same_thread": False})
sessions = sessionmaker(engine)
app = FastAPI()


def session() -> Iterator[Session]:
    with sessions() as opened:
        yield opened


def caller(db: Annotated[Session, Depends(session)], authorization: Annotated[str, Header()]) -> ApiKey:
    digest = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).digest()
    key = db.scalar(select(ApiKey).where(ApiKey.key_hash == digest))
    if key is None or key.revoked_at is not None:
        raise HTTPException(401, "Invalid API key")
    return key


def loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def document(row: DocumentRow) -> Document:
    own = {name: getattr(row, name) for name in Document.model_fields if name in DocumentRow.__table__.columns}
    shared = {
        name: getattr(row.packet, name)
        for name in ("message", "language", "reminders", "expires_at", "expires_after_hours")
    }
    same = {**own, **shared, "packet_id": None}
    for name in ("message", "files", "seal", "reminders", "decline", "void"):
        same[name] = loaded(same[name])
    same["metadata"] = loaded(row.metadata_)
    standing = {"status": row.archive_status, "attempts": row.archive_attempts}
    same["archive"] = {**standing, "archived_at": None, "receipt": None, "error": None}
    progress = Progress(signers_total=0, signers_signed=0, parties_total=0, parties_completed=0)
    return Document(**same, progress=progress)


@app.get("/api/v1/documents")
def list_documents(
    db: Annotated[Session, Depends(session)],
    key: Annotated[ApiKey, Depends(caller)],
    limit: Annotated[int, Query(ge=1, le=100)] = 25,
    cursor: str | None = None,
) -> DocumentPage:
    query = select(DocumentRow).where(DocumentRow.workspace_id == key.workspace_id)
    if cursor is not None:
        query = query.where(DocumentRow.id < cursor)
    rows = db.scalars(query.order_by(DocumentRow.id.desc()).limit(limit + 1)).all()
    shown = [document(row) for row in rows[:limit]]
    more = len(rows) > limit
    return DocumentPage(documents=shown, count=len(shown), has_more=more, next_cursor=shown[-1].id if more else None)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
