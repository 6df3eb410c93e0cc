"""What the pages of settings share: a form acts once, and what is shown once is shown in the answer to it."""

from collections.abc import Callable
from typing import Any, TypeVar

from litestar import Response

from deedbox.kernel.db import Tx
from deedbox.web.http import page_forms
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import form_of
from deedbox.web.http.pages import go

T = TypeVar("T")


async def run_action(request: AnyRequest, act: Callable[[Tx], str]) -> Response[Any]:
    """Does what a form without fields asks for, once however often it is sent, and leads to where the act says."""
    with page_forms.send_once(request, await form_of(request)) as sent:
        return go(await sent.before() or await sent.once(act))


async def made_once(
    sent: page_forms.Sending, make: Callable[[Tx], T], after: Callable[[T], str]
) -> tuple[list[T], str]:
    """What was made, and where to go on from it; nothing where the same form has made it before.

    A secret stands in the answer to the form itself: after a redirect it would have to wait somewhere, and a page with
    an address shows it to whoever comes back. A form that is sent again finds only the way on."""
    made: list[T] = []

    def act(tx: Tx) -> str:
        made[:] = [make(tx)]  # the transaction may be tried again: the last one counts
        return after(made[0])

    path = await sent.once(act)
    return made, path
