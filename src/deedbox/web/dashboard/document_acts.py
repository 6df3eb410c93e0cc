"""What is done on the page of a document: remind, withdraw, delete, and another end or other reminders."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, Meta

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, DeedboxError
from deedbox.signing.actions import change
from deedbox.signing.actions.delete import delete
from deedbox.signing.actions.remind import remind
from deedbox.signing.actions.void import void
from deedbox.signing.desk import Desk
from deedbox.signing.model import Packet
from deedbox.signing.new_document import DocumentChange
from deedbox.web.dashboard import reminding
from deedbox.web.dashboard.document import shown
from deedbox.web.frame import context, forms
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import person
from deedbox.web.frame.forms import WrongForm, form_of
from deedbox.web.frame.pages import go
from deedbox.words.dashboard import WORDS

_Days = Annotated[int, Meta(ge=1, le=reminding.DAYS_MAX)]


class Terms(msgspec.Struct, frozen=True):
    """Until when, and how often those whose turn it is are reminded."""

    expires_at: Annotated[str, Meta(max_length=limits.CURSOR_CHARS)] = ""
    reminds: str = ""
    first: _Days = 2
    every: _Days = 2
    max: Annotated[int, Meta(ge=1, le=limits.REMINDERS_MAX)] = 3

    def change_of(self, packet: Packet) -> DocumentChange | None:
        """What differs from what there is; None if nothing does."""
        until = self._until()
        plan = reminding.plan(packet.reminders, self.first, self.every, self.max) if self.reminds else None
        same_end = (instant(until) if until else None) == _to_the_minute(packet.expires_at)
        if same_end and plan == packet.reminders:
            return None
        return DocumentChange(
            expires_at=UNSET if same_end else until, reminders=UNSET if plan == packet.reminders else plan
        )

    def _until(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.expires_at).replace(tzinfo=UTC) if self.expires_at else None
        except ValueError as error:
            raise WrongForm({"expires_at": WORDS["terms_until_wrong"]}) from error


@post("/app/documents/{document_id:str}/remind", opt=person("documents:send"), include_in_schema=False)
async def remind_people(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Reminds those whose turn it is."""
    return await _done(request, document_id, "reminded", lambda desk: remind(desk, desk.lone_packet_of(document_id)))


@post(
    "/app/documents/{document_id:str}/withdraw",
    opt=person("documents:void"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def withdraw(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Ends it for everyone, and tells them why."""
    reason = forms.text(await form_of(request), "reason").strip()

    def act(desk: Desk) -> None:
        if not 0 < len(reason) <= limits.REASON_CHARS:
            raise BadRequest(WORDS["withdraw_say_why"].format(most=limits.REASON_CHARS))
        void(desk, desk.lone_packet_of(document_id), reason)

    return await _done(request, document_id, "withdrawn", act)


@post(
    "/app/documents/{document_id:str}/delete",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def delete_document(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Deletes a draft, or what could not be prepared."""
    after = "/app/documents?done=deleted"
    return await _done(request, document_id, after, lambda desk: delete(desk, desk.lone_packet_of(document_id)))


@post(
    "/app/documents/{document_id:str}/terms",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def change_terms(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Sets another end, or other reminders."""
    here, form = context.of(request), await form_of(request)
    office, mill = here.deedbox.office, here.deedbox.paper_mill
    try:
        wanted = forms.filled(form, Terms).change_of(await here.packet_of(document_id))
        if wanted is None:
            return go(f"/app/documents/{document_id}?done=changed")
        with forms.beside("expires_at", BadRequest):
            async with change.prepared(office, mill, here.caller.workspace_id, document_id, wanted) as make:
                return await _done(request, document_id, "changed", make)
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return await shown(request, document_id, error, {"reminds": "", **_typed(form)})


async def _done(request: AnyRequest, document_id: str, code: str, act: Callable[[Desk], Any]) -> Response[Any]:
    """Does it once; what cannot be done is said on the page."""
    here, form = context.of(request), await form_of(request)
    after = code if code.startswith("/") else f"/app/documents/{document_id}?done={code}"

    def once(tx: Tx) -> str:
        with here.desk(tx) as desk:
            act(desk)
        return after

    try:
        with forms.sending(request, form) as sent:
            if before := await sent.before():
                return go(before)
            await here.packet_of(document_id)  # one past its time expires before anything is done to it
            return go(await sent.once(once))
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return await shown(request, document_id, error, _typed(form))


def _typed(form: FormMultiDict) -> dict[str, Any]:
    return {name: forms.text(form, name) for name in form if name != forms.ONCE}


def _to_the_minute(at: str | None) -> str | None:
    """The moment as a form can write it."""
    return f"{at[: len('2026-01-01T00:00')]}:00Z" if at else None


ROUTES: list[Any] = [remind_people, withdraw, delete_document, change_terms]
