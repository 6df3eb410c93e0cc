"""How a workspace looks to those who get its documents, beside what a signer sees first."""

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from markupsafe import Markup

from deedbox import i18n
from deedbox.accounts import logo, workspace_profile
from deedbox.accounts.workspace_profile import WorkspaceChange, WorkspaceProfile
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import accent as colours
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.web import limits
from deedbox.web.http import brand, context, logo_upload, page_forms, write_back
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import beside, form_of, text
from deedbox.web.http.pages import go, render

PATH = "/app/settings/branding"
_COLOUR = re.compile("#[0-9a-f]{6}")


@get(PATH, opt=person("workspace:write"), include_in_schema=False)
async def show_brand(request: AnyRequest) -> Response[Any]:
    return _page(request, await _profile(request))


@post(PATH, opt=person("workspace:write"), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def save_brand(request: AnyRequest) -> Response[Any]:
    """Saves what was filled in; what is wrong is said beside its field."""
    here, form, now = context.of(request), await form_of(request), context.of(request).deedbox.clock.now()
    data = _wanted(_typed(form))

    def change(tx: Tx) -> None:
        shown = workspace_profile.profile(tx, here.caller.workspace_id)
        wanted = write_back.changes(data, shown, WorkspaceChange)
        if wanted is not None:
            workspace_profile.change(tx, here.caller, wanted, now=now)

    try:
        _check(data)
        await here.deedbox.db.write(change)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _page(request, await _profile(request), form=form, error=error)
    return go(f"{PATH}?done=saved")


@post(
    f"{PATH}/preview", opt=person("workspace:write"), include_in_schema=False, request_max_body_size=limits.FORM_BYTES
)
async def preview_brand(request: AnyRequest) -> Response[Any]:
    """The page as it would be with what is typed; nothing is saved. A script asks for its part `preview`."""
    return _page(request, await _profile(request), form=await form_of(request))


@post(f"{PATH}/logo", opt=person("workspace:write"), include_in_schema=False, request_max_body_size=None)
async def put_logo(request: AnyRequest) -> Response[Any]:
    try:
        with beside("file"):
            await logo_upload.put(request)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _page(request, await _profile(request), error=error)
    return go(f"{PATH}?done=logo")


@post(f"{PATH}/logo/remove", opt=person("workspace:write"), include_in_schema=False)
async def remove_logo(request: AnyRequest) -> Response[Any]:
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    if (await _profile(request)).logo is not None:  # a second press finds it gone already
        await here.deedbox.db.write(lambda tx: logo.remove(tx, here.caller, now=now))
    return go(f"{PATH}?done=removed")


def _check(data: dict[str, Any]) -> None:
    """What is wrong is said beside its field."""
    for name, value in data.items():
        with beside(name):
            told = page_forms.convert({name: value}, WorkspaceChange)
            workspace_profile.check_value(name, getattr(told, name))


async def _profile(request: AnyRequest) -> WorkspaceProfile:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: workspace_profile.profile(tx, here.caller.workspace_id))


def _page(
    request: AnyRequest,
    profile: WorkspaceProfile,
    *,
    form: FormMultiDict | None = None,
    error: ServiceError | None = None,
) -> Response[Any]:
    """The form with all that was typed, beside the opening card as it would be with it."""
    typed = _typed(form) if form else _kept(profile)
    accent = typed["accent"] if typed["own_accent"] and _COLOUR.fullmatch(typed["accent"]) else None
    look = brand.create_brand(typed["name"].strip() or profile.name, profile.logo, accent, preview=True)
    shown = colours.light(accent).accent if accent else None
    return app_page(
        request,
        "dashboard/settings/branding.html",
        error=error,
        typed=typed,
        logo=profile.logo,
        look=look,
        card=_opening_card(request, look, typed["sender_name"].strip() or look.name),
        darkened={"given": accent, "shown": shown} if shown != accent else None,
    )


def _opening_card(request: AnyRequest, look: brand.PageBrand, sender: str) -> Markup:
    """The signer's own page with these values: what it shows is what signers will see."""
    language, until = i18n.DEFAULT, context.of(request).deedbox.clock.now() + timedelta(days=14)
    title = WORDS["branding_sample_title"]
    values = {
        "brand": look,
        "language": language,
        "token": "",
        "packet": SimpleNamespace(name=title, sender=sender, message=None, lone=True),
        "signer": SimpleNamespace(name=WORDS["branding_sample_signer"], role="signer", auth="none"),
        "pages": 2,
        "to_fill": 1,
        "to_sign": 1,
        "sign_by": i18n.moment(language, until),
        "consent": i18n.table(language)["consent"],
        "outcome": None,
    }
    parts = (render("frame.html", "header", **values), render("signer/opening.html", "content", **values))
    return Markup("".join(parts))  # noqa: S704 (rendered and escaped by the very template that signers get)


def _kept(profile: WorkspaceProfile) -> dict[str, str]:
    return {
        "name": profile.name,
        "sender_name": profile.sender_name or "",
        "sender_email": profile.sender_email or "",
        "notices": "on" if profile.notices else "",
        "own_accent": "on" if profile.accent else "",
        "accent": profile.accent or colours.OWN,
        "embed_sites": "\n".join(profile.embed_sites),
    }


def _typed(form: FormMultiDict) -> dict[str, str]:
    names = ("name", "sender_name", "sender_email", "notices", "own_accent", "accent", "embed_sites")
    typed = {name: text(form, name) for name in names}
    return {**typed, "accent": typed["accent"].lower() or colours.OWN}


def _wanted(typed: dict[str, str]) -> dict[str, Any]:
    """What is typed as the API would be told."""
    return {
        "name": typed["name"].strip(),
        "sender_name": typed["sender_name"].strip() or None,
        "sender_email": typed["sender_email"].strip() or None,
        "notices": bool(typed["notices"]),
        "accent": typed["accent"] if typed["own_accent"] else None,
        "embed_sites": [line.strip() for line in typed["embed_sites"].splitlines() if line.strip()],
    }


ROUTES = [show_brand, save_brand, preview_brand, put_logo, remove_logo]
