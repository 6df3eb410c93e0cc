"""The next version of a template, whichever of its pages asks for it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from deedbox.kernel.db import Tx
from deedbox.signing.actions import change_template
from deedbox.signing.new_document import NewFile
from deedbox.signing.template import Template, TemplateChange
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import Sending


class Next(NamedTuple):
    """What is to be another than in the version before."""

    before: Template
    change: TemplateChange
    files: Sequence[NewFile] = ()
    """Take the place of all there were; fields that have no place in them fall off, and are named."""


async def newest(request: AnyRequest, template_id: str) -> Template:
    """The template in its newest version."""
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: change_template.find(tx, here.caller.workspace_id, template_id))


async def save(
    request: AnyRequest, sent: Sending, wanted: Next, around: Callable[[Tx], AbstractContextManager[None]]
) -> str:
    """Makes the version, and says where it is; `around` it in the transaction, something is done to what was drawn."""
    here, (before, change, files) = context.of(request), wanted
    services, preparation = here.deedbox.services, here.deedbox.paper_mill
    async with change_template.prepare(services, preparation, before, change, files, fitting=bool(files)) as make:

        def act(tx: Tx) -> str:
            with around(tx), here.action(tx) as ctx:
                make(ctx)
            return f"/app/templates/{before.id}?done=saved"

        return await sent.once(act)
