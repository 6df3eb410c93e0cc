"""What a real server sends to a collector: its requests and jobs by their names, and nothing that opens anything."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import server
from tests.faults.signers import FILE
from tests.otlp import Collected, attributes, collecting

STRANGER = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
UNWANTED = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-00"
KEYS = "GET /api/v1/keys"


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[server.Server, Collected]]:
    env = {"DEEDBOX_TRACES_URL": "", "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
    with collecting() as collected:
        env["DEEDBOX_TRACES_URL"] = collected.url
        with server.running(tmp_path_factory.mktemp("traced") / "data", env=env) as one:
            yield one, collected


def of_request(collected: Collected, answer: httpx.Response) -> Span:
    """The span of the very request that got this answer."""
    wanted = answer.headers["x-request-id"]

    def found() -> list[Span]:
        return [span for span in collected.spans if attributes(span).get("deedbox.request_id") == wanted]

    collected.until(lambda _: bool(found()))
    return found()[0]


def test_a_request_is_told_by_its_route_and_its_steps_lie_in_it(traced: tuple[server.Server, Collected]) -> None:
    running, collected = traced
    with running.client() as client:
        made = client.post("/api/v1/documents", json={"title": "Deed of the well", "files": [FILE]})
        assert made.status_code == 201, made.text
        listed = client.get(f"/api/v1/documents/{made.json()['id']}?nothing=hidden-in-the-query")
    span = of_request(collected, listed)
    assert span.name == "GET /api/v1/documents/{document_id}"
    assert (attributes(span)["http.response.status_code"], span.kind) == (listed.status_code, span.SPAN_KIND_SERVER)
    creation = of_request(collected, made)
    inside = [each for each in collected.spans if each.trace_id == creation.trace_id and each.parent_span_id]
    assert {"database read", "database write", "sandbox"} <= {each.name for each in inside}
    functions = {attributes(each)["deedbox.function"] for each in inside if each.name == "sandbox"}
    assert all(str(name).startswith("deedbox.") for name in functions)


def test_jobs_and_deliveries_have_traces_of_their_own(traced: tuple[server.Server, Collected]) -> None:
    running, collected = traced
    with running.client() as client:
        target = collected.url.replace("/v1/traces", "/secret-in-the-path")
        hook = client.post("/api/v1/hooks", json={"target_url": target, "events": ["document.sent"]})
        assert client.post(f"/api/v1/hooks/{hook.json()['id']}/test").is_success
    collected.until(lambda one: bool(one.named("delivery") and one.named("job housekeeping")))
    (delivery, *_), (job, *_) = collected.named("delivery"), collected.named("job housekeeping")
    assert (delivery.parent_span_id, job.parent_span_id) == (b"", b"")
    assert attributes(job)["deedbox.attempt"] == 1
    posts = [each for each in collected.named("outgoing POST") if each.trace_id == delivery.trace_id]
    assert attributes(posts[0])["server.address"] == "127.0.0.1"


def test_nothing_that_opens_anything_is_told(traced: tuple[server.Server, Collected]) -> None:
    running, collected = traced
    token = str(running.login_link).rpartition("/")[2]
    with running.client() as client:
        last = [client.get(f"/login/{token}"), client.get("/nowhere/at-all-secret")]
    for answer in last:
        of_request(collected, answer)
    told = str(collected.requests)
    for secret in (
        str(running.api_key),
        token,
        "hidden-in-the-query",
        "secret",
        "Deed of the well",
        "deed.pdf",
    ):
        assert secret not in told, secret


def test_a_stranger_names_no_trace_and_hides_from_none(traced: tuple[server.Server, Collected]) -> None:
    running, collected = traced
    with running.client() as client:
        for sent in (STRANGER, UNWANTED):
            span = of_request(collected, client.get("/api/v1/keys", headers={"traceparent": sent}))
            assert (span.trace_id != b"\xab" * 16, span.parent_span_id) == (True, b"")


def test_a_trusted_proxy_names_the_trace_or_asks_for_none(tmp_path: Path) -> None:
    with collecting() as collected:
        env = {"DEEDBOX_TRACES_URL": collected.url, "DEEDBOX_TRUSTED_PROXIES": "127.0.0.1/32"}
        with server.running(tmp_path / "data", env=env) as running, running.client() as client:
            unwanted = client.get("/api/v1/keys", headers={"traceparent": UNWANTED})
            # Also a request that the proxy hands on for somebody else, whose address stands in the connection's place.
            headers = {"traceparent": STRANGER, "X-Forwarded-For": "203.0.113.9"}
            span = of_request(collected, client.get("/api/v1/keys", headers=headers))
            assert (span.trace_id, span.parent_span_id) == (b"\xab" * 16, b"\xcd" * 8)
            for wrong in (STRANGER.upper(), STRANGER[:-1], "00-" + "00" * 16 + STRANGER[35:]):
                span = of_request(collected, client.get("/api/v1/keys", headers={"traceparent": wrong}))
                assert (span.trace_id != b"\xab" * 16, span.parent_span_id) == (True, b"")
        known = {attributes(span).get("deedbox.request_id") for span in collected.spans}
        assert unwanted.headers["x-request-id"] not in known


def test_a_collector_that_is_away_breaks_no_request(tmp_path: Path) -> None:
    with collecting() as collected:
        dead = collected.url
    with server.running(tmp_path / "data", env={"DEEDBOX_TRACES_URL": dead}) as running, running.client() as client:
        while "traces cannot be sent" not in running.log.read_text():
            assert client.get("/api/v1/keys").status_code == 200
            time.sleep(0.05)  # so that the key's limit is not reached
    assert running.log.read_text().count("traces cannot be sent") == 1


def test_the_steps_of_a_query_lie_in_its_trace(tmp_path: Path, models_dir: Path) -> None:
    file = ("well.txt", b"The well in the garden belongs to the house.", "text/plain")
    with collecting() as collected:
        env = {"DEEDBOX_TRACES_URL": collected.url, "DEEDBOX_MODELS_DIR": str(models_dir)}
        with server.running(tmp_path / "data", env=env) as running, running.client() as client:
            assert client.post("/documents/upload", files={"file": file}).is_success
            assert client.post("/documents/index").is_success
            answer = client.post("/query", json={"query": "Who owns the well?"})
            while answer.status_code != 200:  # until it is indexed
                answer = client.post("/query", json={"query": "Who owns the well?"})
            request = of_request(collected, answer)
        inside = {span.name for span in collected.spans if span.trace_id == request.trace_id}
        assert {"embed the query", "search by words", "search by meaning", "highlights"} <= inside
        assert "well" not in str(collected.requests)


LOADED = """
import asyncio, sys
from pathlib import Path
from deedbox import wiring
from deedbox.kernel.settings import load
from deedbox.web.app import build
from deedbox.web.http.server import Server

async def main():
    settings = load({"DEEDBOX_DATA_DIR": sys.argv[1], **({"DEEDBOX_TRACES_URL": sys.argv[2]} if sys.argv[2:] else {})})
    async with wiring.open_installation(settings) as deedbox:
        await deedbox.start()
        Server(build(deedbox), settings, ready=lambda: None)
        await deedbox.stop()

asyncio.run(main())
print(*sorted(name for name in sys.modules if "trace" in name and name.startswith("deedbox.")))
"""


def loaded(*words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], env=server.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_nothing_is_loaded_for_traces_that_are_off(tmp_path: Path) -> None:
    server.prepare(tmp_path / "data")
    assert loaded(str(tmp_path / "data")) == ["deedbox.kernel.traces"]
    on = loaded(str(tmp_path / "data"), "http://127.0.0.1:9/v1/traces")
    assert {"deedbox.kernel.traces.export", "deedbox.web.http.traced"} <= set(on)
