"""The image is built from `deploy/Containerfile` and does what docs/how-to/container.md says of it."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deploy.proxies import free_ports
from tests.faults import only_in_full
from tests.faults.fresh_machine import Announced
from tests.faults.image import Container, Image, missing
from tests.faults.moving import seal, sealed_files

pytestmark = [only_in_full, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

LEASE = b"The tenant pays the rent on the third day of each month."
QUESTION = {"query": "When is the rent due?", "top_k": 3}
MOST_MB = 750
TRIES = 10
"""Of the health check: a server that has just started on a busy machine may be slow to answer."""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    made = Image(tmp_path_factory.mktemp("image"))
    made.build()
    yield made
    made.buildah("rmi", "--all", "--force")


def client(announced: Announced) -> httpx.Client:
    headers = {"Authorization": f"Bearer {announced.api_key}"}
    return httpx.Client(base_url=announced.address, headers=headers, trust_env=False, timeout=300)


def megabytes(root: Path) -> int:
    """Of all files, each name of a file counted."""
    found = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
    return sum(os.lstat(path).st_size for path in found) // 1_000_000


def found(http: httpx.Client) -> list[str]:
    answer = http.post("/query", json=QUESTION)
    assert answer.status_code == 200, answer.text
    return [one["text"] for one in answer.json()["results"]]


def holds_no_tools(container: Container) -> bool:
    places = [container.root / place for place in ("opt/deedbox/.venv/bin", "usr/bin")]
    return not any((place / name).exists() for place in places for name in ("uv", "gcc", "strip"))


def test_the_image_serves_seals_finds_stops_and_keeps_its_data(image: Image, tmp_path: Path) -> None:
    volume, port = tmp_path / "data", free_ports().server
    volume.mkdir(mode=0o700)
    os.chown(volume, 10001, 10001)
    with image.container(volume, port) as container:
        assert container.user == 10001
        assert holds_no_tools(container)
        size = megabytes(container.root)
        assert size < MOST_MB
        assert not container.healthy()
        with container.served() as first:
            assert container.healthy(tries=TRIES)
            with client(first) as http:
                assert [http.get(probe).status_code for probe in ("/livez", "/readyz")] == [200, 200]
                assert http.get(first.login_link, headers={"Accept": "text/html"}).status_code == 200
                asyncio.run(seal(first.address, first.api_key, 2))
                assert http.post("/documents/upload", files={"file": ("lease.txt", LEASE)}).status_code == 200
                indexed = http.post("/documents/index")
                assert indexed.status_code == 200, indexed.text
                assert LEASE.decode() in found(http)
            before = asyncio.run(sealed_files(first.address, first.api_key))
            doctor = container.attempt("deedbox", "doctor")
            assert doctor.returncode == 0, doctor.stdout
        assert not container.healthy()
    with image.container(volume, port) as another, another.served() as again:
        assert again.api_key == ""
        same = Announced(again.address, again.login_link, first.api_key)
        with client(same) as http:
            assert LEASE.decode() in found(http)
        assert asyncio.run(sealed_files(same.address, same.api_key)) == before
    assert (len(before[0]), before[1]) == (2, ["authentic"] * 2)
    print(f"the image: {size} MB")
