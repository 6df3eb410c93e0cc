"""How a workspace looks on the pages of those who sign: its name, its logo, its colour."""

import re
from typing import Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath

from deedbox.accounts import logo, workspace_profile
from deedbox.kernel import accent as colours
from deedbox.kernel.accent import AccentShade
from deedbox.kernel.errors import NotFound
from deedbox.signing.initials import initials_of
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.auth import LOGO, STATIC, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.static import FOR_EVER, load_static_files

_SHEET = re.compile(r"([0-9a-f]{6})(\.preview)?\.css")
_LOGO = re.compile(r"([0-9a-f]{64})\.png")
_RULE = "{1}{{--accent:{0.accent};--on-accent:{0.on_accent};--soft:{0.soft}}}"
_ON_PAPER = "{1}{{--brand:{0.accent};--on-brand:{0.on_accent}}}"
"""The colour of marks on pages, which are white in the dark too."""


class PageBrand(msgspec.Struct, frozen=True):
    name: str
    initials: str
    logo: str | None
    """The path of the picture."""
    stylesheet: str | None
    """The path of the rules that put the colour in; none where it is Deedbox's own."""


async def of(request: AnyRequest, workspace_id: str) -> PageBrand:
    """The brand of the workspace whose document it is."""
    told = await context.of(request).deedbox.db.read(lambda tx: workspace_profile.profile(tx, workspace_id))
    return create_brand(told.name, told.logo, told.accent)


def create_brand(name: str, logo_path: str | None, accent: str | None, *, preview: bool = False) -> PageBrand:
    """The brand with this look; as a preview its colour stays inside of what has the class `preview`."""
    kind = ".preview.css" if preview else ".css"
    sheet = f"/brand/{load_static_files().digest}/{accent.removeprefix('#')}{kind}" if accent else None
    return PageBrand(name, initials(name), logo_path, sheet)


def initials(name: str) -> str:
    """The first letters of the first two words; where there is no logo, they stand in its place."""
    return initials_of(" ".join(name.split()[:2])).upper()


@get("/brand/{digest:str}/{name:str}", opt=requires(STATIC), include_in_schema=False)
async def brand_stylesheet(digest: FromPath[str], name: FromPath[str]) -> Response[str]:
    """The few rules that give a page its colour, which the address names: so they never change."""
    found = _SHEET.fullmatch(name)
    if digest != load_static_files().digest or found is None:
        raise NotFound("This stylesheet does not exist. Reload the page to get its current files.")
    headers = {"Cache-Control": FOR_EVER, "X-Content-Type-Options": "nosniff"}
    return Response(_rules(f"#{found[1]}", ".preview" if found[2] else ":root"), media_type="text/css", headers=headers)


@get("/brand/{name:str}", opt=requires(LOGO), include_in_schema=False)
async def brand_logo(request: AnyRequest, name: FromPath[str]) -> Response[bytes]:
    """The logo whose hash the address names: so it never changes."""
    found, deedbox = _LOGO.fullmatch(name), context.of(request).deedbox
    if found is None:
        raise NotFound("There is no such logo")
    blob = await deedbox.db.read(lambda tx: logo.shown(tx, found[1]))
    picture = await deedbox.blobs.read(blob.location, limits.LOGO_BYTES)
    headers = {"Cache-Control": FOR_EVER, "X-Content-Type-Options": "nosniff"}
    return Response(picture, media_type="image/png", headers=headers)


def _rules(colour: str, within: str) -> str:
    def rule(shade: AccentShade) -> str:
        return _RULE.format(shade, within)

    light = colours.light(colour)
    on_paper = _ON_PAPER.format(light, within)
    return f"{rule(light)}{on_paper}@media (prefers-color-scheme:dark){{{rule(colours.dark(colour))}}}\n"


ROUTES: list[Any] = [brand_stylesheet, brand_logo]
