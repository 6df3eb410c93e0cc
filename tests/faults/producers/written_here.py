"""Documents that the test environment can write itself, with the standard library and typst, for search to read."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from email import policy
from email.message import EmailMessage
from xml.etree import ElementTree

import typst

from tests.faults.producers import lease

_ROWS = list(csv.reader(io.StringIO(lease.ROWS)))
_DATE = (2026, 5, 1, 0, 0, 0)
_CODE = '''"""Rent, month by month."""


def rent(month: int) -> int:
    """What is due in a month."""
    return 900 if month < 7 else 850  # less in summer
'''
_CELLS = "[Name], [Rent], [Since], [Note], [Ada], [900.5], [2024-05-01], [], [Alan], [850], [2025-06-01], [late]"
_TYPST = {
    "table": (
        "= Boats\nWhat they cost.\n#table(columns: 3, table.header([*Boat*], [*Price*], [*Due*]), "
        "[Heron], [900], [May], [Otter], [], [June])\nBoth have seen them."
    ),
    "headings": "\n\n".join(f"#text(20pt)[{title}]\n\n{lease.LONG}" for title in ("The lease", "Notice")),
    "ligatures": f"#set text(ligatures: true)\n{lease.LONG}",
    "hyphens": (
        "#set page(width: 6cm, height: 12cm, margin: 1cm)\n#set text(hyphenate: true)\n#set par(justify: true)\n"
        f"{lease.LONG} A dual-encoder is one."
    ),
    "across": f"#set page(flipped: true)\n#table(columns: 4, {_CELLS})",
    "unruled": (
        "#table(columns: 2, stroke: none, [Seller], [Ada], [Buyer], [Alan])\n#line(length: 4cm)\n"
        "#rect[A frame about words]"
    ),
}


def documents() -> Iterator[tuple[str, bytes]]:
    """Names and files."""
    for name, text in _TYPST.items():
        yield f"typst--{name}.pdf", typst.compile(text.encode(), format="pdf")
    for name, made in _MADE.items():
        yield f"python--{name}", made()
    yield "python--lease.html", lease.HTML_STATEMENT.encode()


def _message(subject: str, text: str, charset: str = "utf-8") -> EmailMessage:
    message = EmailMessage(policy=policy.SMTP)
    message["From"] = "Clerk <clerk@mail.example>"
    message["To"] = "tenant@mail.example"
    message["Date"] = "Fri, 01 May 2026 09:30:00 +0200"
    message["Subject"] = subject
    message.set_content(text, charset=charset)
    return message


def _attachments() -> bytes:
    message = _message("The lease", "Both files are enclosed.\n")
    message.add_attachment(lease.ROWS, subtype="csv", filename="tenants.csv")
    pdf = typst.compile(_TYPST["table"].encode(), format="pdf")
    message.add_attachment(pdf, maintype="application", subtype="pdf", filename="boats.pdf")
    message.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="sound.bin")
    message.set_boundary("part")
    return message.as_bytes()


def _alternative() -> bytes:
    message = _message("Rent in Größe", "Rent is due.\n")
    message.add_alternative(lease.HTML_TABLE, subtype="html")
    message.set_boundary("part")
    return message.as_bytes()


def _forwarded() -> bytes:
    message = _message("Fwd: Notice", "See below.\n")
    message.add_attachment(_message("Notice", "Three months, in writing.\n"))
    message.set_boundary("part")
    return message.as_bytes()


def _latin() -> bytes:
    return _message("Überprüfung", "Der Mieter prüft die Größe.\n", "iso-8859-1").as_bytes()


def _tabs() -> bytes:
    out = io.StringIO()
    csv.writer(out, "excel-tab").writerows(_ROWS)
    return out.getvalue().encode("utf-16")


def _commas() -> bytes:
    return ("sep=;\r\n" + lease.ROWS.replace(",", ";").replace("\n", "\r\n")).encode("cp1252")


def _records() -> bytes:
    tenants = [dict(zip(_ROWS[0], row, strict=True)) for row in _ROWS[1:]]
    return json.dumps({"lease": 12, "tenants": tenants, "open": None, "signed": True}, indent=1).encode()


def _feed() -> bytes:
    root = ElementTree.Element("lease", number="12")
    for row in _ROWS[1:]:
        tenant = ElementTree.SubElement(root, "tenant", since=row[2])
        ElementTree.SubElement(tenant, "name").text = row[0]
        ElementTree.SubElement(tenant, "note").text = row[3]
    out = io.BytesIO()
    ElementTree.ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)
    return out.getvalue()


def _archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (
            ("letters/notice.eml", _latin()), ("tenants.csv", lease.ROWS.encode()), ("rent.py", _CODE.encode()),
            ("boat.bin", b"\x00\x01"), ("inner.zip", _inner()),
        ):  # fmt: skip
            archive.writestr(zipfile.ZipInfo(name, _DATE), data)
    return out.getvalue()


def _inner() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("terms.md", _DATE), lease.MARKDOWN)
    return out.getvalue()


_MADE: dict[str, Callable[[], bytes]] = {
    "attachments.eml": _attachments,
    "alternative.eml": _alternative,
    "forwarded.eml": _forwarded,
    "latin.eml": _latin,
    "tenants.tsv": _tabs,
    "tenants.csv": _commas,
    "tenants.json": _records,
    "tenants.xml": _feed,
    "rent.py": _CODE.encode,
    "lease.md": lease.MARKDOWN.encode,
    "archive.zip": _archive,
}
