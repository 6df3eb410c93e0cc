"""R19: the pages are tight."""

from pathlib import Path
from typing import Any

import pytest
from litestar import Response, get, post

from deedbox.accounts import store
from deedbox.web.http import context, guard, pages
from deedbox.web.http.auth import PERSON, PUBLIC, requires
from deedbox.web.http.context import AnyRequest
from tests.faults import FULL
from tests.faults.pages import FOREIGN, HIDDEN, scenario

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("database", ["sqlite", "postgres"] if FULL else ["sqlite"])
async def test_every_page_is_tight_and_no_other_site_can_write(
    request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> None:
    path = request.getfixturevalue("postgres_url" if database == "postgres" else "sqlite_path")
    async with scenario(path if database == "postgres" else f"sqlite:{path}", tmp_path) as made:
        report = await made.run()
    print(f"R19 pages on {database}: {report}")
    assert report.faults == []
    assert report.figures["pages"] > 30
    assert report.figures["writes refused"] >= 10 * len(FOREIGN)
    assert report.figures["cookies"] >= 3


async def test_a_route_without_a_door_does_not_start(sqlite_path: Path, tmp_path: Path) -> None:
    @get("/planted", include_in_schema=False)
    async def outside() -> None: ...

    async with scenario(f"sqlite:{sqlite_path}", tmp_path) as made:
        with pytest.raises(TypeError, match="declares no door"):
            made.api.plant(outside)


async def test_the_rig_catches_what_is_planted(sqlite_path: Path, tmp_path: Path) -> None:
    @get("/planted/styled", opt=requires(PUBLIC), include_in_schema=False)
    async def styled() -> Response[str]:
        return Response('<p style="color: red">Hello</p>', headers=pages.HEADERS, media_type="text/html")

    @get("/planted/loose", opt=requires(PUBLIC), include_in_schema=False)
    async def loose() -> Response[str]:
        return Response("<p onclick='x()'>Hello<script>x()</script></p>", media_type="text/html")

    @get("/planted/changes", opt=requires(PERSON), include_in_schema=False)
    async def changes(request: AnyRequest) -> Response[Any]:
        here = context.of(request)
        await here.deedbox.db.write(lambda tx: store.forget_password(tx, here.person.person_id))
        await here.deedbox.db.write(lambda tx: store.add_workspace(tx, "wsp_planted", "Planted", "2026"))
        return pages.go("/account")

    @get("/planted/heavy", opt=requires(PUBLIC), include_in_schema=False)
    async def heavy() -> Response[str]:
        return Response("x" * 151_000, headers=pages.HEADERS, media_type="text/html")

    @post("/planted/open", opt=requires(PUBLIC), include_in_schema=False)
    async def unguarded() -> None: ...

    async with scenario(f"sqlite:{sqlite_path}", tmp_path) as made:
        made.api.plant(styled, loose, changes, heavy, unguarded)
        report = await made.run()
    told = "\n".join(report.faults)
    assert "inline: /planted/styled has an inline style" in told
    assert "inline: /planted/loose has an inline script" in told
    assert "inline: /planted/loose has a handler in an attribute" in told
    assert "policy: /planted/loose has none" in told
    assert "weight: /planted/heavy has 151 KB" in told
    assert "changed: workspaces by GET as person" in told
    assert "door: /planted/open takes writes of other sites" in told
    assert report.amiss("cross-site") == len((*FOREIGN, HIDDEN))


async def test_the_rig_catches_a_guard_that_lets_other_sites_write(
    sqlite_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "refuse_other_sites", lambda _: None)
    async with scenario(f"sqlite:{sqlite_path}", tmp_path) as made:
        report = await made.run()
    assert report.amiss("cross-site") > 10
    assert report.amiss("changed")
