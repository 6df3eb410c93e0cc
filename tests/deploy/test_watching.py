"""`deploy/alerts.yml` and `deploy/grafana.json` ask for what the server really tells at /metrics."""

import json
import re
from collections import defaultdict
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests import server
from tests.deploy.proxies import DEPLOY

_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? \S+")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_ASKED = re.compile(r"(deedbox_\w+)(?:\{([^}]*)\})?")
_CHOSEN = re.compile(r'(\w+)(=~|=)"([^"]*)"')
_ADDED = {"instance", "job"}
"""Labels that Prometheus itself gives."""

Told = dict[str, dict[str, set[str]]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Every name that a running server tells, with its labels and their values."""
    with server.running(tmp_path_factory.mktemp("watched") / "data") as started, started.client() as http:
        assert http.get("/health").status_code == 200
        text = http.get("/metrics").text
    found: Told = {}
    for line in text.splitlines():
        if sample := _SAMPLE.fullmatch(line):
            labels = found.setdefault(sample[1], defaultdict(set))
            for name, value in _LABEL.findall(sample[2] or ""):
                labels[name].add(value)
    return found


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def questions() -> list[str]:
    board = json.loads((DEPLOY / "grafana.json").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return shown + [rule["expr"] for rule in rules()]


def wrong(question: str, told: Told) -> list[str]:
    """What the question asks for and no server tells."""
    found = []
    for name, chosen in _ASKED.findall(question):
        labels = told.get(name)
        if labels is None:
            found.append(name)
            continue
        for label, how, value in _CHOSEN.findall(chosen):
            known = labels.get(label, set())
            # Which answers there have been depends on what was asked; the kinds of jobs are always reported.
            if not known or (label == "kind" and not _all_known(how, value, known)):
                found.append(f"{name}{{{label}}}")
        kept = re.findall(r"by \(([^)]*)\)", question)
        found += [
            f"by {label}"
            for words in kept
            for label in words.split(", ")
            if label not in _ADDED and label not in labels
        ]
    return found


def _all_known(how: str, value: str, known: set[str]) -> bool:
    return set(value.split("|") if how == "=~" else [value]) <= known


def test_every_question_is_about_what_the_server_tells(told: Told) -> None:
    assert {question: missing for question in questions() if (missing := wrong(question, told))} == {}


@pytest.mark.parametrize(
    "question",
    [
        "deedbox_documents",
        'deedbox_jobs_due{kind="lost"}',
        'deedbox_jobs_due{status="ready"}',
        "sum by (code) (deedbox_requests_total)",
    ],
)
def test_a_question_that_nobody_answers_is_noticed(question: str, told: Told) -> None:
    assert wrong(question, told) != []


def test_everything_that_the_server_tells_is_shown_or_watched(told: Told) -> None:
    asked = {name for question in questions() for name, _ in _ASKED.findall(question)}
    assert {name for name in told if not name.endswith(("_sum", "_count"))} <= asked


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "next_step"}, rule["alert"]
