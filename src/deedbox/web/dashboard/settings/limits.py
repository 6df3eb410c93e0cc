"""Every setting of the server with its value, and what it holds people and programs to."""

from typing import Any

from litestar import Response, get

from deedbox.accounts.tiers import TIERS
from deedbox.i18n.measures import size
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.settings.shown import shown
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest

SIZES = {
    "file": size(shared_limits.DOCUMENT_FILE_BYTES),
    "files": shared_limits.DOCUMENT_FILES,
    "pages": shared_limits.DOCUMENT_PAGES,
    "signers": shared_limits.DOCUMENT_SIGNERS,
    "fields": shared_limits.DOCUMENT_FIELDS,
    "packet": shared_limits.PACKET_DOCUMENTS,
    "rows": shared_limits.BULK_ROWS,
    "upload": size(shared_limits.UPLOAD_BYTES),
    "keys": shared_limits.KEYS_PER_WORKSPACE,
    "hooks": shared_limits.HOOKS_PER_WORKSPACE,
}
"""What a document, a file or a workspace may have at most."""


@get("/app/settings/limits", opt=person("workspace:write"), include_in_schema=False)
async def limits_page(request: AnyRequest) -> Response[Any]:
    settings = context.of(request).deedbox.settings
    rates = {
        "anonymous": settings.anonymous_per_minute,
        "person": shared_limits.PERSON_PER_MINUTE,
        "signer": limits.SIGNER_PER_MINUTE,
        "verify": limits.VERIFY_PER_MINUTE,
    }
    return app_page(
        request, "dashboard/settings/limits.html", tiers=TIERS, rates=rates, sizes=SIZES, groups=shown(settings)
    )


ROUTES = [limits_page]
