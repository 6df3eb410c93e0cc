"""A logo as it comes in a form, by a program or a page."""

from deedbox.accounts import logo
from deedbox.accounts.workspace_profile import WorkspaceProfile
from deedbox.web import limits
from deedbox.web.http import context, multipart, upload
from deedbox.web.http.context import AnyRequest


async def put(request: AnyRequest) -> WorkspaceProfile:
    """The workspace with the picture of the form as its logo, drawn anew in a sandbox."""
    here = context.of(request)
    blobs, now = here.deedbox.blobs, here.deedbox.clock.now()
    multipart.need_form(request)
    async with upload.one_file(request, blobs, lambda _: None, limits.LOGO_BYTES) as part:
        given = await blobs.read(part.received.blob.location, limits.LOGO_BYTES)
        picture = await here.deedbox.workshop.logo(given)
        async with blobs.receive(limits.LOGO_BYTES) as incoming:
            await incoming.write(picture)
            received = await incoming.finish()
            return await here.deedbox.db.write(lambda tx: logo.put(tx, here.caller, received, now=now))
