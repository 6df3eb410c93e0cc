"""An S3 store for the tests: moto's server in a process of its own, and a proxy that spoils what passes."""

import http.client
import itertools
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, TypeAlias
from urllib.parse import urlencode, urlsplit

import pytest

from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.s3.bucket import Bucket
from deedbox.kernel.s3.place import Access, BucketPrefix
from deedbox.kernel.settings.fields import variable
from tests.server import environment

PREFIX = "deedbox/files/"
_numbers = itertools.count()

Fault: TypeAlias = Literal["reset", "500", "slow down", "cut", "lose the answer", "full", "denied", "no versions"]
_ANSWERS: dict[str, tuple[int, str]] = {
    "500": (500, "InternalError"),
    "slow down": (503, "SlowDown"),
    "full": (507, "XMinioStorageFull"),
    "denied": (403, "AccessDenied"),
    "no versions": (501, "NotImplemented"),
}


class Store:
    """A running store; every test gets a bucket of its own."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._owner = Bucket(BucketPrefix("none"), self.access())

    def access(self, address: str = "") -> Access:
        return Access(address or self.address, "us-east-1", Secret("test"), Secret("test-secret"))

    def bucket(self, *, prefix: str = PREFIX, locked: bool = False, address: str = "") -> Bucket:
        """A new bucket, asked for at this address or the store's own."""
        made = Bucket(BucketPrefix(f"test-{os.getpid()}-{next(_numbers)}", prefix), self.access(address))
        client(self._owner).create_bucket(Bucket=made.place.bucket, ObjectLockEnabledForBucket=locked)
        if not address:  # making a client takes long, and one knows no bucket
            made._made = client(self._owner)
        return made

    def settings(self, bucket: Bucket, address: str = "") -> dict[str, str]:
        """What a server is told to use it."""
        told = self.keywords(bucket, address).items()
        return {variable(name): value.reveal() if isinstance(value, Secret) else value for name, value in told}

    def keywords(self, bucket: Bucket, address: str = "") -> dict[str, Any]:
        """The same as fields of `Settings`."""
        access = self.access(address)
        return {
            "blobs_url": str(bucket.place),
            "s3_endpoint": access.endpoint,
            "s3_region": access.region,
            "s3_access_key": access.access_key,
            "s3_secret_key": access.secret_key,
        }

    def names(self, bucket: Bucket) -> set[str]:
        return names(bucket)

    def damage(self, bucket: Bucket, name: str, content: bytes | None) -> None:
        """Puts something else in the place of an object that is there, or nothing."""
        key = {"Bucket": bucket.place.bucket, "Key": bucket.place.prefix + name}
        client(bucket).head_object(**key)
        if content is None:
            client(bucket).delete_object(**key)
        else:
            client(bucket).put_object(**key, Body=content)

    def age(self, bucket: Bucket, name: str, seconds: float = 2 * limits.BLOB_ORPHAN_SECONDS) -> None:
        """Makes the object, or the parts of the upload, older."""
        where = urlsplit(self.address)
        connection = http.client.HTTPConnection(str(where.hostname), where.port)
        words = {"bucket": bucket.place.bucket, "name": bucket.place.prefix + name, "seconds": seconds}
        connection.request("GET", f"/age?{urlencode(words)}")
        assert connection.getresponse().status == 200
        connection.close()


def client(bucket: Bucket) -> Any:
    """boto3's own client, to look at what is there and to put things in the way."""
    return bucket._client()


def names(bucket: Bucket) -> set[str]:
    """Every object below the prefix, and every upload in parts that has not ended; not the holds of backups."""
    here = {"Bucket": bucket.place.bucket, "Prefix": bucket.place.prefix}
    uploads = client(bucket).list_multipart_uploads(**here).get("Uploads", [])
    found = {one["Key"].removeprefix(bucket.place.prefix) for one in uploads}
    found |= {one.name for page in bucket.pages() for one in page}
    return {name for name in found if not name.startswith("hold/")}


@contextmanager
def running() -> Iterator[Store]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.s3_process"],
        # Most tests send smaller parts than a store takes: it is faster.
        env=environment(S3_UPLOAD_PART_MIN_SIZE="1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Store(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.stdin.close()  # its end, also if this process is killed
        process.wait(timeout=30)
        process.stdout.close()


class Proxy:
    """Passes requests on to the store; `spoil` names what goes wrong with the next ones."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.faults: list[tuple[Callable[[str, str], bool], Fault]] = []
        self.seen: list[str] = []
        self.away = False
        """While it is, every connection is cut."""
        self.closes = False
        """Whether each connection serves one request only."""
        self.lock = threading.Lock()

    def spoil(self, fault: Fault, times: int = 1, *, method: str = "", path: str = "") -> None:
        """The next requests with this method, and this in their path."""

        def matches(asked: str, where: str) -> bool:
            return method in ("", asked) and path in where

        self.faults += [(matches, fault)] * times

    def next_fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            self.seen.append(f"{method} {path}")
            if self.away:
                return "reset"
            for index, (matches, fault) in enumerate(self.faults):
                if matches(method, path):
                    del self.faults[index]
                    return fault
        return None


class _Passing(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.next_fault(self.command, self.path)
        if fault == "reset":
            self._reset()
        elif fault in _ANSWERS:
            self._refuse(*_ANSWERS[str(fault)])
        else:
            self._pass_on(body, fault)

    do_PUT = do_POST = do_HEAD = do_DELETE = do_GET

    def _pass_on(self, body: bytes, fault: Fault | None) -> None:
        where = urlsplit(self.proxy.store.address)
        upstream = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
        # The store takes the first word of another host for a bucket.
        upstream.request(self.command, self.path, body, {**dict(self.headers.items()), "Host": where.netloc})
        answer = upstream.getresponse()
        data = answer.read()
        upstream.close()
        if fault == "lose the answer":
            self._reset()
            return
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        size = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", size or "0")
        if self.proxy.closes:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if fault == "cut" else data)
        if fault == "cut":
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def _refuse(self, status: int, code: str) -> None:
        body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, *_: object) -> None: ...


@contextmanager
def spoiling(store: Store) -> Iterator[tuple[Proxy, str]]:
    """A proxy in front of the store, and its address."""
    proxy = Proxy(store)
    handler = type("Passing", (_Passing,), {"proxy": proxy})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="session")
def s3_store() -> Iterator[Store]:
    with running() as store:
        yield store
