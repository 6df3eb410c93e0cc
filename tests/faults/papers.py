"""The same paragraphs in each format that can be searched without another program."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage

from tests.api.search.files import pdf
from tests.search.extract import words


def _message(parts: Sequence[str]) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = parts[0], "ann@example.com", "ben@example.com"
    message.set_content("\n\n".join(parts))
    message.add_attachment("\n\n".join(parts).encode(), maintype="text", subtype="plain", filename="enclosed.txt")
    return message.as_bytes()


def _rows(parts: Sequence[str], mark: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=mark).writerows([["number", "text"], *([str(at), part] for at, part in enumerate(parts))])
    return out.getvalue().encode()


def _rtf(parts: Sequence[str]) -> bytes:
    return ("{\\rtf1\\ansi " + "\\par ".join(parts) + "}").encode()


def _zip(parts: Sequence[str]) -> bytes:
    return words.archive({f"{at}.txt": part for at, part in enumerate(parts)})


KINDS: Mapping[str, Callable[[Sequence[str]], bytes]] = {
    "txt": lambda parts: "\n\n".join(parts).encode(),
    "md": lambda parts: "\n\n".join(["# Papers", *parts]).encode(),
    "html": lambda parts: "".join(f"<p>{part}</p>" for part in parts).encode(),
    "csv": lambda parts: _rows(parts, ","),
    "tsv": lambda parts: _rows(parts, "\t"),
    "json": lambda parts: json.dumps({"papers": list(parts)}).encode(),
    "xml": lambda parts: f"<papers>{''.join(f'<paper>{part}</paper>' for part in parts)}</papers>".encode(),
    "eml": _message,
    "rtf": _rtf,
    "docx": lambda parts: words.docx("".join(map(words.paragraph, parts))),
    "pdf": lambda parts: pdf(*parts),
    "zip": _zip,
    "py": lambda parts: "\n\n".join(f"# {part}" for part in parts).encode(),
}
