"""Files that a signer gives for fields: taken in, shown as pages, and taken back."""

from typing import Any

from litestar import Response, delete, get, put
from litestar.params import FromPath

from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.errors import Conflict, NotFound, TooLarge
from deedbox.signing.actions import attach
from deedbox.signing.model import Attachment
from deedbox.signing.store import attachments as store
from deedbox.web import limits
from deedbox.web.http import context, multipart, openapi, upload
from deedbox.web.http.auth import SIGNER, requires
from deedbox.web.http.blob_response import PICTURE, PictureQuery, page_number, page_picture
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY
from deedbox.web.signer.inside import Inside, done, inside
from deedbox.web.signer.records import SessionAttachment

_SIGNER: dict[str, Any] = {**requires(SIGNER), openapi.ALSO: (409,)}


@put(
    "/sign/{signer_id:str}/attachments/{field_id:str}",
    opt={**_SIGNER, multipart.FORM: upload.ONE_FILE},
    summary="Give the file of a field",
    tags=["signer"],
    request_max_body_size=None,
)
async def attach_file(request: AnyRequest, signer_id: FromPath[str], field_id: FromPath[str]) -> SessionAttachment:  # noqa: ARG001
    """A PDF or an image, kept until the signer signs, in place of the one before. Its pages are joined behind the
    document when that is completed."""
    return shown(await store_attachment(request, field_id))


@delete("/sign/{signer_id:str}/attachments/{field_id:str}", opt=_SIGNER, summary="Take a file back", tags=["signer"])
async def remove_attachment(request: AnyRequest, signer_id: FromPath[str], field_id: FromPath[str]) -> None:
    who = await inside(request)
    await done(request, who, lambda ctx, packet: attach.remove(ctx, packet, signer_id, field_id))


@get(
    "/sign/{signer_id:str}/attachments/{field_id:str}/pages/{page:str}",
    opt={
        **_SIGNER,
        QUERY: PictureQuery,
        openapi.ANSWERS: PICTURE,
    },
    summary="A page of an attachment as a picture",
    tags=["signer"],
)  # fmt: skip
async def attachment_page(
    request: AnyRequest,
    signer_id: FromPath[str],  # noqa: ARG001
    field_id: FromPath[str],
    page: FromPath[str],
) -> Response[Any]:
    deedbox, number, who = context.of(request).deedbox, page_number(page), await inside(request)
    if not who.is_shown:
        raise refusal(Conflict, "pages_over")
    found = [one for one in await list_shown(request, who) if one.field_id == field_id]
    if number is None or not found or number > found[0].pages:
        raise NotFound("There is no such page")
    blob = await deedbox.db.read(lambda tx: blobs_store.demand(tx, found[0].paper_sha256))
    return await page_picture(request, blob, number, context.of(request).query.width)


async def store_attachment(request: AnyRequest, field_id: str, page: upload.UploadPage | None = None) -> Attachment:
    """The file of the request's form, kept for the field until the signer signs."""
    here, who = context.of(request), await inside(request)
    services, preparation, place = here.deedbox.services, here.deedbox.paper_mill, (who.signer.id, field_id)
    most = limits.ATTACHMENT_BYTES
    multipart.need_form(request)
    attach.need_field(who.packet, place, services.clock.now())  # before the bytes, which take their time
    try:
        async with upload.one_file(request, services.blobs, lambda _: None, most, page) as part:
            prepared = attach.prepare(services, preparation, who.packet, place, part.filename, part.received)
            async with prepared as keep:
                return await done(request, who, keep)
    except TooLarge as error:
        raise refusal(TooLarge, "attachment_bytes", most=str(most // shared_limits.MB)) from error


async def list_shown(request: AnyRequest, who: Inside) -> list[Attachment]:
    """What the signer is shown: what they have given so far, else what those before them have signed with."""
    db = context.of(request).deedbox.db
    signed = [one for document in who.packet.documents for one in document.attachments]
    if not any(field.type == "attachment" for field in who.fields):
        return signed
    kept = await db.read(lambda tx: store.list_all(tx, who.packet.id))
    known = {one.field_id: one for one in (*signed, *(one for one in kept if one.signer_id == who.signer.id))}
    return list(known.values())


def shown(attachment: Attachment) -> SessionAttachment:
    return SessionAttachment(
        attachment.field_id, attachment.signer_id, attachment.name, attachment.sha256, attachment.size_bytes,
        attachment.pages, attachment.sizes,
    )  # fmt: skip


ROUTES: list[Any] = [attach_file, remove_attachment, attachment_page]
