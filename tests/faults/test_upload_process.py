"""Uploads to a server in a process of its own: its memory, a kill in the middle, a full disk."""

import json
import os
import random
import socket
import string
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deedbox.kernel import limits
from tests import server
from tests.api.search.files import BOUNDARY, TEXT, part, pdf, stored
from tests.faults import FULL
from tests.kinds import kinds

KILLS = 50 if FULL else 4
GROWTH = 30 * limits.MB
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, limits the size of files")


class Memory(threading.Thread):
    """Watches how much memory a process has in use."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._path = Path(f"/proc/{pid}/statm")
        self._ended = threading.Event()
        self.before = self.most = self._now()

    def run(self) -> None:
        while not self._ended.wait(0.002):
            self.most = max(self.most, self._now())

    def growth(self) -> int:
        self._ended.set()
        self.join()
        return self.most - self.before

    def _now(self) -> int:
        return int(self._path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def dense_text() -> bytes:
    """Six bits in each character, of which no packing saves more than two."""
    letters = (string.ascii_letters + string.digits + "+ ").encode()
    return random.Random(7).randbytes(limits.UPLOAD_BYTES).translate(letters * 4)


@LINUX
@pytest.mark.parametrize(("name", "dense"), [("large.pdf", False), ("large.txt", False), ("dense.txt", True)])
def test_fifty_megabytes_do_not_make_the_server_grow(tmp_path: Path, name: str, dense: bool) -> None:
    start = pdf("Hello there") + b"%" if name.endswith("pdf") else b""
    data = (start + b"The tenant pays the rent. " * (limits.UPLOAD_BYTES // 26 + 1))[: limits.UPLOAD_BYTES]
    data = dense_text() if dense else data
    with server.running(tmp_path / "data") as started, started.client() as client:
        for small in ("small.pdf", "small.txt"):
            assert client.post("/documents/upload", files={"file": (small, data[:1000])}).status_code in (200, 400)
        memory = Memory(started.process.pid)
        memory.start()
        answer = client.post("/documents/upload", files={"file": (name, data)})
        growth = memory.growth()
        assert (answer.status_code, answer.json().get("size_bytes")) == (200, limits.UPLOAD_BYTES), answer.text
        memory = Memory(started.process.pid)
        memory.start()
        with client.stream("GET", f"/documents/{answer.json()['doc_id']}/text") as text:
            size = sum(map(len, text.iter_bytes()))
        growth_for_text = memory.growth()
    assert size == answer.json()["text_length"]
    assert growth_for_text < GROWTH, f"{growth_for_text / limits.MB:.1f} MB"
    assert growth < GROWTH, f"{growth / limits.MB:.1f} MB"


@contextmanager
def half_an_upload(started: server.Server, sent: int) -> Iterator[socket.socket]:
    """A connection through which so many bytes of a large file have gone."""
    place = urlsplit(started.address)
    head = (
        f"POST /documents/upload HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {started.api_key}\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: 20000000\r\n\r\n"
    )
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        connection.sendall(head.encode() + part(b"")[:-2] + b"x" * sent)
        yield connection


def wait_for_bytes(data_dir: Path) -> None:
    """Returns when a part of an upload is on the disk."""
    ended = threading.Event()
    for _ in range(3000):
        if any(path.stat().st_size for path in (data_dir / "blobs" / "incoming").iterdir()):
            return
        ended.wait(0.01)
    raise AssertionError("nothing of the upload arrived")


@pytest.mark.files_in_folder("looks at half a file, which S3 shows to nobody")
def test_a_kill_during_an_upload_leaves_no_half_record(tmp_path: Path) -> None:
    """Acknowledged ones are whole afterwards, the interrupted one is not there."""
    data = tmp_path / "data"
    whole: dict[str, bytes] = {}
    key = ""
    for number in range(KILLS):
        started = server.start(data)
        key = started.api_key or key
        started.api_key = key
        with started.client(key) as client:
            body = TEXT + b"%d" % number
            answer = client.post("/documents/upload", files={"file": (f"{number}.txt", body)})
            whole[answer.json()["doc_id"]] = body
            with half_an_upload(started, 2_000_000 + 300_000 * number):
                wait_for_bytes(data)
                started.kill()
    with server.running(data) as started, started.client(key) as client:
        listed = client.get("/documents").json()
        assert {document["doc_id"] for document in listed["documents"]} == set(whole)
        for doc_id, body in whole.items():
            assert client.get(f"/documents/{doc_id}/content").content == body
            assert client.get(f"/documents/{doc_id}/text").content == body
    counts = [server.rows(data, f"select count(*) from {name}") for name in ("uploads", "blob_refs")]
    assert counts == [[(len(whole),)], [(2 * len(whole),)]]
    assert len([name for name in stored(data) if not name.startswith("incoming/")]) == 2 * len(whole)


def test_a_restored_backup_has_the_texts(tmp_path: Path) -> None:
    """Made from the PDF once; the restored one is deleted, so that it cannot be made again."""
    data, archive, copy = tmp_path / "data", tmp_path / "backup.tar.gz", tmp_path / "copy"
    with server.running(data) as started, started.client() as client:
        answer = client.post("/documents/upload", files={"file": ("a.pdf", pdf("Hello there"))})
        doc_id, key = answer.json()["doc_id"], started.api_key
        assert server.run("backup", str(archive), data=data).returncode == 0
    assert server.run("restore", str(archive), data=copy).returncode == 0
    with server.running(copy) as started, started.client(key) as client:
        sha256 = client.get(f"/documents/{doc_id}").json()["sha256"]
        [location] = [one for one in stored(copy) if sha256 in one]
        kinds.damage(copy, location, None)
        assert client.get(f"/documents/{doc_id}/content").status_code == 500
        assert client.get(f"/documents/{doc_id}/text").text.strip() == "Hello there"


@pytest.mark.files_in_folder("looks at half a file, which S3 shows to nobody")
def test_an_upload_that_is_abandoned_leaves_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with server.running(data) as started:
        with half_an_upload(started, 3_000_000):
            wait_for_bytes(data)
        ended = threading.Event()
        for _ in range(3000):
            if stored(data) == []:
                break
            ended.wait(0.01)
        assert stored(data) == []
        with started.client() as client:
            assert client.get("/documents").json()["documents"] == []
        assert '"level":"error"' not in started.log.read_text()


@pytest.mark.files_in_folder("its own disk is full")
@LINUX
def test_a_full_disk_is_503_and_passes(tmp_path: Path) -> None:
    """No file of the server may grow beyond a megabyte, which it sees as a disk that takes no more."""
    data = tmp_path / "data"
    with server.running(data) as started, started.client() as client:
        import resource

        pid, (_, hard) = started.process.pid, resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limits.MB, hard))
        refused = client.post("/documents/upload", files={"file": ("a.pdf", pdf("x") + b"%" * 3 * limits.MB)})
        assert (refused.status_code, list(refused.json())) == (503, ["error"]), refused.text
        assert refused.headers["X-Service-Error-Code"] == "storage_full"
        assert refused.headers["Retry-After"]
        assert stored(data) == []
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        taken = client.post("/documents/upload", files={"file": ("a.pdf", pdf("x") + b"%" * 3 * limits.MB)})
        assert taken.status_code == 200
        assert json.loads(client.get("/documents").text)["count"] == 1
