"""Whether a file is what was sealed here."""

from typing import Any, Literal

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from deedbox.kernel.db import Tx
from deedbox.pdf.verify.report import Checks, Signature, Verdict, VerificationReport
from deedbox.signing.completion import verification_code, verify_sealed
from deedbox.signing.completion.verification_code import Vouched
from deedbox.web.http import context, multipart, once, upload
from deedbox.web.http.auth import PUBLIC, requires
from deedbox.web.http.context import AnyRequest


class Verification(msgspec.Struct, frozen=True):
    verdict: Verdict
    """What the file is, judged by the checks."""
    document_id: str | None
    """The document that was sealed; null if none of this workspace was."""
    part: Literal["document", "certificate"] | None
    """Whether the file is the sealed document itself or its certificate of completion."""
    sha256: str
    """The SHA-256 of the file that was sent."""
    checks: Checks
    """Each check that was made."""
    signatures: list[Signature]
    """The signatures in the file."""
    reasons: list[str]
    """Why the verdict is not `authentic` or `extended`."""
    added: list[str]
    """What came after the seal of an `extended` file."""


@post(
    "/api/v1/verify",
    opt={**requires("verify:read"), multipart.FORM: upload.ONE_FILE},
    summary="Verify a sealed PDF",
    tags=["verification"],
    status_code=200,
    request_max_body_size=None,
)
async def verify_file(request: AnyRequest) -> Response[Verification]:
    here = context.of(request)
    deedbox, workspace = here.deedbox, here.caller.workspace_id
    with once.claim(request):
        trusted = await deedbox.certificates.trusted(workspace)
        async with upload.one_file(request, deedbox.blobs, lambda _: None) as part:
            file, now = part.received.blob, deedbox.clock.now()
            judging = verify_sealed.report(deedbox.workshop, deedbox.blobs, file, trusted, now=now)
            report = await context.unless_gone(request, judging)
        content = file.sha256.encode()
        answer: Response[Any] = await once.claim_once(
            request, lambda tx: _judged(tx, workspace, report), status=200, content=content, repeatable=True
        )
        return answer


@get(
    "/api/v1/verify/{code:str}",
    opt=requires(PUBLIC),
    summary="What a verification code vouches for",
    tags=["verification"],
)
async def verify_code(request: AnyRequest, code: FromPath[str]) -> Vouched:
    return await context.of(request).deedbox.db.read(lambda tx: verification_code.by_code(tx, code))


def _judged(tx: Tx, workspace_id: str, report: VerificationReport) -> Verification:
    found = verify_sealed.with_records(tx, workspace_id, report)
    return Verification(
        found.verdict,
        found.document_id,
        found.part,
        found.sha256,
        found.checks,
        found.signatures,
        found.reasons,
        found.added,
    )


ROUTES: list[Any] = [verify_file, verify_code]
