"""The fonts of this installation, all from packages, so that a document looks the same wherever it is sealed."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Literal, TypeAlias, get_args
from xml.sax.saxutils import escape

PLAIN = (
    "fontpkg_noto_sans",
    "fontpkg_noto_sans_arabic",
    "fontpkg_heebo",
    "fontpkg_noto_sans_devanagari",
    "fontpkg_hind_siliguri",
    "fontpkg_noto_sans_tamil",
    "fontpkg_noto_sans_telugu",
    "fontpkg_noto_sans_thai",
    "fontpkg_noto_sans_khmer",
    "noto_cjk_sans_otc",
)
"""A letter is taken from the first that has it, here and in the templates."""
Hand: TypeAlias = Literal["dancing", "caveat", "vibes"]
"""The hands in which a signature may be typed, for the scripts that their fonts have."""
HANDS: tuple[Hand, ...] = get_args(Hand)
_DANCING, _CAVEAT = ("Dancing Script", "fontpkg_dancing_script"), ("Caveat", "fontpkg_caveat")
_CHOSEN: dict[Hand, tuple[str, str]] = {
    "dancing": _DANCING,
    "caveat": _CAVEAT,
    "vibes": ("Great Vibes", "fontpkg_great_vibes"),
}
_IN_ALL = (_DANCING, _CAVEAT, ("Kalam", "fontpkg_kalam"), ("Amiri", "fontpkg_amiri"))
"""For what the chosen hand lacks: Latin and Vietnamese, Cyrillic, Devanagari, Arabic. The plain fonts have the rest."""
PACKAGES = (*PLAIN, *dict.fromkeys(package for _, package in (*_IN_ALL, *_CHOSEN.values())))
OF_THE_SYSTEM = (
    *("/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/fontconfig", "/etc/fonts", "/var/cache/fontconfig"),
)
"""Where the fonts lie that converters use."""


def families(hand: Hand) -> list[str]:
    """The names of the fonts of a hand: a letter is taken from the first that has it."""
    return list(dict.fromkeys(family for family, _ in (_CHOSEN[hand], *_IN_ALL)))


def packages(hand: Hand) -> tuple[str, ...]:
    """Where these fonts come from, in the same order."""
    return tuple(dict.fromkeys(package for _, package in (_CHOSEN[hand], *_IN_ALL)))


def folders() -> Iterator[Path]:
    """Where the font files lie."""
    for package in PACKAGES:
        folder = _folder(package)
        if folder is not None:  # what only it could print is else refused where it is entered
            yield folder


def files() -> Iterator[Path]:
    """The font files, those of a package in the order of their names."""
    for folder in folders():
        yield from (
            path for path in sorted(folder.iterdir()) if path.suffix.lower() in (".ttf", ".otf", ".ttc", ".otc")
        )


def fontconfig() -> str:
    """A configuration of fontconfig that adds these fonts to those of the system."""
    added = "".join(f"<dir>{escape(str(folder))}</dir>" for folder in folders())
    system = '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>'
    return f'<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>{system}{added}</fontconfig>'


def missing_packages() -> list[str]:
    """The packages that are not installed, or have no font in them."""
    return [package for package in PACKAGES if regular(package) is None]


def regular(package: str) -> Path | None:
    """The upright file of usual weight; None where the package is not installed."""
    folder = _folder(package)
    files = sorted(folder.iterdir()) if folder else []
    upright = [file for file in files if file.suffix in (".ttf", ".ttc") and "Italic" not in file.name]
    return next((file for file in upright if "Regular" in file.name), upright[0] if upright else None)


def _folder(package: str) -> Path | None:
    try:
        folder = Path(str(resources.files(package)))
    except ModuleNotFoundError:
        return None
    return folder / "files" if (folder / "files").is_dir() else folder
