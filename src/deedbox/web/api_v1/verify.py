"""Whether a file is what was sealed here."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import Meta

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.pdf.report import Checks, Report, Signature, Verdict
from deedbox.signing.completion import verify_sealed
from deedbox.signing.desk import document_of
from deedbox.signing.model import Document, Packet
from deedbox.signing.store import audit, documents, sealed
from deedbox.web.frame import context, form, once, upload
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import PUBLIC, door


class Verification(msgspec.Struct, frozen=True):
    verdict: Verdict
    document_id: str | None
    sha256: str
    checks: Checks
    signatures: list[Signature]
    reasons: Annotated[list[str], Meta(description="Why the verdict is not `authentic` or `extended`.")]
    added: Annotated[list[str], Meta(description="What came after the seal of an `extended` file.")]


class VouchedSigner(msgspec.Struct, frozen=True):
    name: str
    party: str
    status: str
    signed_at: str | None


class Vouched(msgspec.Struct, frozen=True):
    """What a verification code stands for: enough to recognise the document, and no address of anyone."""

    code: str
    title: str
    status: str
    completed_at: str | None
    sha256: Annotated[str | None, Meta(description="Of the sealed file.")]
    earlier_sha256: Annotated[
        list[str], Meta(description="Of the same before it got another time-stamp: such a file is authentic too.")
    ]
    signers: list[VouchedSigner]


@post(
    "/api/v1/verify",
    opt={**door("verify:read"), form.FORM: upload.ONE_FILE},
    summary="Verify a sealed PDF",
    tags=["verification"],
    status_code=200,
    request_max_body_size=None,
)
async def verify_file(request: AnyRequest) -> Response[Verification]:
    here = context.of(request)
    deedbox, workspace = here.deedbox, here.caller.workspace_id
    with once.claimed(request):
        trusted = await deedbox.certificates.trusted(workspace)
        async with upload.one_file(request, deedbox.blobs, lambda _: None) as part:
            file, now = part.received.blob, deedbox.clock.now()
            report = await verify_sealed.report(deedbox.workshop, deedbox.blobs, file, trusted, now=now)
        content = file.sha256.encode()
        answer: Response[Any] = await once.kept(
            request, lambda tx: _judged(tx, workspace, report), status=200, content=content, repeatable=True
        )
        return answer


@get(
    "/api/v1/verify/{code:str}",
    opt=door(PUBLIC),
    summary="What a verification code vouches for",
    tags=["verification"],
)
async def verify_code(request: AnyRequest, code: FromPath[str]) -> Vouched:
    deedbox = context.of(request).deedbox

    def look(tx: Tx) -> tuple[Packet, Document, str | None, list[str]]:
        place = documents.by_verification_code(tx, code.strip().upper())
        packet, document = document_of(tx, *place) if place else (None, None)
        if packet is None or document is None or document.status == "draft":
            raise NotFound("No document has this verification code")
        made, hashes = sealed.find(tx, document.id), verify_sealed.sealed_hashes(audit.trail(tx, document.id))
        return packet, document, made.sha256 if made else None, hashes

    packet, document, sha256, hashes = await deedbox.db.read(look)
    return Vouched(
        code=document.verification_code or "",
        title=document.title,
        status=document.status,
        completed_at=document.completed_at,
        sha256=sha256,
        earlier_sha256=[one for one in hashes if one != sha256],
        signers=[
            VouchedSigner(signer.name, party.name, signer.status, signer.signed_at)
            for party, signer in packet.signers()
        ],
    )


def _judged(tx: Tx, workspace_id: str, report: Report) -> Verification:
    found = verify_sealed.with_records(tx, workspace_id, report)
    return Verification(
        found.verdict, found.document_id, found.sha256, found.checks, found.signatures, found.reasons, found.added
    )


ROUTES: list[Any] = [verify_file, verify_code]
