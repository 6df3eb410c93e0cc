"""A site on which visitors sign without leaving it: python host.py 9000 lease.pdf

DEEDBOX_URL and DEEDBOX_API_KEY name the server and a key with documents:send and documents:embed. The workspace must
name this site: http://localhost:9000."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from deedbox.client import Deedbox, LoneSigner, NewDocument

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Your lease</title>
<script src="%(server)s/static/embed.js"></script>
<h1>Your lease</h1>
<p><button id="sign">Sign it here</button></p>
<div id="signing"></div>
<p id="heard" role="status"></p>
<script>
  const heard = (what) => { document.getElementById("heard").textContent += what + " "; };
  document.getElementById("sign").addEventListener("click", async () => {
    const { url } = await (await fetch("/link", { method: "POST" })).json();
    Deedbox.sign(document.getElementById("signing"), url, {
      onopened: () => heard("opened"),
      onsigned: () => heard("signed"),
      ondeclined: () => heard("declined"),
      onclosed: () => heard("closed"),
    });
  });
</script>
"""


class Host(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = PAGE % {"server": os.environ["DEEDBOX_URL"]}
        self._answer(200, "text/html; charset=utf-8", page)

    def do_POST(self) -> None:
        """Create a link for the person signed in to this site. You vouch for them, so identify them first."""
        if self.headers["Origin"] != f"http://{self.headers['Host']}":
            self._answer(403, "text/plain", "Another site sent this request")
            return
        with Deedbox() as deedbox:
            ann = LoneSigner(name="Ann", email="ann@example.com")
            document = deedbox.documents.create(NewDocument(title="Lease", signers=[ann], send=True), [sys.argv[2]])
            link = deedbox.documents.signing_link(document.id, document.parties[0].signers[0].id)
        self._answer(201, "application/json", json.dumps({"url": link.url}))

    def _answer(self, status: int, kind: str, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Host).serve_forever()
