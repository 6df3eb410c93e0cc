"""Whether a file is what was sealed here."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import Meta

from deedbox.evidence import chain
from deedbox.kernel.db import Tx
from deedbox.pdf import report as reports
from deedbox.pdf.report import Checks, Report, Signature, Verdict
from deedbox.signing.completion import verify_sealed, vouched
from deedbox.signing.completion.vouched import Vouched
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
    reasons: Annotated[list[str], Meta(description="Why the verdict is not `authentic`.")]


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
    return await context.of(request).deedbox.db.read(lambda tx: vouched.by_code(tx, code))


def _judged(tx: Tx, workspace_id: str, report: Report) -> Verification:
    judged = _with_records(tx, workspace_id, report)
    return Verification(
        judged.verdict, judged.document_id, judged.sha256, judged.checks, judged.signatures, judged.reasons
    )


def _with_records(tx: Tx, workspace_id: str, report: Report) -> Report:
    """The report with what our own records say of the file."""
    document_id = sealed.document_with(tx, report.sha256) or _earlier(tx, report)
    if document_id is not None and documents.packet_of(tx, workspace_id, document_id) is None:
        document_id = None  # another workspace's: no word of it
    whole = None
    if document_id is not None:
        entries = audit.trail(tx, document_id)
        hashes = {entry.hash for entry in entries}
        whole = chain.check(document_id, entries) is None and report.chain_head in hashes
    known = document_id is not None if report.verdict == "authentic" else None
    return reports.with_records(report, known_to_us=known, audit_chain=whole, document_id=document_id)


def _earlier(tx: Tx, report: Report) -> str | None:
    """The document whose sealed file this was before it got another time-stamp."""
    named = report.document_id
    return named if named and report.sha256 in verify_sealed.sealed_hashes(audit.trail(tx, named)) else None


ROUTES: list[Any] = [verify_file, verify_code]
