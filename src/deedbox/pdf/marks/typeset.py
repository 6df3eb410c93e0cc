"""Runs in a sandbox: typst with the fonts of this installation, the same on every machine."""

import base64
import io
import json
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import typst
from PIL import Image

from deedbox.pdf.marks import strokes
from deedbox.pdf.marks.fonts import folders

_PNG = b"\x89PNG"
_SPECIMEN = "Aa Ăặ Ωω Жж עברית عمر नमस्ते বাংলা தமிழ் తెలుగు ខ្មែរ สวัสดี 王 かな 한글"


class Typesetter:
    """One template, compiled as often as needed; the fonts are in memory from the start."""

    def __init__(self, template: str) -> None:
        self._template = resources.files("deedbox.pdf").joinpath(template).read_bytes()

    def compile(self, data: Mapping[str, Any], pictures: Mapping[str, str], seconds: int) -> bytes:
        """The PDF; pictures are SVG by file name, seconds are the time of the file in Unix seconds."""
        files = {name: picture.encode() for name, picture in pictures.items()}
        files |= self._files(data)
        return _file(_compiler().compile(input=files, format="pdf", timestamp=seconds))  # type: ignore[type-var]

    def draw(self, data: Mapping[str, Any]) -> bytes:
        """The one page as SVG."""
        return _file(_compiler().compile(input=self._files(data), format="svg"))  # type: ignore[type-var]

    def _files(self, data: Mapping[str, Any]) -> dict[str, bytes]:
        return {"main.typ": self._template, "data.json": json.dumps(data).encode()}


def _file(made: object) -> bytes:
    if not isinstance(made, bytes):
        raise TypeError("typst made no file")
    return made


def load_fonts() -> None:
    """Reads every font while a sandbox still may: typst opens a font only when it needs a letter of it."""
    families = json.dumps(sorted(set(_fonts().families())))
    template = (
        f"#for family in json(bytes({json.dumps(families)})) {{ set text(font: family); "
        f'par[{_SPECIMEN}]; par(text(style: "italic")[{_SPECIMEN}]) }}'
    )
    _compiler().compile(input={"main.typ": template.encode()}, format="pdf")  # type: ignore[type-var]


def embed_image(image: bytes, media_type: str, width: int, height: int) -> str:
    """A picture in the only form in which typst takes one from memory."""
    address = f"data:{media_type};base64,{base64.b64encode(image).decode()}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<image width="{width}" height="{height}" href="{address}"/></svg>'
    )


def by_hand(data: bytes) -> str:
    """What a signer has left, as SVG: strokes as paths, or the PNG that `images.signature` has made."""
    if not data.startswith(_PNG):
        return strokes.svg(data)
    return embed_image(data, "image/png", *Image.open(io.BytesIO(data), formats=("PNG",)).size)


def script(text: str) -> dict[str, Any]:
    """What typst must be told of a text: whether it runs from the right, and whose Chinese characters it uses."""
    direction = next((one for one in map(unicodedata.bidirectional, text) if one in ("L", "R", "AL")), "L")
    return {"rtl": direction != "L", "cjk": _han(text)}


def _han(text: str) -> str:
    if any("\u3040" <= letter <= "\u30ff" for letter in text):
        return "JP"
    if any("\uac00" <= letter <= "\ud7a3" or "\u1100" <= letter <= "\u11ff" for letter in text):
        return "KR"
    return "SC"


@cache
def _compiler() -> typst.Compiler:
    return typst.Compiler(font_paths=_fonts(), ignore_system_fonts=True)


@cache
def _fonts() -> typst.Fonts:
    return typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=False, font_paths=[str(path) for path in folders()]
    )
