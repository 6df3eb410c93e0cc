"""The pages for people who hold a document and want to know what it is: by its code, or by the file itself."""

from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from deedbox import i18n
from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound, TooLarge
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.pdf.verify.report import GOOD, NOT_PDF, Checks, VerificationReport
from deedbox.signing.completion import verification_code, verify_sealed
from deedbox.signing.completion.verification_code import Vouched
from deedbox.web.http import context, upload
from deedbox.web.http.auth import CHECK, PUBLIC, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go, page
from deedbox.web.public import reasons

_KINDS = {"authentic": "good", "extended": "good", "altered": "bad"}
"""How a verdict looks; all others leave it open."""
_ORDER = ("intact", "covers_entire_file", "modifications_allowed", "trusted", "revocation", "timestamp")
_CHECKS = (*_ORDER, *(one.name for one in msgspec.structs.fields(Checks) if one.name not in _ORDER))
"""What the file shows by itself, then what the records say."""


class JudgedFile(msgspec.Struct, frozen=True):
    """What is told of a file."""

    report: VerificationReport
    vouched: Vouched | None
    """Of a file that was sealed here."""


@get("/verify", opt=requires(PUBLIC), include_in_schema=False)
async def verify_page(request: AnyRequest) -> Response[Any]:
    """Asks for the file, or for the code."""
    code = request.query_params.get("code", "").strip()
    if not code:
        return _page(request)
    return go(f"/verify/{quote(code, safe='')}{_chosen(request)}")


@get("/verify/{code:str}", opt=requires(PUBLIC), include_in_schema=False)
async def code_page(request: AnyRequest, code: FromPath[str]) -> Response[Any]:
    """What the code stands for."""
    try:
        found = await context.of(request).deedbox.db.read(lambda tx: verification_code.by_code(tx, code))
    except NotFound:
        return _page(request, status=404, code=code, wrong="unknown")
    return _page(request, "public/code.html", code=found.code, found=found)


@post("/verify", opt=requires(CHECK), include_in_schema=False, request_max_body_size=None)
async def check_file(request: AnyRequest) -> Response[Any]:
    """What the file is, by the same checks as in the API and the command; nothing of it is kept."""
    try:
        judged = await _judged(request)
    except TooLarge as error:
        return _page(request, status=error.status, wrong="too_large")
    except SandboxFailed as error:
        return _page(request, status=error.status, wrong="not_pdf")
    except BadRequest as error:
        return _page(request, status=error.status, wrong="no_file")
    return _page(request, "public/verdict.html", **_told(request, judged))


async def _judged(request: AnyRequest) -> JudgedFile:
    deedbox = context.of(request).deedbox
    trusted = await deedbox.certificates.trusted(None)
    async with upload.one_file(request, deedbox.blobs, lambda _: None) as part:
        file, now = part.received.blob, deedbox.clock.now()
        judging = verify_sealed.report(deedbox.workshop, deedbox.blobs, file, trusted, now=now)
        report = await context.unless_gone(request, judging)

    def look_up(tx: Tx) -> JudgedFile:
        found = verify_sealed.with_records(tx, None, report)
        known = found.document_id if found.verdict in GOOD else None
        return JudgedFile(found, verification_code.of_document(tx, known) if known else None)

    return await deedbox.db.read(look_up)


def _told(request: AnyRequest, judged: JudgedFile) -> dict[str, Any]:
    """The verdict in one sentence, and each check that was made."""
    report, language = judged.report, _language(request)
    signed = [one.timestamp_time or one.signing_time for one in report.signatures]
    at = judged.vouched.completed_at if judged.vouched else next((one for one in signed if one), None)
    good = report.verdict in GOOD
    name: str = "certificate" if good and report.part == "certificate" else report.verdict
    name = "not_pdf" if NOT_PDF in report.reasons else name
    say = i18n.of_use(language, "verify")
    return {
        "report": report,
        "word": say["word.not_pdf" if name == "not_pdf" else f"word.{report.verdict}"],
        "found": judged.vouched,
        "kind": _KINDS.get(report.verdict, "todo"),
        "sentence": say[f"verdict.{name}"].format(date=i18n.date(language, moment(at)) if at else "–"),
        "reasons": [reasons.translate(one, language) for one in (*report.reasons, *report.added)],
        "checks": [(name, getattr(report.checks, name)) for name in _CHECKS],
    }


def _page(
    request: AnyRequest, template: str = "public/verify.html", *, status: int = 200, **values: Any
) -> Response[Any]:
    language = _language(request)
    say = i18n.of_use(language, "verify")
    known = {"code": "", "wrong": "", "say": say, "most": limits.UPLOAD_BYTES, "mb": limits.UPLOAD_BYTES // limits.MB}
    known |= {"languages": i18n.NAMES, "chosen": _chosen(request)}
    return page(template, status=status, language=language, **{**known, **values})


def _language(request: AnyRequest) -> str:
    """The one that the address names, else what the browser prefers; nothing else remembers it."""
    asked = request.query_params.get("lang", "")
    return asked if asked in i18n.LANGUAGES else i18n.choose_language(request.headers.get("accept-language", ""))


def _chosen(request: AnyRequest) -> str:
    """What addresses go on with, so that the next page speaks the language that was chosen for this one."""
    asked = request.query_params.get("lang", "")
    return f"?lang={asked}" if asked in i18n.LANGUAGES else ""


ROUTES = [verify_page, code_page, check_file]
