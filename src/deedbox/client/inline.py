"""Files within a JSON body."""

import base64
from pathlib import Path

from deedbox.client.call import FileSource
from deedbox.client.requests.documents import NewFile


def inline(source: FileSource, password: str | None = None) -> NewFile:
    """The file as part of a body: for the documents of a packet, and for a PDF that a password opens."""
    name, content = source if isinstance(source, tuple) else (Path(source).name, Path(source).read_bytes())
    return NewFile(name=name, content_base64=base64.b64encode(content).decode(), password=password)
