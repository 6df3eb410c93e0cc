"""The fonts of this installation, all from packages, so that a document looks the same wherever it is sealed."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

PACKAGES = (
    "fontpkg_noto_sans",
    "fontpkg_noto_sans_arabic",
    "fontpkg_noto_sans_devanagari",
    "fontpkg_noto_sans_thai",
    "fontpkg_noto_sans_tamil",
    "fontpkg_noto_sans_telugu",
    "fontpkg_noto_sans_khmer",
    "fontpkg_hind_siliguri",
    "fontpkg_heebo",
    "fontpkg_dancing_script",
    "noto_cjk_sans_otc",
)


def folders() -> Iterator[Path]:
    """Where the font files lie."""
    for package in PACKAGES:
        try:
            folder = Path(str(resources.files(package)))
        except ModuleNotFoundError:
            continue  # what only it could print is then refused where it is entered
        yield folder / "files" if (folder / "files").is_dir() else folder
