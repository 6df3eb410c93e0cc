"""Packages sent to an archive that speaks HTTP: one PUT for each, with the key as bearer credential."""

import base64
from typing import Any

from deedbox.archive import limits
from deedbox.archive.spool import SpooledFile, pieces
from deedbox.archive.targets import NameTaken, PutResult, Write
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import Egress, EgressFailed, EgressResponse, Request
from deedbox.kernel.errors import NotFound, Unavailable
from deedbox.kernel.settings import ECOSYSTEM_KEY

_EXISTS = (409, 412)


class HttpsTarget:
    def __init__(self, url: str, key: Secret, egress: Egress) -> None:
        self._url, self._key = url, key
        # A package takes long: nothing else that goes out is to wait for one, nor a push for those who read.
        self._out, self._back = (egress.apart(limits.ARCHIVE_CONNECTIONS) for _ in range(2))

    def location(self, name: str) -> str:
        return f"{self._url}/{name}"

    async def put(self, name: str, content: SpooledFile, media_type: str) -> PutResult:
        digest = f"sha-256=:{base64.b64encode(bytes.fromhex(content.sha256)).decode()}:"
        answer = await self._asked(
            self._out,
            "PUT",
            name,
            headers={
                **self._credential(),
                "Content-Type": media_type,
                "Content-Length": str(content.size_bytes),
                "Content-Digest": digest,
                "Repr-Digest": digest,
                "If-None-Match": "*",
            },
            body=pieces(content.file, 0, content.size_bytes),
            limit=limits.ARCHIVE_ANSWER_BYTES,
        )
        if answer.status in _EXISTS:
            raise NameTaken(f"The archive has something under {name} already (status {answer.status})")
        if answer.status // 100 != 2:
            raise _failed(answer)
        return self._kept(answer)

    async def confirm(self, name: str, content: SpooledFile) -> PutResult:  # noqa: ARG002 (what it keeps, and how, is its affair)
        return PutResult()

    async def fetch(self, name: str, write: Write, version: str | None = None) -> None:  # noqa: ARG002 (a URL has one)
        answer = await self._asked(
            self._back, "GET", name, headers=self._credential(), limit=limits.ARCHIVE_PACKAGE_BYTES, into=write
        )
        if answer.status in (404, 410):
            raise NotFound(f"There is no {name} in the archive")
        if answer.status != 200 or answer.truncated:
            raise _failed(answer)

    async def close(self) -> None:
        await self._out.close()
        await self._back.close()

    async def _asked(self, egress: Egress, method: str, name: str, **more: Any) -> EgressResponse:
        try:
            return await egress.send(
                Request(
                    method,
                    self.location(name),
                    seconds=shared_limits.ARCHIVE_SECONDS,
                    stall=shared_limits.ARCHIVE_STALL_SECONDS,
                    **more,
                )
            )
        except EgressFailed as error:  # whoever asked may ask again
            raise Unavailable(error.message) from error

    def _credential(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key.reveal()}"}

    def _kept(self, answer: EgressResponse) -> PutResult:
        # An archive may answer with what it was sent: the key is not to be stored with it.
        secret = self._key.reveal()
        text = answer.body.decode("utf-8", "replace").replace("\0", "").replace(secret, "…").strip()
        return PutResult(
            version=_plain(answer.headers.get("x-amz-version-id") or answer.headers.get("x-version-id"), secret),
            etag=_plain(answer.headers.get("etag"), secret),
            answer=text[: limits.ARCHIVE_ANSWER_CHARS] or None,
        )


def _failed(answer: EgressResponse) -> Unavailable:
    why = f": it refuses {ECOSYSTEM_KEY}" if answer.status in (401, 403) else ""
    return Unavailable(f"The archive answered with status {answer.status}{why}")


def _plain(value: str | None, secret: str) -> str | None:
    if not value:
        return None
    return value.replace(secret, "…").strip('"')[: limits.ARCHIVE_NAME_CHARS]
