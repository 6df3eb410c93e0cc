"""`deploy/Containerfile` and `deploy/compose.yml` as text; the fault test test_image.py builds and runs the image."""

import re
import shlex
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from deedbox.i18n import LANGUAGES
from deedbox.kernel import limits
from deedbox.kernel.settings import PREFIX, Settings
from tests.deploy.proxies import DEPLOY

CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
HOW_TO = (DEPLOY.parent / "docs/how-to/container.md").read_text()


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    compose = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    assert list(compose["volumes"]) == ["data"]
    found: dict[str, Any] = compose["services"]["deedbox"]
    return found


def instruction(name: str) -> str:
    found = re.findall(rf"^{name} (.+)$", CONTAINERFILE, re.MULTILINE)
    assert len(found) == 1, found
    return str(found[0])


def test_the_compose_file_builds_this_image_from_this_tree(service: dict[str, Any]) -> None:
    assert (DEPLOY / service["build"]["context"]).resolve() == DEPLOY.parent
    assert DEPLOY.parent / service["build"]["dockerfile"] == DEPLOY / "Containerfile"


def test_the_compose_file_keeps_what_the_image_calls_its_volume_and_opens_its_port(service: dict[str, Any]) -> None:
    assert service["volumes"] == [f"data:{instruction('VOLUME')}"]
    assert service["ports"] == [f"127.0.0.1:8080:{instruction('EXPOSE')}"]


def test_compose_runs_the_container_as_closed_as_the_how_to(service: dict[str, Any]) -> None:
    command = next(line for line in HOW_TO.replace("\\\n", " ").splitlines() if "docker run -d" in line)
    words = shlex.split(command)
    assert ("--read-only" in words, "--init" in words) == (service["read_only"], service["init"])
    assert words[words.index("--tmpfs") + 1] == service["tmpfs"][0]
    assert [words[words.index("--cap-drop") + 1]] == service["cap_drop"]
    assert service["security_opt"] == [f"{words[words.index('--security-opt') + 1]}:true"]


def test_compose_waits_until_requests_have_ended(service: dict[str, Any]) -> None:
    assert int(service["stop_grace_period"].removesuffix("s")) > limits.DRAIN_SECONDS


def test_every_setting_that_is_named_exists() -> None:
    named = set(re.findall(rf"{PREFIX}([A-Z_]+)", CONTAINERFILE + HOW_TO))
    assert named >= {"DATA_DIR", "MODELS_DIR", "BASE_URL"}
    assert {name.lower() for name in named} <= set(Settings.__struct_fields__)


def test_the_image_keeps_the_names_of_days_in_every_language_that_there_is() -> None:
    kept = re.findall(r"! -name '(\w\w)\*'", (DEPLOY / "slim").read_text())
    assert sorted(kept) == sorted(LANGUAGES)
