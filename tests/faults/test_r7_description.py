"""R7: the API is what its OpenAPI document says. schemathesis, with every check on, against a running server."""

import copy
import json
import re
import string
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis.checks import CHECKS
from schemathesis.engine import events, from_schema
from schemathesis.generation.meta import TestPhase

from deedbox.web.http.description import examples
from tests import server
from tests.faults import FULL

EXAMPLES = 120 if FULL else 5
"""Fuzzed cases for each operation, beside those that cover every bound and those that follow links."""
CASES = 2_000 if FULL else 200
"""At least so many for each part of the description."""
SCENARIOS = 150 if FULL else 6
"""How often links are followed, several steps far, from the operations of a family."""
GENEROUS = {
    "DEEDBOX_ANONYMOUS_PER_MINUTE": "100000",
    "DEEDBOX_ACCESS_LOG": "false",
    "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8",
}
READY: dict[str, Any] = {
    "/api/v1/packets": examples.REQUESTS["create_packet"],
    "/api/v1/templates": examples.REQUESTS["create_template"],
}
"""What makes a record in any case, by the path to which it is sent; that of a bulk send comes with its template."""
OWN: set[str] = set()
"""The id of the fault test's own key."""
NOBODY = "http://127.0.0.1:9/"
"""Where no webhook's receiver listens."""
SEED = 2026
SEEDS = 80
"""How many more times links are followed until one has been; in full size, until each has been."""
LEAP_YEAR = "2996"
WHOLE = examples.REQUESTS["create_document"]


@schemathesis.serializer("application/timestamp-query")
def _timestamp_query(_: Any, value: Any) -> Any:
    return getattr(value, "data", value)


LENIENT = [
    *(
        {"include-path": path, "checks": {"use_after_free": {"enabled": False}}}
        for path in ("/jobs/{job_id}", "/jobs/{job_id}/events", "/api/v1/keys/{key_id}")
    ),
    *(
        {"include-name": name, "checks": {"positive_data_acceptance": {"enabled": False}}}
        for name in (
            "POST /api/v1/documents",
            "PATCH /api/v1/documents/{document_id}",
            "PATCH /api/v1/documents/{document_id}/signers/{signer_id}",
            "POST /api/v1/packets",
            "PATCH /api/v1/packets/{packet_id}",
            "PATCH /api/v1/packets/{packet_id}/signers/{signer_id}",
            "POST /api/v1/packets/{packet_id}/send",
            "POST /api/v1/templates",
            "PATCH /api/v1/templates/{template_id}",
            "POST /api/v1/bulk-sends",
            "POST /api/v1/members",
            "PATCH /api/v1/workspace",
            "POST /api/v1/hooks/{hook_id}/recover",
            "GET /api/v1/events",
            "PUT /api/v1/workspace/logo",
            "POST /documents/upload",
            "POST /query",
            "POST /answer",
            "PATCH /documents/{doc_id}",
        )
    ),
]
"""What is ended, a run or a key, can still be looked at. Whether a document, a packet, a template or a logo can be made
depends on its file, and on names that agree; whether a member can, on an address that is one; what a change writes back
must be what stands there; the metadata of an upload is JSON in a form's text; a filter compares values of the field's
kind; a time must lie near, and two query parameters of a feed exclude each other: no schema can say so."""


class Running(NamedTuple):
    address: str
    key: str


class Outcome(NamedTuple):
    cases: int
    checks: set[str]
    faults: list[str]
    links: set[str]
    """The operations whose answers' links led on, with the id that they gave."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("schemathesis") / "data"
    with server.running(data, env={**GENEROUS, "DEEDBOX_MODELS_DIR": str(models_dir)}) as started:
        words = ["keys", "create", "--json", "--name", "fault test", "--scope", "*", "--tier", "enterprise"]
        made = server.run(*words, "--per-minute", "100000", "--per-day", "10000000", data=data)
        key = json.loads(made.stdout)["key"]
        _index_something(started, key)
        with started.client(key) as http:
            OWN.add(http.get("/api/v1/me").json()["key"]["id"])
            _ready_a_template(http)
            assert http.post("/api/v1/documents", json=WHOLE).is_success, "its invitation is a mail to look at"
            yield Running(started.address, key)
            assert http.get("/api/v1/me").is_success, "with its key revoked, the fault test would see nothing but 401"
        lines = [json.loads(line) for line in started.log.read_text().splitlines()]
    assert [line for line in lines if line["level"] == "error"] == []


def _index_something(started: server.Server, key: str) -> None:
    """Without it, each question would be refused, and rightly."""
    with started.client(key) as http:
        assert http.post("/documents/upload", files={"file": ("a.txt", b"The tenant pays the rent.")}).is_success
        assert http.post("/documents/index").json()["status"] == "success"


def _ready_a_template(http: httpx.Client) -> None:
    """Bulk sends need one that no test has deleted yet."""
    template = http.post("/api/v1/templates", json=examples.REQUESTS["create_template"]).json()
    rows = [{"roles": {"Tenant": {"name": "Ann", "email": "ann@example.com"}}}]
    READY["/api/v1/bulk-sends"] = {"name": "Leases", "template_id": template["id"], "rows": rows}


def description(running: Running) -> dict[str, Any]:
    document: dict[str, Any] = httpx.get(f"{running.address}/openapi.json", trust_env=False, timeout=60).json()
    return document


def run(
    document: dict[str, Any],
    running: Running,
    tries: int,
    *,
    operations: str = "/",
    phases: dict[str, Any] | None = None,
    seed: int = SEED,
) -> Outcome:
    """What schemathesis finds in these phases, or in all, with all its checks, on the paths that begin so."""
    config = schemathesis.Config.from_dict(
        {
            "base-url": running.address,
            "headers": {"Authorization": f"Bearer {running.key}"},
            "checks": {"enabled": True},
            "generation": {"max-examples": tries, "mode": "all", "database": "none"},
            "continue-on-failure": True,
            **({"operations": LENIENT} if operations == "/" else {}),
            "request-timeout": 30,
            "phases": phases or {},
            # The smoke run tries the same cases every time; the full one tries others.
            **({} if FULL else {"seed": seed}),
        }
    )
    schema = schemathesis.openapi.from_dict(document, config=config).include(path_regex=f"^{operations}")
    outcome = Outcome(0, set(), [], set())
    for event in from_schema(schema).execute():
        outcome = _with(outcome, event)
    return outcome


def _with(outcome: Outcome, event: events.EngineEvent) -> Outcome:
    cases, checks, faults, links = outcome
    if isinstance(event, events.NonFatalError):
        faults.append(f"{event.label}: {event.value!r}")
    if isinstance(event, events.FatalError):
        faults.append(repr(event.exception))
    if isinstance(event, events.EngineFinished):
        faults += [repr(failure) for failure in event.failures]
    if isinstance(event, events.ScenarioFinished):
        cases += len(event.recorder.cases)
        links |= {
            node.transition.id.partition(" -> ")[0]
            for node in event.recorder.cases.values()
            if node.transition is not None and node.is_transition_applied and not node.transition.is_inferred
        }
        for node in (node for nodes in event.recorder.checks.values() for node in nodes):
            checks.add(node.name)
            if node.failure_info is not None:
                failure = node.failure_info.failure
                faults.append(
                    f"{failure.operation}: {failure.title}: {failure.message}\n{node.failure_info.code_sample}"
                )
    return Outcome(cases, checks, faults, links)


def together(one: Outcome, other: Outcome) -> Outcome:
    return Outcome(
        one.cases + other.cases, one.checks | other.checks, one.faults + other.faults, one.links | other.links
    )


# A file's content must be what its name says, which no schema can say: where one is wanted, words are sent.
schemathesis.openapi.format("binary", st.text(string.ascii_letters, min_size=1).map(str.encode))


@schemathesis.hook("before_call")
def lie_ahead(_context: Any, case: Any, _request: Any) -> None:
    """A key's expiry must lie ahead, which no schema can say: a valid one that lies behind is moved ahead."""
    body = case.body
    if not isinstance(body, dict) or not isinstance(body.get("expires_at"), str):
        return
    try:
        moment = datetime.fromisoformat(body["expires_at"])
    except ValueError:
        return
    if moment.tzinfo is not None and moment.year < datetime.now(UTC).year + 1:
        body["expires_at"] = LEAP_YEAR + body["expires_at"][4:]


@schemathesis.hook("before_call")
def ask_for_the_models_own_length(_context: Any, case: Any, _request: Any) -> None:
    """Vectors have the length that the model gives them, which no schema can say."""
    body = case.body
    number = body.get("dimensions") if isinstance(body, dict) else None
    if isinstance(number, (int, float)) and not isinstance(number, bool) and 1 <= number <= 65536 and number % 1 == 0:
        body["dimensions"] = 384


@schemathesis.hook("before_call")
def spare_the_own_key(_context: Any, case: Any, _request: Any) -> None:
    """The fault test finds the id of its own key in answers, and would revoke it, or lower its rate."""
    if case.path_parameters and case.path_parameters.get("key_id") in OWN:
        case.path_parameters["key_id"] = examples.id_of("key")


@schemathesis.hook("before_call")
def use_an_allowed_target(_context: Any, case: Any, _request: Any) -> None:
    """A webhook's URL must lead to an address that may be called, which no schema can say: a valid one is replaced."""
    if case.meta is None or not case.meta.generation.mode.is_positive or not isinstance(case.body, dict):
        return
    if "/hooks" in case.operation.path and "target_url" in case.body:
        case.body["target_url"] = NOBODY


@schemathesis.hook("before_call")
def get_further(_context: Any, case: Any, _request: Any) -> None:
    """Where steps build on each other, a document has a real file and people who agree with it, which no schema can
    say; an index run is only begun, so that it can be looked at."""
    if case.meta is None or case.meta.phase.name != TestPhase.STATEFUL or not case.meta.generation.mode.is_positive:
        return
    # The kept answer to an earlier request tells of what may be gone by now.
    case.headers.pop("Idempotency-Key", None)
    if case.operation.label == "POST /api/v1/documents" and isinstance(case.body, dict) and "title" in case.body:
        free = {name: value for name, value in case.body.items() if name not in ("files", "parties", "fields")}
        case.body = {**free, "file": WHOLE["file"], "signers": WHOLE["signers"]}
    for path, whole in READY.items():
        if case.operation.label == f"POST {path}":
            case.body = whole
            case.headers["Content-Type"] = "application/json"
            case.media_type = "application/json"
    if case.operation.label == "POST /documents/index":
        case.headers["Prefer"] = "respond-async"


@schemathesis.hook("before_call")
def leave_out_what_is_fixed(_context: Any, case: Any, _request: Any) -> None:
    """What a change writes back must be what stands there, which no schema can say: of a record that exists, only what
    can be changed is sent."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.method.upper() != "PATCH" or not isinstance(case.body, dict) or not case.body:
        return
    content = case.operation.definition.raw["requestBody"]["content"]["application/json"]
    name = content["schema"]["$ref"].rpartition("/")[2]
    known = case.operation.schema.raw_schema["components"]["schemas"][name]["properties"]
    changeable = {field: value for field, value in case.body.items() if set(known.get(field, ())) != {"description"}}
    case.body = changeable or content["example"]


LARGE = ("/sign/", "/api/v1/documents", "/api/v1/packets", "/api/v1/(templates|bulk-sends)")
PARTS = (*LARGE, f"/(?!({'|'.join(part[1:] for part in LARGE)}))")
"""The paths, by how they begin, so that several can be tried at once."""


@pytest.mark.parametrize("part", PARTS)
def test_both_apis_are_what_their_description_says(running: Running, part: str) -> None:
    document = closed(related(description(running), part))
    outcome = run(document, running, EXAMPLES)
    while FULL and outcome.cases < CASES:  # it stops early where it finds nothing new to try; another seed does
        outcome = together(outcome, run(document, running, EXAMPLES))
    print(
        f"{outcome.cases} cases, {len(outcome.checks)} kinds of checks, links of {len(outcome.links)} operations,"
        f" {len(outcome.faults)} failures"
    )
    assert not outcome.faults, "\n\n".join(outcome.faults)
    assert outcome.cases >= CASES
    assert outcome.checks == {check.__name__ for check in CHECKS.get_all()}, "every check there is must have run"


FAMILIES = (
    "/(api/v1/documents|api/v1/packets|api/v1/verify/|sign/)",
    "/api/v1/templates",
    "/api/v1/bulk-sends",
    "/api/v1/keys",
    "/api/v1/members",
    "/api/v1/mails",
    "/api/v1/(hooks|deliveries)",
    r"/documents(/upload|/\{)",
    "/(documents/index|jobs)",
)
"""Paths between which links lead. Each family is gone through by itself, and without schemathesis's own guesses of what
leads where: with them, it would not begin with an operation that takes what looks like another's id."""
FUZZED_ONLY = {name: {"enabled": False} for name in ("examples", "stateful")}
LINKS_ONLY = {
    **{name: {"enabled": False} for name in ("examples", "coverage", "fuzzing")},
    "stateful": {"inference": {"algorithms": []}},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_links_lead_from_an_id_to_what_takes_it(running: Running, family: str) -> None:
    with httpx.Client(base_url=running.address, headers={"Authorization": f"Bearer {running.key}"}) as http:
        _ready_a_template(http)
    document = related(description(running), family)
    outcome = run(document, running, SCENARIOS, phases=LINKS_ONLY)
    for number in range(SEEDS):  # a link of a link of a link is seldom come to
        if outcome.links != linking(document) if FULL else not outcome.links:
            again = run(document, running, SCENARIOS, phases=LINKS_ONLY, seed=SEED + 1 + number)
            outcome = together(outcome, again)
    print(f"{outcome.cases} cases, links of {len(outcome.links)} operations, {len(outcome.faults)} failures")
    assert not outcome.faults, "\n\n".join(outcome.faults)
    assert outcome.links == linking(document) if FULL else outcome.links, "the links must have been followed"


def test_every_link_is_in_a_family(running: Running) -> None:
    document = description(running)
    assert set().union(*(linking(related(document, family)) for family in FAMILIES)) == linking(document)


def related(document: dict[str, Any], family: str) -> dict[str, Any]:
    return {**document, "paths": {path: each for path, each in document["paths"].items() if re.match(family, path)}}


def closed(document: dict[str, Any]) -> dict[str, Any]:
    """Without the links that lead to what the document no longer has."""
    document = copy.deepcopy(document)
    operations = [each for path in document["paths"].values() for each in path.values()]
    known = {each["operationId"] for each in operations}
    for response in (response for each in operations for response in each["responses"].values()):
        links = {name: link for name, link in response.pop("links", {}).items() if link["operationId"] in known}
        response.update({"links": links} if links else {})
    return document


def linking(document: dict[str, Any]) -> set[str]:
    """The operations whose answers have links."""
    return {
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if any("links" in response for response in operation["responses"].values())
    }


def test_the_check_sees_a_bound_that_is_missing_from_the_body(running: Running) -> None:
    """The seeded bug."""
    faulty = copy.deepcopy(description(running))
    del faulty["components"]["schemas"]["NewKey"]["properties"]["scopes"]["anyOf"][0]["minItems"]
    assert rejected(run(faulty, running, 100, operations="/api/v1/keys$", phases=FUZZED_ONLY))


def test_the_check_sees_a_bound_that_is_missing_from_the_query(running: Running) -> None:
    faulty = copy.deepcopy(description(running))
    for parameter in faulty["paths"]["/api/v1/keys"]["get"]["parameters"]:
        parameter["schema"].pop("pattern", None)
    assert rejected(run(faulty, running, 20, operations="/api/v1/keys$"))


def rejected(outcome: Outcome) -> list[str]:
    return [fault for fault in outcome.faults if "Schema-valid request rejected" in fault]
