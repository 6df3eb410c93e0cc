"""A webhook receiver on Python's standard library: WEBHOOK_SECRET=whsec_… python receiver.py 9000"""

import hashlib
import hmac
import json
import os
import re
import sys
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET", "").encode()
if not SECRET:
    sys.exit("WEBHOOK_SECRET is not set: anybody could sign with an empty secret")
TOLERANCE = 300  # seconds
# The last two are sent during a rotation of the secret: one of the three matches the secret that you have.
SIGNATURES = ("X-Service-Signature", "X-Service-Signature-Next", "X-Service-Signature-Previous")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def is_valid(signatures: list[str], timestamp: str | None, body: bytes) -> bool:
    """Return whether the sender has the secret and the delivery is not an old one sent again."""
    signed = body
    if timestamp is not None:
        if not TIME.fullmatch(timestamp) or abs(time.time() - seconds(timestamp)) > TOLERANCE:
            return False
        signed = timestamp.encode() + b"." + body
    expected = "sha256=" + hmac.new(SECRET, signed, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(signature.encode(), expected.encode()) for signature in signatures)


def seconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        # The signature covers these raw bytes, not the parsed content.
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signatures = [self.headers.get(name, "") for name in SIGNATURES]
        if not is_valid(signatures, self.headers.get("X-Service-Timestamp"), body):
            self.answer(401)
            return
        try:
            event = json.loads(body)
        except ValueError:
            self.answer(400)
            return
        print(event["type"], event["id"], flush=True)  # an id seen before means the same event again
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
