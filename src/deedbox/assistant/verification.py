"""The tool that verifies: a file, or what a verification code vouches for."""

import base64
import hashlib
from typing import Annotated

import msgspec

from deedbox.assistant import limits
from deedbox.assistant.api import Api, ApiRefusal, answer, get, post_file
from deedbox.assistant.tool import Tool, ToolOutcome, describe
from deedbox.kernel import limits as shared_limits

_BASE64_CHARS = (limits.TOOL_FILE_BYTES + 2) // 3 * 4


class Verify(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file_base64: Annotated[str, describe("The bytes of a PDF, in base64.", max_length=_BASE64_CHARS)] | None = None
    code: (
        Annotated[str, describe("Or the code on its certificate.", pattern="^[A-Za-z0-9-]+$", max_length=32)] | None
    ) = None


class VerificationAnswer(msgspec.Struct, frozen=True):
    """What is known of the file, or of the document that has the code."""

    verdict: Annotated[str | None, describe("Of a file: `authentic` is the very file that was sealed.")] = None
    reasons: Annotated[list[str], describe("Why the verdict is not `authentic` or `extended`.")] = []
    document_id: str | None = None
    sha256: Annotated[str | None, describe("Of the file; with a code, of the sealed file.")] = None
    title: Annotated[str | None, describe("With a code: what the document is called.")] = None
    status: Annotated[str | None, describe("With a code: where the document stands.")] = None
    completed_at: str | None = None
    signers: list["VouchedSignerSummary"] = []


class VouchedSignerSummary(msgspec.Struct, frozen=True):
    name: str
    party: str
    status: str
    signed_at: str | None


async def verify(api: Api, wanted: Verify) -> ToolOutcome:
    if (wanted.file_base64 is None) == (wanted.code is None):
        raise ApiRefusal("Give either file_base64 or code.")
    if wanted.code is not None:
        found = await answer(api, get(f"/api/v1/verify/{wanted.code}"), VerificationAnswer)
        said = f"The code is that of a document that is {found.status}; its sealed file has the SHA-256 {found.sha256}."
        people = [f"{one.name} ({one.party}): {one.status}" for one in found.signers]
        return ToolOutcome(found, said, ["\n".join([found.title or "", *people])])
    content = _bytes(wanted.file_base64 or "")
    # No file holds its own hash.
    boundary = hashlib.sha256(content).hexdigest()
    found = await answer(api, post_file("/api/v1/verify", "file.pdf", content, boundary), VerificationAnswer)
    return ToolOutcome(found, f"The file is {found.verdict}.", ["\n".join(found.reasons)] if found.reasons else [])


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ApiRefusal("file_base64: it is not base64") from error


TOOLS = [
    Tool(
        "verify",
        "Verify a file",
        "Says whether a PDF is the very file that was sealed here, or what the verification code on a certificate"
        f" stands for. A file has at most {limits.TOOL_FILE_BYTES // shared_limits.MB} MB.",
        "verify:read",
        Verify,
        VerificationAnswer,
        verify,
    )
]
