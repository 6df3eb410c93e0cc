"""What `deploy/nginx.conf` and `deploy/Caddyfile` promise: the programs themselves, with a real server behind them."""

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from tests import server
from tests.api.answers import faults
from tests.deploy.proxies import DEPLOY, SECONDS, ProxyName, Site, authority, free_ports, program, proxy
from tests.search.embed import loopback

TEXT = b"Either party may terminate with three months' notice. "


def text(size: int) -> bytes:
    return (TEXT * (size // len(TEXT) + 1))[:size]


class Gate:
    """An embedding endpoint that answers once it is opened: until then an index run goes on."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def answer(self, request: loopback.Request) -> loopback.Response:
        self.opened.wait(SECONDS)
        rows = [{"index": index, "embedding": [1.0, 0.0]} for index, _ in enumerate(json.loads(request.body)["input"])]
        return loopback.Response(200, json.dumps({"data": rows}).encode(), {"content-type": "application/json"})


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate()


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def site(request: pytest.FixtureRequest, gate: Gate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    name: ProxyName = request.param
    program(name)
    folder, ports = tmp_path_factory.mktemp(name), free_ports()
    certificate = authority(folder)
    gate.opened.clear()
    with loopback.serving(gate.answer) as endpoint, proxy(name, folder, ports, certificate):
        env = {
            "DEEDBOX_BASE_URL": f"https://localhost:{ports.https}",
            "DEEDBOX_TRUSTED_PROXIES": "127.0.0.1/32",
            "DEEDBOX_EMBEDDING_URL": f"{endpoint}/v1",
            "DEEDBOX_EMBEDDING_MODEL": "gate",
            "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8",
        }
        started = server.start(folder / "data", env=env, port=ports.server)
        try:
            yield Site(ports, certificate, str(started.api_key), str(started.login_link), started.log)
        finally:
            gate.opened.set()
            started.stop()
            assert started.process.stdout is not None
            started.process.stdout.close()
    assert '"level":"error"' not in started.log.read_text()


def remaining(client: httpx.Client, **headers: str) -> int:
    """How many requests this address has left, after one without a key."""
    answer = client.get("/api/v1/me", headers=headers)
    assert answer.status_code == 401
    return int(answer.headers["X-RateLimit-Remaining"])


def test_http_leads_to_https(site: Site) -> None:
    answer = httpx.get(f"http://localhost:{site.ports.http}/verify?a=b", trust_env=False)
    assert answer.status_code in (301, 308)
    assert answer.headers["Location"] == "https://localhost/verify?a=b"
    with site.client() as client:
        followed = client.get("/verify?a=b")
    assert followed.status_code == 200
    assert followed.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_people_sign_in_with_a_cookie_that_only_tls_and_this_host_have(site: Site) -> None:
    """And the page that shows them their sessions names the address they come from, not the one they claim."""
    assert site.login_link.startswith(f"{site.address}/login/")
    claim = {"X-Forwarded-For": "198.51.100.7", "Forwarded": "for=198.51.100.7", "X-Real-IP": "198.51.100.7"}
    with site.client("127.0.0.5", headers=claim) as client:
        assert client.get(site.login_link).status_code == 200
        form = {"Origin": site.address}  # an old browser's, which does not say same-origin
        entered = client.post(site.login_link, headers=form)
        assert (entered.status_code, entered.headers["Location"]) == (303, "/app")
        words = [word.strip().lower() for word in entered.headers["Set-Cookie"].split(";")]
        assert words[0].startswith("__host-deedbox=")
        assert {"secure", "httponly", "path=/"} <= set(words)
        owner = {"name": "Owner", "email": "owner@example.com", "password": "correct horse battery"}
        assert client.post("/account", data=owner, headers={"Origin": "https://elsewhere.example"}).status_code == 403
        assert client.post("/account", data=owner, headers=form).headers["Location"] == "/app/welcome"
        page = client.get("/account")
        assert page.status_code == 200
    assert "127.0.0.5" in page.text
    assert "198.51.100.7" not in page.text


def test_requests_are_counted_for_the_address_they_come_from_whatever_they_claim(site: Site) -> None:
    most = limits.ANONYMOUS_PER_MINUTE
    with site.client("127.0.0.6") as one, site.client("127.0.0.7") as other:
        assert remaining(one) == most - 1
        assert remaining(one, **{"X-Forwarded-For": "198.51.100.7"}) == most - 2
        assert remaining(one, **{"X-Forwarded-For": "198.51.100.7, 127.0.0.1"}) == most - 3
        assert remaining(other) == most - 1


def test_a_caller_on_the_proxys_own_address_cannot_take_another(site: Site) -> None:
    """Deedbox passes over trusted addresses in the list, so a proxy that added to it would let this one lie."""
    with site.client("127.0.0.1") as here:
        first = remaining(here)
        assert remaining(here, **{"X-Forwarded-For": "198.51.100.8"}) == first - 1


def test_fifty_megabytes_pass_and_come_back(site: Site) -> None:
    data = text(limits.UPLOAD_BYTES)
    with site.keyed() as client:
        answer = client.post("/documents/upload", files={"file": ("large.txt", data)})
        assert (answer.status_code, answer.json().get("size_bytes")) == (200, limits.UPLOAD_BYTES), answer.text
        doc_id = answer.json()["doc_id"]
        assert client.get(f"/documents/{doc_id}/content").content == data
        assert client.delete(f"/documents/{doc_id}").status_code == 204


def test_a_file_over_the_limit_is_refused_by_deedbox_and_not_by_the_proxy(site: Site) -> None:
    data = text(limits.UPLOAD_BYTES + limits.MB)
    with site.keyed() as client:
        answer = client.post("/documents/upload", files={"file": ("larger.txt", data)})
        assert faults("/documents/upload", answer, 400) == []
        assert answer.headers["X-Service-Error-Code"] == "too_large"
        assert client.get("/health").status_code == 200


REFUSED = {"too large": 400, "without a key": 401}


@pytest.mark.parametrize("version", ["1.1", "2"])
@pytest.mark.parametrize("why", REFUSED)
def test_whoever_still_sends_gets_to_read_the_refusal(site: Site, tmp_path: Path, why: str, version: str) -> None:
    large = tmp_path / "larger.txt"
    large.write_bytes(text(limits.UPLOAD_BYTES + limits.MB))
    command = [program("curl"), f"--http{version}", "--silent", "--show-error", "--cacert", str(site.certificate.root)]
    command += ["--noproxy", "*", "--form", f"file=@{large}", "--write-out", "\n%{http_version} %{http_code}"]
    command += ["--header", f"Authorization: Bearer {site.api_key if why == 'too large' else 'none'}"]
    command += [f"{site.address}/documents/upload"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    body, _, told = done.stdout.rpartition("\n")
    assert told == f"{version} {REFUSED[why]}"
    assert ("50MB" if why == "too large" else "API key") in json.loads(body)["error"]


def test_events_arrive_while_the_run_goes_on(site: Site, gate: Gate) -> None:
    with site.keyed() as client:
        uploaded = client.post("/documents/upload", files={"file": ("lease.txt", TEXT)})
        assert uploaded.status_code == 200
        begun = client.post("/documents/index", headers={"Prefer": "respond-async"})
        assert begun.status_code == 202
        with client.stream("GET", f"{begun.headers['Location']}/events") as events:
            lines = events.iter_lines()
            assert next(line for line in lines if line.startswith("event:")) == "event: progress"
            # It cannot have ended: its model has not answered.
            assert not gate.opened.is_set()
            gate.opened.set()
            assert [line for line in lines if line.startswith("event:")][-1] == "event: end"


def test_metrics_stay_on_the_machine(site: Site) -> None:
    with site.client() as client:
        assert client.get("/metrics").status_code == 404
        assert client.get("/readyz").status_code == 200
    own = httpx.get(f"http://127.0.0.1:{site.ports.server}/metrics", trust_env=False)
    assert "deedbox_requests_total" in own.text


def test_many_cookies_pass(site: Site) -> None:
    """One for each document that someone has open: more than fits into 8 KB, within what Deedbox takes."""
    cookies = "; ".join(f"__Host-deedbox_signer_sgn_{number:026}={'x' * 60}" for number in range(200))
    assert 16 * limits.KB < len(cookies) < web_limits.HEAD_BYTES
    with site.client() as client:
        assert client.get("/verify", headers={"Cookie": cookies}).status_code == 200


def test_a_connection_that_was_kept_is_given_up_by_the_proxy_first() -> None:
    """Else a request may be sent into a connection that the server is about to close."""
    nginx = re.search(r"keepalive_timeout (\d+)s", (DEPLOY / "nginx.conf").read_text())
    caddy = re.search(r"keepalive (\d+)s", (DEPLOY / "Caddyfile").read_text())
    assert nginx
    assert caddy
    assert max(int(nginx[1]), int(caddy[1])) < web_limits.KEEP_ALIVE_SECONDS


def test_the_proxy_waits_as_long_as_an_index_run_may_take() -> None:
    waits = re.search(r"proxy_read_timeout (\d+)s", (DEPLOY / "nginx.conf").read_text())
    assert waits
    assert int(waits[1]) > web_limits.INDEX_SECONDS + web_limits.REQUEST_SECONDS
