"""What seals are made with, until when, and what others need to trust them."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from litestar import Response, get

from deedbox.authority import ISSUING, ROOT, TIMESTAMP, CertificateSummary
from deedbox.kernel.clock import moment
from deedbox.kernel.settings.shown import shown
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest

SEAL = "seal"


class Shown(NamedTuple):
    """A place that a certificate is in use in."""

    use: str
    certificate: CertificateSummary | None
    standing: str
    """`good`, `near` or `over`."""


@get("/app/settings/certificates", opt=person("workspace:write"), include_in_schema=False)
async def certificates(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    settings, now = here.deedbox.settings, here.deedbox.clock.now()
    found = await here.deedbox.certificates.of_workspace(here.caller.workspace_id)
    in_use = {one.use.partition(":")[0]: one for one in found if one.status == "in use"}
    return app_page(
        request,
        "dashboard/settings/certificates.html",
        shown=[_shown(use, in_use.get(use), now) for use in (SEAL, TIMESTAMP, ISSUING, ROOT)],
        earlier=[(one.use.partition(":")[0], one) for one in reversed(found) if one.status != "in use"],
        tsa_url=settings.tsa_url,
        tsa_ca_file=settings.tsa_ca_file,
        tsa_public=settings.tsa_public,
        token=settings.pkcs11_token if settings.pkcs11_module else None,
        rows=shown(settings)["sealing"],
    )


def _shown(use: str, certificate: CertificateSummary | None, now: datetime) -> Shown:
    if certificate is None:
        return Shown(use, None, "good")
    left = moment(certificate.not_after) - now
    if left <= timedelta():
        return Shown(use, certificate, "over")
    return Shown(use, certificate, "near" if left <= timedelta(days=limits.CERTIFICATE_NEAR_DAYS) else "good")


ROUTES = [certificates]
