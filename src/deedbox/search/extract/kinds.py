"""The kinds of file: names, media types, and the check that a file's content is of the kind that its name says."""

import re

import msgspec

from deedbox.kernel.errors import BadRequest

_SOURCE_CODE = (
    "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "css", "scss", "less", "java", "kt", "kts",
    "scala", "groovy", "gradle", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "m", "mm", "cs", "fs", "vb", "go", "rs",
    "swift", "dart", "zig", "rb", "php", "pl", "pm", "lua", "r", "jl", "hs", "ml", "mli", "ex", "exs", "erl", "clj",
    "lisp", "el", "scm", "asm", "s", "f90", "pas", "sql", "sh", "bash", "zsh", "fish", "ps1", "bat", "proto", "graphql",
    "tf", "yaml", "yml", "toml", "ini", "cfg", "tex",
)  # fmt: skip

_ZIP = "a ZIP archive"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_OLD = {"docx": ("Word document", ".doc"), "pptx": ("presentation", ".ppt"), "xlsx": ("workbook", ".xls")}
"""What a file of the old kind is called, and how its name ended."""


class FileKind(msgspec.Struct, frozen=True):
    name: str
    media_type: str
    extensions: tuple[str, ...]
    content: str | None = None
    """What the first bytes must be those of; None for text."""
    reader: str = ""
    """The module that reads it, if that does not have its name."""

    @property
    def module(self) -> str:
        return self.reader or self.name


KINDS: dict[str, FileKind] = {
    kind.name: kind
    for kind in (
        FileKind("pdf", "application/pdf", ("pdf",), "a PDF"),
        FileKind("docx", f"{_OFFICE}.wordprocessingml.document", ("docx",), _ZIP),
        FileKind("txt", "text/plain", ("txt",)),
        FileKind("html", "text/html", ("html", "htm")),
        FileKind("md", "text/markdown", ("md", "markdown")),
        FileKind("csv", "text/csv", ("csv",)),
        FileKind("pptx", f"{_OFFICE}.presentationml.presentation", ("pptx",), _ZIP),
        FileKind("xlsx", f"{_OFFICE}.spreadsheetml.sheet", ("xlsx",), _ZIP, reader="workbook"),
        FileKind("ods", f"{_OPEN}.spreadsheet", ("ods",), _ZIP, reader="sheets"),
        FileKind("odt", f"{_OPEN}.text", ("odt",), _ZIP),
        FileKind("rtf", "application/rtf", ("rtf",), "an RTF document"),
        FileKind("eml", "message/rfc822", ("eml",)),
        FileKind("epub", "application/epub+zip", ("epub",), _ZIP),
        FileKind("tsv", "text/tab-separated-values", ("tsv",), reader="csv"),
        FileKind("json", "application/json", ("json",)),
        FileKind("xml", "application/xml", ("xml",)),
        FileKind("zip", "application/zip", ("zip",), _ZIP),
        FileKind("code", "text/x-source-code", _SOURCE_CODE),
        FileKind("png", "image/png", ("png",), "a PNG image", reader="image"),
        FileKind("jpeg", "image/jpeg", ("jpg", "jpeg"), "a JPEG image", reader="image"),
        FileKind("tiff", "image/tiff", ("tif", "tiff"), "a TIFF image", reader="image"),
        FileKind("webp", "image/webp", ("webp",), "a WebP image", reader="image"),
    )
}
PICTURES = frozenset(kind.name for kind in KINDS.values() if kind.reader == "image")
"""Kinds that have no text but what is read by OCR."""
SUPPORTED = tuple("source code" if name == "code" else name for name in KINDS)
UNSUPPORTED = "Unsupported file type. Supported: pdf, docx, txt, html, md, csv"
"""The message that the API promises to the letter. `UnsupportedFile.supported` lists every format."""
_BY_EXTENSION = {extension: kind for kind in KINDS.values() for extension in kind.extensions}

PDF = re.compile(rb"%PDF-\d")
PDF_HEADER_BYTES = 1024
"""How far into a file its header may stand, by old custom of PDF readers."""
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"II*\x00": "a TIFF image",
    b"MM\x00*": "a TIFF image",
    b"PK\x03\x04": _ZIP,
    b"PK\x05\x06": "an empty ZIP archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Office file of the old kind",
    b"{\\rtf": "an RTF document",
    b"%!PS": "PostScript",
    b"\x7fELF": "a program",
    b"\xcf\xfa\xed\xfe": "a program",
    b"\xca\xfe\xba\xbe": "a program",
    b"\x1f\x8b\x08": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"SQLite format 3\x00": "an SQLite database",
}
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")


class UnsupportedFile(BadRequest):
    """A file whose extension names no format that can be read."""

    supported = SUPPORTED

    def __init__(self) -> None:
        super().__init__(UNSUPPORTED)


def kind_of(filename: str) -> FileKind:
    """Return the kind that the extension names, in any case; raise UnsupportedFile if there is none."""
    extension = filename.strip().rpartition(".")[2].lower()
    if "." not in filename or extension not in _BY_EXTENSION:
        raise UnsupportedFile
    return _BY_EXTENSION[extension]


def check_content(data: bytes, kind: str) -> None:
    """BadRequest if the file is empty, or its first bytes are those of another kind of file."""
    if not data:
        raise BadRequest("The file is empty")
    found = _recognise(data)
    if kind in _OLD and data.startswith(b"\xd0\xcf\x11\xe0"):
        raise _old_office(data, kind)
    expected = KINDS[kind].content
    if found != expected:
        raise wrong_kind(kind, found or f"not {expected}")


def wrong_kind(kind: str, content: str) -> BadRequest:
    """The refusal of a file whose content is not what its extension says."""
    named = "as source code" if kind == "code" else f".{kind}"
    return BadRequest(f"The file is named {named} but its content is {content}")


def _recognise(data: bytes) -> str | None:
    """The kind of file that the first bytes belong to; None for text and unknown ones."""
    for signature, content in _SIGNATURES.items():
        if data.startswith(signature):
            return content
    if data.startswith(b"MZ") and b"\x00" in data[:64]:
        return "a program"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "a WebP image"
    header = PDF.search(data, 0, PDF_HEADER_BYTES)
    # Text may speak of PDF headers; a PDF has little before its own.
    if header and (header.start() == 0 or b"endobj" in data or b"startxref" in data):
        return "a PDF"
    return None


def _old_office(data: bytes, kind: str) -> BadRequest:
    noun, extension = _OLD[kind]
    if _ENCRYPTED_OFFICE in data:
        return BadRequest(f"This {noun} is encrypted. Remove its password and upload it again.")
    return BadRequest(f"This is an Office file of the old kind ({extension}). Save it as .{kind} and upload it again.")
