"""Word documents put together by hand, in the shapes that different programs give them."""

import io
import zipfile
from collections.abc import Mapping

TRANSITIONAL = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def paragraph(text: str, style: str = "", settings: str = "") -> str:
    style = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{style}{settings}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{cell}</w:tc>" for cell in cells) + "</w:tr>"


def part(root: str, content: str, namespace: str = TRANSITIONAL) -> str:
    compatibility = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    return f'{_HEAD}<w:{root} xmlns:w="{namespace}" xmlns:mc="{compatibility}">{content}</w:{root}>'


def relations(**targets: str) -> str:
    """Relations of the given types; a name like `header_2` is a second relation of its type."""
    entries = (
        f'<Relationship Id="{name}" Type="{_TYPES}/{name.partition("_")[0]}" Target="{target}"/>'
        for name, target in targets.items()
    )
    return f'{_HEAD}<Relationships xmlns="{_RELATIONS}">{"".join(entries)}</Relationships>'


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue()


def docx(body: str, styles: str = "", namespace: str = TRANSITIONAL, **others: str) -> bytes:
    """A document as Word lays it out; `others` are more parts (`footnotes`, `header_1`, …) by their content."""
    roots = {"header": "hdr", "footer": "ftr"}
    names = {name: f"{name.replace('_', '')}.xml" for name in others}
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": f"{_HEAD}<Types/>",
        "_rels/.rels": relations(officeDocument="word/document.xml"),
        "word/document.xml": part("document", f"<w:body>{body}</w:body>", namespace),
        "word/_rels/document.xml.rels": relations(styles="styles.xml", **names),
        "word/styles.xml": part("styles", styles, namespace),
    }
    for name, content in others.items():
        root = name.partition("_")[0]
        parts[f"word/{names[name]}"] = part(roots.get(root, root), content, namespace)
    return archive(parts)
