"""People: who signs a draft, in which order, and how it is known that it is they."""

import secrets
from typing import Any, get_args

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec.structs import replace

from deedbox import i18n
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, ServiceError
from deedbox.kernel.mailbox import checked_address, one_line
from deedbox.signing.actions.draw import DraftDrawing, draw_people, load_sketch
from deedbox.signing.model import Auth, Role, Rule
from deedbox.signing.new_document import Name
from deedbox.signing.sketch import SketchParty, SketchSigner, describe, is_key
from deedbox.signing.store.people import asked_lately
from deedbox.web import limits
from deedbox.web.dashboard.names import few
from deedbox.web.dashboard.people_rows import ACTS, PeopleForm, PersonForm, StepForm, number_in
from deedbox.web.http import context, page_forms
from deedbox.web.http.app_pages import app_page, refusal_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import WrongForm, form_of, text
from deedbox.web.http.pages import go

_ONWARD = ("fields", "review")
"""The steps to which the form leads, the next one first."""


@get("/app/documents/{document_id:str}/people", opt=person("documents:write"), include_in_schema=False)
async def people_page(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    found = await _drawing(request, document_id)
    if isinstance(found, Response):
        return found
    return await _page(request, found, _steps(found.sketch.parties))


@post(
    "/app/documents/{document_id:str}/people",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.PEOPLE_FORM_BYTES,
)
async def keep_people(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Keeps all rows in the sketch. Without script, buttons that add and move rows come here too."""
    here, form = context.of(request), await form_of(request)
    found = await _drawing(request, document_id)
    if isinstance(found, Response):
        return found
    steps = list[StepForm]()
    try:
        steps = [_filled(step) for step in page_forms.read_struct(_without_spares(form), PeopleForm).parties]
        steps = [step for step in steps if step.signers]
        act, _, which = text(form, "act").partition(".")
        if act in ACTS:
            return await _page(request, found, ACTS[act](request, steps, which))
        _check(request, steps, found)
        parties, now = _parties(steps, found), here.deedbox.clock.now()
        if (lost := _lost(found, parties)) and text(form, "sure") != lost:
            return await _page(request, found, steps, lost=lost)

        def keep(tx: Tx) -> None:
            draw_people(tx, here.caller.workspace_id, document_id, parties, now)

        await here.deedbox.db.write(keep)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, found, steps or _steps(found.sketch.parties), error)
    return go(f"/app/documents/{document_id}/{which if act == 'go' and which in _ONWARD else _ONWARD[0]}")


def _lost(found: DraftDrawing, parties: list[SketchParty]) -> str:
    """The fields that go with those who are no longer among the people; empty if there are none."""
    keys = replace(found.sketch, parties=parties).keys
    return few([describe(field) for field in found.sketch.fields if field.who and field.who not in keys])


async def _drawing(request: AnyRequest, document_id: str) -> DraftDrawing | Response[Any]:
    here = context.of(request)
    try:
        return await here.deedbox.db.read(lambda tx: load_sketch(tx, here.caller.workspace_id, document_id))
    except ServiceError as error:
        return refusal_page(request, error)


def _without_spares(form: FormMultiDict) -> FormMultiDict:
    """The form without the empty rows that stand there to be filled in: neither name nor address, and never kept."""
    rows: dict[str, dict[str, str]] = {}
    for name, value in form.multi_items():
        row, _, part = name.rpartition(".")
        rows.setdefault(row, {})[part] = value if isinstance(value, str) else ""
    spare = {row for row, said in rows.items() if ".signers." in row and not _is_said(said)}
    return FormMultiDict([one for one in form.multi_items() if one[0].rpartition(".")[0] not in spare])


def _is_said(row: dict[str, str]) -> bool:
    return any(row.get(name, "").strip() for name in ("key", "name", "email"))


def _filled(step: StepForm) -> StepForm:
    step.name = one_line(step.name)
    for one in step.signers:
        one.name, one.email = one_line(one.name), one.email.strip()
    return step


def _steps(parties: list[SketchParty]) -> list[StepForm]:
    """The parties as the form has them."""
    steps, before = list[StepForm](), 0
    for party in sorted(parties, key=lambda party: party.order):
        rows = [
            PersonForm(one.key, one.name, one.email, one.language or "", one.role, one.auth) for one in party.signers
        ]
        alone = len(rows) == 1 and party.name == rows[0].name
        name = "" if alone or party.name == _joined(rows) else party.name
        steps.append(StepForm(party.key, name, party.rule, str(party.quorum or ""), party.order == before, rows))
        before = party.order
    return steps


def _joined(rows: list[PersonForm]) -> str:
    return ", ".join(row.name for row in rows)[: shared_limits.SIGNER_NAME_CHARS]


def _parties(steps: list[StepForm], found: DraftDrawing) -> list[SketchParty]:
    """The steps as the sketch keeps them; who had a key keeps it, and what the form does not ask for stays."""
    before = {party.key: party for party in found.sketch.parties}
    people = {signer.key: signer for _, signer in found.sketch.people()}
    parties, order, seen = list[SketchParty](), 0, set[str]()

    def key(given: str, prefix: str) -> str:
        own = given if is_key(given) and given not in seen else f"{prefix}{secrets.token_hex(5)}"
        seen.add(own)
        return own

    for number, step in enumerate(steps):
        order += 0 if step.together and number else 1
        signers = [_signer(row, people.get(row.key, SketchSigner("new")), key(row.key, "s")) for row in step.signers]
        group = len(signers) > 1
        parties.append(
            replace(
                before.get(step.key, SketchParty("new")),
                key=key(step.key, "p"),
                name=step.name or _joined(step.signers),
                order=order,
                rule=msgspec.convert(step.rule if group else "all", Rule),
                quorum=int(step.quorum) if group and step.rule == "quorum" else None,
                signers=signers,
            )
        )
    return parties


def _signer(row: PersonForm, before: SketchSigner, key: str) -> SketchSigner:
    return replace(
        before,
        key=key,
        name=row.name,
        email=row.email,
        language=row.language or None,
        role=msgspec.convert(row.role, Role),
        auth=msgspec.convert(row.auth, Auth),
        delegation=before.delegation and row.auth != "access_code",
    )


def _check(request: AnyRequest, steps: list[StepForm], found: DraftDrawing) -> None:
    """WrongForm with what is wrong in each row; what the API refuses is refused here, beside its box."""
    wrong, seen = dict[str, str](), dict[tuple[str, str], int]()
    delivers = context.of(request).deedbox.services.notifier.delivers()
    kept = {one.language for _, one in found.sketch.people()}
    for number, step in enumerate(steps):
        for at, row in enumerate(step.signers):
            place = f"parties.{number}.signers.{at}"
            wrong |= {f"{place}.{name}": said for name, said in _wrong_in(row, delivers=delivers).items()}
            who = (row.email.casefold(), row.name.casefold())
            if row.email and who in seen:
                wrong[f"{place}.email"] = WORDS["people_twice"].format(name=row.name, step=seen[who])
            seen.setdefault(who, number + 1)
        able = sum(row.role != "cc" for row in step.signers)
        if len(step.signers) > 1 and step.rule == "quorum" and not 1 <= number_in(step.quorum) <= able:
            wrong[f"parties.{number}.quorum"] = WORDS["people_quorum"].format(able=able)
        if len(step.name) > shared_limits.SIGNER_NAME_CHARS:
            wrong[f"parties.{number}.name"] = WORDS["people_long"].format(most=shared_limits.SIGNER_NAME_CHARS)
    if wrong:
        raise WrongForm(wrong)
    for step in steps:
        _need_offered(step.rule in get_args(Rule))
        for row in step.signers:
            _need_offered(row.role in get_args(Role) and row.auth in get_args(Auth))
            _need_offered(not row.language or row.language in i18n.NAMES or row.language in kept)
    if not any(row.role != "cc" for step in steps for row in step.signers):
        raise BadRequest(WORDS["people_nobody"])
    if sum(len(step.signers) for step in steps) > shared_limits.DOCUMENT_SIGNERS:
        raise BadRequest(WORDS["people_many"].format(most=shared_limits.DOCUMENT_SIGNERS))


def _need_offered(offered: bool) -> None:
    if not offered:
        raise BadRequest(WORDS["people_choice"])


def _wrong_in(row: PersonForm, *, delivers: bool) -> dict[str, str]:
    wrong = dict[str, str]()
    try:
        msgspec.convert(row.name, Name)
    except msgspec.ValidationError:
        wrong["name"] = WORDS["people_name"]
    try:
        checked_address(row.email)
    except BadRequest as error:
        wrong["email"] = error.message if row.email else WORDS["people_email"]
    if row.auth == "email_code" and not delivers:
        wrong["auth"] = WORDS["people_no_mail"]
    return wrong


async def _page(
    request: AnyRequest,
    found: DraftDrawing,
    steps: list[StepForm],
    error: ServiceError | None = None,
    lost: str = "",
) -> Response[Any]:
    here = context.of(request)
    known = await here.deedbox.db.read(lambda tx: asked_lately(tx, here.caller.workspace_id, limits.PEOPLE_SUGGESTED))
    return app_page(
        request,
        "dashboard/people.html",
        error=error,
        document=found.document,
        packet=found.packet,
        steps=steps or [StepForm(signers=[PersonForm()])],
        lost=lost,
        version=found.version,
        known=known,
        languages=i18n.NAMES,
        name_chars=shared_limits.SIGNER_NAME_CHARS,
        most_people=shared_limits.DOCUMENT_SIGNERS,
        email_chars=shared_limits.EMAIL_CHARS,
        blank=PersonForm(),
    )


ROUTES = [people_page, keep_people]
