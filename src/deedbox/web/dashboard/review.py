"""Review: what each signer will get, the last words, and the button that sends. Nothing leaves before."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, Meta

from deedbox import i18n
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.signing.actions import lay_out
from deedbox.signing.actions.draw import DraftDrawing, load_sketch
from deedbox.signing.actions.lay_out import LayoutOptions
from deedbox.signing.actions.send import send
from deedbox.signing.model import Document, Message, Packet, Reminders
from deedbox.signing.new_document import Title, UnlockedFile
from deedbox.signing.preparation.intake import RefusedFiles
from deedbox.signing.sketch import SketchField, SketchParty, SketchSigner
from deedbox.web import limits
from deedbox.web.dashboard import reminding
from deedbox.web.dashboard.initials import initials
from deedbox.web.http import context, page_forms
from deedbox.web.http.app_pages import app_page, long_app_page, refusal_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import WrongForm, form_of, text
from deedbox.web.http.pages import go

_DAYS = Meta(ge=1, le=reminding.DAYS_MAX)


class ReviewForm(msgspec.Struct, frozen=True):
    """The last words before a draft is sent."""

    version: Annotated[int, Meta(ge=0)]
    title: Title
    subject: Annotated[str, Meta(max_length=shared_limits.MESSAGE_SUBJECT_CHARS, pattern=r"^[^\x00-\x1f]*$")] = ""
    body: Annotated[str, Meta(max_length=shared_limits.MESSAGE_BODY_CHARS)] = ""
    days: Annotated[int, Meta(ge=1, le=shared_limits.EXPIRES_AFTER_HOURS_MAX // 24)] | None = None
    first: Annotated[int, _DAYS] | None = None
    every: Annotated[int, _DAYS] | None = None
    most: Annotated[int, Meta(ge=1, le=shared_limits.REMINDERS_MAX)] | None = None


@get("/app/documents/{document_id:str}/review", opt=person("documents:write"), include_in_schema=False)
async def review_page(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    try:
        return await _page(request, await _drawing(request, document_id))
    except ServiceError as error:
        return refusal_page(request, error)


@get("/app/documents/{document_id:str}/preview", opt=person("documents:write"), include_in_schema=False)
async def preview_page(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """The pages as one of the signers will see them; `as` has the key of that signer, else it is the first."""
    try:
        found = await _drawing(request, document_id)
    except ServiceError as error:
        return refusal_page(request, error)
    wanted = request.query_params.get("as", "")
    people = [(party, one) for party, one in found.sketch.people() if one.role != "cc"]
    shown = next(((party, one) for party, one in people if one.key == wanted), people[0] if people else None)
    return await long_app_page(
        request,
        len(found.sketch.fields),
        "dashboard/preview.html",
        document=found.document,
        packet=found.packet,
        people=[one for _, one in people],
        shown=shown[1] if shown else None,
        mine=[field for field in found.sketch.fields if shown and field.who in (shown[0].key, shown[1].key)],
        others=[field for field in found.sketch.fields if shown and field.who not in (shown[0].key, shown[1].key)],
        signs=shown is not None and _signs(found, *shown),
    )


@post(
    "/app/documents/{document_id:str}/review",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.PEOPLE_FORM_BYTES,
)
async def keep_draft(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Lays the sketch out on the draft, and sends nothing."""
    return await _laid(request, document_id, sending=False)


@post(
    "/app/documents/{document_id:str}/send",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.PEOPLE_FORM_BYTES,
)
async def send_draft(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Lays the sketch out and sends, in one transaction and once, however often the button is pressed."""
    return await _laid(request, document_id, sending=True)


async def _laid(request: AnyRequest, document_id: str, *, sending: bool) -> Response[Any]:
    here, form = context.of(request), await form_of(request)
    services, preparation, workspace_id = here.deedbox.services, here.deedbox.paper_mill, here.caller.workspace_id
    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            found = await _drawing(request, document_id)
            wanted = _wanted(found, form)
            async with lay_out.prepare(services, preparation, workspace_id, document_id, wanted) as make:

                def act(tx: Tx) -> str:
                    with here.action(tx) as ctx:
                        packet = make(ctx)
                        if sending:
                            send(ctx, packet)
                    return f"{_own_page(packet)}?done={'sent' if sending else 'changed'}"

                return go(await sent.once(act))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _again(request, document_id, form, error)


def _own_page(packet: Packet) -> str:
    return f"/app/documents/{packet.first.id}" if packet.lone else f"/app/packets/{packet.id}"


async def _again(request: AnyRequest, document_id: str, form: FormMultiDict, error: ServiceError) -> Response[Any]:
    """The page with what is wrong; of a draft that is none any more, only that."""
    try:
        return await _page(request, await _drawing(request, document_id), form, error)
    except ServiceError as gone:
        return refusal_page(request, gone)


async def _drawing(request: AnyRequest, document_id: str) -> DraftDrawing:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: load_sketch(tx, here.caller.workspace_id, document_id))


def _wanted(found: DraftDrawing, form: FormMultiDict) -> LayoutOptions:
    """What the form says, checked: each mistake is named beside its box."""
    filled, wrong = page_forms.read_struct(form, ReviewForm), dict[str, str]()
    codes = {signer.key: text(form, f"code.{signer.key}").strip() for signer in _coded(found)}
    known = {signer.id for _, signer in found.packet.signers() if signer.access_code_hash}
    for key, code in codes.items():
        if not code and key not in known:
            wrong[f"code.{key}"] = WORDS["review_code_missing"]
        elif code and not shared_limits.ACCESS_CODE_CHARS_MIN <= len(code) <= shared_limits.ACCESS_CODE_CHARS:
            wrong[f"code.{key}"] = WORDS["review_code_short"].format(
                least=shared_limits.ACCESS_CODE_CHARS_MIN, most=shared_limits.ACCESS_CODE_CHARS
            )
    for name, needs in (("first", (filled.every, filled.most)), ("every", (filled.first,))):
        if any(needs) and getattr(filled, name) is None:
            wrong[name] = WORDS["review_reminders_whole"]
    for number, _ in enumerate(found.packet.files()):
        if len(text(form, f"unlock.{number}")) > shared_limits.FILE_PASSWORD_CHARS:
            wrong[f"unlock.{number}"] = WORDS["review_password_long"].format(most=shared_limits.FILE_PASSWORD_CHARS)
    if wrong:
        raise WrongForm(wrong)
    return LayoutOptions(
        version=filled.version,
        title=filled.title,
        message=_message(filled),
        expires_after_hours=_hours(found, filled),
        reminders=_reminders(found, filled),
        codes={key: code for key, code in codes.items() if code},
        passwords=_passwords(found, form),
    )


def _message(filled: ReviewForm) -> Message | None:
    if not filled.subject.strip() and not filled.body.strip():
        return None
    return Message(filled.subject.strip(), filled.body.replace("\r\n", "\n").strip())


def _hours(found: DraftDrawing, filled: ReviewForm) -> Any:
    """An end that was named to the minute stays where no days are given instead of it."""
    hours = found.packet.expires_after_hours
    if filled.days is None:
        return UNSET if found.packet.expires_at else None
    return hours if hours is not None and reminding.days(hours) == filled.days else filled.days * 24


def _reminders(found: DraftDrawing, filled: ReviewForm) -> Reminders | None:
    if filled.first is None or filled.every is None:
        return None
    most = filled.most or shared_limits.REMINDERS_MAX
    return reminding.plan(found.packet.reminders, filled.first, filled.every, most)


def _passwords(found: DraftDrawing, form: FormMultiDict) -> list[UnlockedFile]:
    given = [(file.id, text(form, f"unlock.{number}")) for number, (_, file) in enumerate(found.packet.files())]
    return [UnlockedFile(file_id, said) for file_id, said in given if said]


def _locked(found: DraftDrawing, form: FormMultiDict | None, error: ServiceError | None) -> dict[int, str]:
    """The files whose passwords are asked for, each with what is wrong; one that was typed is asked for again."""
    names = {number: f"unlock.{number}" for number, _ in enumerate(found.packet.files())}
    if isinstance(error, RefusedFiles):
        return error.reasons
    if not isinstance(error, WrongForm) or form is None:
        return {}
    return {number: error.wrong.get(name, "") for number, name in names.items() if text(form, name)}


def _documents(found: DraftDrawing) -> list[tuple[Document, int]]:
    """The documents, each with the number of its fields."""
    within = [document.id for document, _ in found.packet.files()]
    drawn = [within[field.file] for field in found.sketch.fields if field.file < len(within)]
    return [(document, drawn.count(document.id)) for document in found.packet.documents]


def _coded(found: DraftDrawing) -> list[SketchSigner]:
    return [signer for _, signer in found.sketch.people() if signer.auth == "access_code"]


def _fields_of(found: DraftDrawing, party: SketchParty, signer: SketchSigner) -> list[SketchField]:
    return [field for field in found.sketch.fields if field.who in (party.key, signer.key)]


def _signs(found: DraftDrawing, party: SketchParty, signer: SketchSigner) -> bool:
    """Whether the signer has a place to sign; else one is made at the end of the last page."""
    places = [field for field in _fields_of(found, party, signer) if field.type == "signature" and not field.show_if]
    return signer.role != "signer" or bool(places)


async def _page(
    request: AnyRequest, found: DraftDrawing, form: FormMultiDict | None = None, error: ServiceError | None = None
) -> Response[Any]:
    here = context.of(request)
    services, steps = here.deedbox.services, sorted({party.order for party in found.sketch.parties})
    parties = sorted(found.sketch.parties, key=lambda party: party.order)
    people = [
        {
            "party": party,
            "signer": one,
            "initials": initials(one.name),
            "step": steps.index(party.order) + 1,
            "fields": len(_fields_of(found, party, one)),
            "signs": _signs(found, party, one),
            "language": i18n.NAMES[i18n.known(one.language or found.packet.language)],
        }
        for party in parties
        for one in party.signers
    ]
    known = {signer.id for _, signer in found.packet.signers() if signer.access_code_hash}
    return app_page(
        request,
        "dashboard/review.html",
        error=error,
        address=f"/app/documents/{found.document.id}/review",
        once=page_forms.new_once(),
        found=found,
        document=found.document,
        packet=found.packet,
        files=[file for _, file in found.packet.files()],
        documents=_documents(found),
        people=people,
        problem=lay_out.problem(found, services.notifier, services.clock.now()) if found.has_pages else None,
        locked=_locked(found, form, error),
        coded=[(one, one.key in known) for one in _coded(found)],
        typed=_typed(found, form),
        mails=services.notifier.delivers(),
        subject_usual=_usual_subject(found),
        spoken=i18n.NAMES[i18n.known(found.packet.language)],
        bounds=_BOUNDS,
        password_chars=shared_limits.FILE_PASSWORD_CHARS,
    )


def _usual_subject(found: DraftDrawing) -> str:
    """What the mail says where no other subject is given."""
    packet = found.packet
    language = i18n.known(packet.language)
    sender = i18n.sender(language, packet.sender, packet.company)
    return i18n.table(language)["mail.invitation_subject"].format(sender=sender, title=found.sketch.title)


_BOUNDS = {
    "title": shared_limits.TITLE_CHARS,
    "subject": shared_limits.MESSAGE_SUBJECT_CHARS,
    "body": shared_limits.MESSAGE_BODY_CHARS,
    "days": shared_limits.EXPIRES_AFTER_HOURS_MAX // 24,
    "remind": reminding.DAYS_MAX,
    "most": shared_limits.REMINDERS_MAX,
    "code": shared_limits.ACCESS_CODE_CHARS,
}


def _typed(found: DraftDrawing, form: FormMultiDict | None) -> dict[str, Any]:
    """What stands in the boxes: what was typed, else what the draft says."""
    if form is not None:
        names = ("title", "subject", "body", "days", "first", "every", "most")
        return {name: text(form, name) for name in names}
    packet, message, reminders = found.packet, found.packet.message, found.packet.reminders
    return {
        "title": found.sketch.title,
        "subject": message.subject if message else "",
        "body": message.body if message else "",
        "days": reminding.days(packet.expires_after_hours) if packet.expires_after_hours else "",
        "first": reminding.days(reminders.first_after_hours) if reminders else "",
        "every": reminding.days(reminders.every_hours) if reminders else "",
        "most": reminders.max if reminders else "",
    }


ROUTES = [review_page, preview_page, keep_draft, send_draft]
