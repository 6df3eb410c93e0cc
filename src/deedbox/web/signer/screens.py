"""The screens beside the signing screen: the code before it, and what became of the document after it."""

from typing import Any

from litestar import Response

from deedbox.kernel.errors import DeedboxError
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.pages import page
from deedbox.web.signer import attachments, embedding
from deedbox.web.signer.inside import Inside, may_have_it
from deedbox.words import refusals


def asks_code(who: Inside, outcome: str | None) -> bool:
    """Whether the code comes first: before the document, and before its sealed file."""
    return who.needs is not None and (outcome is None or who.packet.status == "completed")


def code(request: AnyRequest, who: Inside, outcome: str | None, error: DeedboxError | None) -> Response[Any]:
    """Asks for the code that the sender wants."""
    return _screen("signer/code.html", request, who, error, outcome=outcome)


async def ended(
    request: AnyRequest, who: Inside, outcome: str, error: DeedboxError | None, *, over: bool
) -> Response[Any]:
    """What became of it; on a device that goes to someone else (`over`), nothing but that."""
    has_part = who.signer.status == "signed" or (who.signer.role == "cc" and who.packet.status == "completed")
    shown = who.is_shown and not over
    return _screen(
        "signer/done.html" if has_part else "signer/closed.html",
        request,
        who,
        error,
        outcome=outcome,
        shown=shown,
        files=await attachments.seen(request, who) if shown else [],
        names={one.id: one.name for _, one in who.packet.signers()},
        can_download=not over and who.packet.status == "completed" and may_have_it(who.signer) and not who.needs,
        only_reads=who.only_reads,
    )


def _screen(
    template: str, request: AnyRequest, who: Inside, error: DeedboxError | None, **values: Any
) -> Response[Any]:
    return page(
        template,
        **embedding.shown(request, who, values["outcome"]),
        status=error.status if error else 200,
        headers=error.headers if error else {},
        language=who.signer.language,
        packet=who.packet,
        signer=who.signer,
        error=refusals.said(error, who.signer.language) if error else "",
        **values,
    )
