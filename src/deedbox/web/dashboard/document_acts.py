"""What is done on the page of a document or packet: remind, withdraw, delete, change its end or its reminders."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import Meta

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, ServiceError
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import change, change_packet
from deedbox.signing.actions.delete import delete
from deedbox.signing.actions.remind import remind
from deedbox.signing.actions.void import void
from deedbox.signing.model import Packet
from deedbox.signing.new_document import DocumentChange
from deedbox.signing.new_packet import PacketChange
from deedbox.web import limits
from deedbox.web.dashboard import document, packets, reminding, subject
from deedbox.web.dashboard.subject import DashboardSubject
from deedbox.web.http import context, page_forms
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import WrongForm, form_of
from deedbox.web.http.pages import go

_Days = Annotated[int, Meta(ge=1, le=reminding.DAYS_MAX)]


class ExpiryTerms(msgspec.Struct, frozen=True):
    """Until when, and how often those whose turn it is are reminded."""

    expires_at: Annotated[str, Meta(max_length=shared_limits.CURSOR_CHARS)] = ""
    reminds: str = ""
    first: _Days = 2
    every: _Days = 2
    max: Annotated[int, Meta(ge=1, le=shared_limits.REMINDERS_MAX)] = 3

    def change_of(self, packet: Packet) -> dict[str, Any]:
        """What differs from what there is."""
        until = self._until()
        plan = reminding.plan(packet.reminders, self.first, self.every, self.max) if self.reminds else None
        same_end = (instant(until) if until else None) == _to_the_minute(packet.expires_at)
        changed: dict[str, Any] = {} if same_end else {"expires_at": until}
        return changed if plan == packet.reminders else {**changed, "reminders": plan}

    def _until(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.expires_at).replace(tzinfo=UTC) if self.expires_at else None
        except ValueError as error:
            raise WrongForm({"expires_at": WORDS["terms_until_wrong"]}) from error


@post(subject.paths("/remind"), opt=person("documents:send"), include_in_schema=False)
async def remind_people(request: AnyRequest, subject_id: FromPath[str]) -> Response[Any]:
    """Reminds those whose turn it is."""
    return await _done(request, subject_id, "reminded", remind)


@post(
    subject.paths("/withdraw"),
    opt=person("documents:void"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def withdraw(request: AnyRequest, subject_id: FromPath[str]) -> Response[Any]:
    """Ends it for everyone, and tells them why."""
    reason = page_forms.text(await form_of(request), "reason").strip()

    def act(ctx: ActionContext, packet: Packet) -> None:
        if not 0 < len(reason) <= shared_limits.REASON_CHARS:
            raise BadRequest(WORDS["withdraw_say_why"].format(most=shared_limits.REASON_CHARS))
        void(ctx, packet, reason)

    return await _done(request, subject_id, "withdrawn", act)


@post(
    subject.paths("/delete"),
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def delete_draft(request: AnyRequest, subject_id: FromPath[str]) -> Response[Any]:
    """Deletes a draft, or what could not be prepared."""
    kind = "packets" if subject.of(request, subject_id).is_packet else "documents"
    return await _done(request, subject_id, f"/app/{kind}?done=deleted", delete)


@post(
    subject.paths("/terms"),
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def change_terms(request: AnyRequest, subject_id: FromPath[str]) -> Response[Any]:
    """Sets another end, or other reminders."""
    of, form = subject.of(request, subject_id), await form_of(request)
    try:
        wanted = page_forms.read_struct(form, ExpiryTerms).change_of(await of.seen(request))
        if not wanted:
            return go(f"{of.path}?done=changed")
        with page_forms.beside("expires_at", BadRequest):
            async with _prepared(request, of, wanted) as make:
                return await _done(request, subject_id, "changed", lambda ctx, _: make(ctx))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _shown(request, of, error, {"reminds": "", **_typed(form)})


def _prepared(
    request: AnyRequest, of: DashboardSubject, wanted: Mapping[str, Any]
) -> AbstractAsyncContextManager[Callable[[ActionContext], Packet]]:
    here = context.of(request)
    services, preparation, workspace_id = here.deedbox.services, here.deedbox.paper_mill, here.caller.workspace_id
    if of.is_packet:
        return change_packet.prepare(services, preparation, workspace_id, of.id, PacketChange(**wanted))
    return change.prepare(services, preparation, workspace_id, of.id, DocumentChange(**wanted))


async def _done(
    request: AnyRequest, subject_id: str, code: str, act: Callable[[ActionContext, Packet], object]
) -> Response[Any]:
    """Does it once; what cannot be done is said on the page."""
    here, form, of = context.of(request), await form_of(request), subject.of(request, subject_id)
    after = code if code.startswith("/") else f"{of.path}?done={code}"

    def once(tx: Tx) -> str:
        with here.action(tx) as ctx:
            act(ctx, of.packet(ctx))
        return after

    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            await of.seen(request)  # one past its time expires before anything is done to it
            return go(await sent.once(once))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _shown(request, of, error, _typed(form))


async def _shown(
    request: AnyRequest, of: DashboardSubject, error: ServiceError, typed: dict[str, Any]
) -> Response[Any]:
    shown = packets.shown if of.is_packet else document.shown
    return await shown(request, of.id, error, typed)


def _typed(form: FormMultiDict) -> dict[str, Any]:
    return {name: page_forms.text(form, name) for name in form if name != page_forms.ONCE}


def _to_the_minute(at: str | None) -> str | None:
    """The moment as a form can write it."""
    return f"{at[: len('2026-01-01T00:00')]}:00Z" if at else None


ROUTES: list[Any] = [remind_people, withdraw, delete_draft, change_terms]
