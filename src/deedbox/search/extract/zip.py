"""An archive of files, each under its name, as if it had been uploaded by itself; what cannot be read is named."""

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.enclosed import write
from deedbox.search.extract.package import bomb, open_package
from deedbox.search.extract.text import TextBuilder
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import ZIP_BYTES, ZIP_ENTRIES

_NOUN = "ZIP archive"
_OF_THE_SYSTEM = ("__MACOSX/",)


def read(data: bytes, depth: int = 0) -> Extraction:
    draft = TextBuilder()
    with open_package(data, _NOUN) as archive:
        entries = [entry for entry in archive.entries() if not entry.filename.startswith(_OF_THE_SYSTEM)]
        if len(entries) > ZIP_ENTRIES:
            raise BadRequest(f"This {_NOUN} has more than {ZIP_ENTRIES:,} files. Split it into parts.")
        if sum(entry.file_size for entry in entries) > ZIP_BYTES:
            raise BadRequest(bomb(_NOUN))
        for entry in entries:
            write(draft, entry.filename, archive.read(entry), depth + 1)
    return draft.finish()
