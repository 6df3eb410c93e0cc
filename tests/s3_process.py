"""moto's S3 as a process: `python -m tests.s3_process` prints its port. `/age` makes an object older than it is."""

import base64
import hashlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import FakeKey, s3_backends
from moto.server import MotoRequestHandler  # type: ignore[attr-defined]
from werkzeug.serving import make_server


class Forgetful(list[FakeKey]):
    """moto notes every object, and copies all of a bucket's to list their versions: each would keep a file open."""

    def append(self, _: FakeKey) -> None:
        return


class KeepsConnections(MotoRequestHandler):
    protocol_version = "HTTP/1.1"


def age(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    wanted = parse_qs(environ["QUERY_STRING"])
    [bucket], [name], [seconds] = wanted["bucket"], wanted["name"], wanted["seconds"]
    backend = s3_backends["123456789012"]["aws"]
    found = backend.buckets[bucket].keys.get(name)
    keys = [found] if found else []
    for upload in backend.buckets[bucket].multiparts.values():
        keys += [part for part in upload.parts.values() if upload.key_name == name]
    for key in keys:
        key.last_modified -= timedelta(seconds=float(seconds))
    start("200 OK" if keys else "404 Not Found", [("Content-Length", "0")])
    return [b""]


def refused(environ: dict[str, Any]) -> str | None:
    """Why a real store would not take the body: moto believes what it is told of its hash."""
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    digest = hashlib.sha256(body)
    if environ.get("HTTP_X_AMZ_CONTENT_SHA256") != digest.hexdigest():
        return "XAmzContentSHA256Mismatch"
    if environ.get("HTTP_X_AMZ_CHECKSUM_SHA256") not in (None, base64.b64encode(digest.digest()).decode()):
        return "BadDigest"
    return None


def main() -> None:
    setattr(FakeKey, "instances_tracked", Forgetful())  # noqa: B010 (its type does not tell of it)
    moto = DomainDispatcherApplication(create_backend_app)

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/age":
            return age(environ, start)
        if code := refused(environ):
            answer = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
            start("400 Bad Request", [("Content-Length", str(len(answer)))])
            return [answer]
        found: Iterable[bytes] = moto(environ, start)
        return found

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=KeepsConnections)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
