"""`deedbox demo` as a visitor meets it: started, looked at, ended; and that nothing of it stays."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, Page

from tests.browser.screens import accepted
from tests.server import environment

INVITATIONS = {"ann@example.com", "ben@example.com", "eve@example.com"}


def start(folder: Path, **env: str) -> "subprocess.Popen[str]":
    """The command, in a group of its own, with a folder for temporary files that the test can look into."""
    (folder / "tmp").mkdir()
    extra = {"TMPDIR": str(folder / "tmp"), "DEEDBOX_MODELS_DIR": str(folder / "none"), **env}
    command = [sys.executable, "-m", "deedbox", "demo", "--json", "--no-browser"]
    return subprocess.Popen(
        command, env=environment(**extra), cwd=folder, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def end(process: "subprocess.Popen[str]", number: signal.Signals) -> tuple[int, str]:
    """Sends the signal as a terminal does, to the whole group; the exit code, and what was said on stderr."""
    os.killpg(process.pid, number)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def left_in(group: int) -> list[str]:
    """The processes of the group that are still alive."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, fields = entry.read_text().rpartition(")")
            name = entry.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has ended meanwhile
        state, _, its_group = fields.split()[:3]
        if int(its_group) == group and state != "Z":
            found.append(name)
    return found


def is_free(address: str) -> bool:
    where = urlsplit(address)
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", where.port or 80)) != 0


@contextmanager
def shown(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, str]]]:
    process = start(folder, DEEDBOX_SMTP_URL="smtp://nobody.invalid", DEEDBOX_PORT="1")
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield process, json.loads(line)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.mark.anyio
async def test_the_demo_shows_contracts_mails_deliveries_and_a_host_page_and_leaves_nothing_behind(
    tmp_path: Path, browser: Browser
) -> None:
    with shown(tmp_path) as (process, links), httpx.Client(trust_env=False, follow_redirects=True, timeout=30) as seen:
        _look_at_documents(seen, links)
        _look_at_inbox(seen, links)
        _look_at_desk(seen, links)
        _look_at_deliveries(seen, links)
        await _walk_through(browser, links)
        assert Path(links["folder"]).is_dir()
        assert (end(process, signal.SIGINT), left_in(process.pid)) == ((0, ""), [])
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    assert [links[name] for name in ("address", "start") if not is_free(links[name])] == []


def _look_at_documents(seen: httpx.Client, links: dict[str, str]) -> None:
    key = {"Authorization": f"Bearer {links['api_key']}"}
    found = seen.get(f"{links['address']}/api/v1/documents", headers=key).json()["documents"]
    states = {one["title"]: (one["language"], one["status"], one["progress"]["signers_signed"]) for one in found}
    assert states == {
        "Lease of a flat": ("en", "sent", 0),
        "Vertrag über Dienstleistungen": ("de", "sent", 1),
        "Agreement on confidentiality": ("en", "completed", 2),
    }
    templates = seen.get(f"{links['address']}/api/v1/templates", headers=key).json()["templates"]
    assert [one["name"] for one in templates] == ["Agreement on confidentiality"]
    assert "No embedding model is installed" in links["no_search"]


def _look_at_inbox(seen: httpx.Client, links: dict[str, str]) -> None:
    assert seen.get(links["inbox"]).url.path == "/login", "nobody reads mails who is not signed in"
    assert seen.post(links["login_link"]).status_code == 200
    inbox = seen.get(links["inbox"]).text
    assert {address for address in INVITATIONS if address in inbox} == INVITATIONS
    mails = re.findall(r'href="(/\w+/mail/[^"]+)"', inbox)
    opened = [seen.get(links["address"] + mail).text for mail in mails]
    invited = [found[0] for text in opened if (found := re.findall(r'href="(http[^"]+/s/[^"]+)"', text))]
    assert invited
    page = seen.get(invited[0], headers={"Accept": "text/html"})
    assert (page.status_code, "<form" in page.text) == (200, True)


def _look_at_desk(seen: httpx.Client, links: dict[str, str]) -> None:
    home = seen.get(links["start"])
    assert (home.status_code, links["login_link"] in home.text, "Search is off" in home.text) == (200, True, True)
    host = seen.get(links["host_page"])
    assert f'src="{links["address"]}/static/embed.js"' in host.text
    assert f"frame-src {links['address']}" in host.headers["content-security-policy"]
    for page in (home, host, seen.get(links["deliveries"])):
        policy = page.headers["content-security-policy"]
        assert all(part in policy for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"))
        files = re.findall(r'(?:src|href)="(/[^"]+\.(?:css|js))"', page.text)
        assert [seen.get(page.url.join(file)).status_code for file in files] == [200] * len(files)
        assert files
    site = links["start"].rsplit("/", 2)[0]
    assert seen.get(f"{site}/").status_code == 404, "only who knows the address sees anything"
    assert seen.get(links["start"], headers={"Host": "evil.example"}).status_code == 421
    link = f"{links['start']}link"
    assert seen.post(link, headers={"Origin": "https://evil.example"}).status_code == 403
    url = seen.post(link, headers={"Origin": site}).json()["url"]
    opening = seen.get(url, headers={"Accept": "text/html"})
    assert f"frame-ancestors {site}" in opening.headers["content-security-policy"]


def _look_at_deliveries(seen: httpx.Client, links: dict[str, str]) -> None:
    page = seen.get(links["deliveries"]).text
    kinds = set(re.findall(r"<b>([a-z]+\.[a-z]+)</b>", page))
    assert kinds >= {"document.sent", "document.signed", "document.completed"}
    assert (page.count("signature holds") >= 5, page.count("✗")) == (True, 0)
    forged = seen.post(links["deliveries"], content=b'{"type": "document.signed"}', headers={"X-Service-Event": "x"})
    assert forged.status_code == 401
    assert seen.get(links["deliveries"]).text.count("✗") == 1


async def _see_a_delivery_arrive(page: Page, links: dict[str, str]) -> None:
    """Without loading the page again."""
    await page.goto(links["deliveries"])
    rows = page.locator("[data-live] li")
    before = await rows.count()
    assert (await page.request.post(f"{links['start']}link")).status == 201
    await rows.nth(before).wait_for()


async def _walk_through(browser: Browser, links: dict[str, str]) -> None:
    """Every page of the demo's own site, as anyone may have to use it; and signing within it."""
    page = await (await browser.new_context(bypass_csp=True)).new_page()  # axe runs from a text
    for name in ("", "deliveries", "search", "host"):
        await page.goto(links["start"] + name)
        await accepted(page, f"demo-{name or 'home'}")
    await _see_a_delivery_arrive(page, links)
    await page.goto(links["host_page"])
    await page.get_by_role("button", name="Sign the agreement").click()
    frame = page.frame_locator("iframe")
    await frame.get_by_role("button", name="Open the document").wait_for()
    await accepted(page, "demo-host-frame")
    await frame.get_by_role("button", name="Open the document").click()
    await page.locator("#events li", has_text="opened").wait_for()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_demo_that_is_ended_while_it_starts_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path)
    while not (found := list((tmp_path / "tmp").glob("deedbox-demo-*"))):
        assert process.poll() is None, process.communicate()[1]
    assert found[0].stat().st_mode & 0o077 == 0, "others on the machine do not read it"
    _, said = end(process, number)
    assert "Traceback" not in said
    assert (list((tmp_path / "tmp").iterdir()), left_in(process.pid)) == ([], [])


_SIGNAL_AFTER_MKDIR = """
import os, signal, sys
from deedbox.cli import main
create = os.mkdir
def create_then_signal(path, *rest, **options):
    create(path, *rest, **options)
    if os.path.basename(path).startswith("deedbox-demo-"):
        os.kill(os.getpid(), signal.SIGTERM)
os.mkdir = create_then_signal
sys.argv = ["deedbox", "demo", "--json", "--no-browser"]
main()
"""


def test_a_signal_while_the_demo_creates_its_folder_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    extra = {"TMPDIR": str(tmp_path / "tmp"), "DEEDBOX_MODELS_DIR": str(tmp_path / "none")}
    command = [sys.executable, "-c", _SIGNAL_AFTER_MKDIR]
    done = subprocess.run(
        command, check=False, env=environment(**extra), cwd=tmp_path, text=True, capture_output=True, timeout=60
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert (done.returncode, list((tmp_path / "tmp").iterdir())) == (0, [])
