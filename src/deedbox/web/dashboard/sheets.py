"""The pages on which the field editor draws, of a draft and of a template."""

from collections.abc import Sequence
from typing import Any

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import NotFound
from deedbox.signing.model import DocumentFile, pages_before
from deedbox.web import limits

BOUNDS = {
    "label": shared_limits.FIELD_LABEL_CHARS,
    "group": shared_limits.FIELD_GROUP_CHARS,
    "value": shared_limits.FIELD_VALUE_CHARS,
    "pattern": shared_limits.FIELD_PATTERN_CHARS,
    "hint": shared_limits.FIELD_HINT_CHARS,
    "side_min": limits.DRAWN_FIELD_MM,
    "font_min": shared_limits.FONT_SIZE_MIN,
    "font_max": shared_limits.FONT_SIZE_MAX,
}
"""What can be said of a field."""


def files_of(files: Sequence[tuple[DocumentFile, str]]) -> list[dict[str, Any]]:
    """The files as the editor's template takes them; their pictures lie below the path that is given with each."""
    return [
        {
            "id": file.id,
            "name": file.name,
            "number": number,
            "pictures": f"{path}/files/{file.id}/pages",
            "within": path,
            "pages": [{"width_pt": width, "height_pt": height} for width, height in file.sizes],
        }
        for number, (file, path) in enumerate(files)
    ]


def position(files: Sequence[DocumentFile], file_id: str, number: int) -> int:
    """Where a page of one of the files lies among those of all, from 1; NotFound if there is no such page."""
    file = next((one for one in files if one.id == file_id), None)
    if file is None or not 1 <= number <= file.pages:
        raise NotFound("There is no such page")
    return pages_before(files, file_id) + number
