"""The files of the pages: under the digest of all of them, so that a browser keeps each for ever, never mixed."""

import functools
import gzip
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from markupsafe import Markup

from deedbox.kernel.errors import NotFound
from deedbox.web.http.auth import STATIC, requires
from deedbox.web.http.context import AnyRequest

_KINDS = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
FOR_EVER = "public, max-age=31536000, immutable"
_IMPORT = re.compile(r"""^\s*(?:import|export)\b[^'"();]*?['"](\.{1,2}/[^'"]+)['"]""", re.MULTILINE)
"""The relative imports of a module: what its browser will ask for next."""


class StaticFile(msgspec.Struct, frozen=True):
    """A file, served exactly as it is written: an error then names the line that its author sees."""

    content: bytes
    zipped: bytes
    kind: str
    etag: str
    imports: list[str]


class StaticFiles(msgspec.Struct, frozen=True):
    """Every file by its name, such as `js/live.js`, and the digest of them all."""

    digest: str
    files: Mapping[str, StaticFile]

    def path(self, name: str) -> str:
        """The address of a file; KeyError for one that there is not, so that no page asks for it."""
        return f"/static/{self.digest}/{name}" if self.files[name] else ""

    def imports(self, name: str) -> list[str]:
        """The modules that this one imports, and those that they import, nearest first."""
        found, waiting = [name], [name]
        while waiting:
            at = waiting.pop(0)
            for other in self.files[at].imports:
                if other not in found:
                    found.append(other)
                    waiting.append(other)
        return found[1:]


@functools.cache
def load_static_files() -> StaticFiles:
    """The files as they were installed, read and zipped once."""
    contents = dict(_read(resources.files("deedbox.web") / "static"))
    files = {name: file(name, content) for name, content in contents.items()}
    return StaticFiles(digest_of(files), files)


def digest_of(files: Mapping[str, StaticFile]) -> str:
    """What stands for all of them: another one as soon as a name or a byte is another."""
    return _digest("".join(f"{name} {files[name].etag}\n" for name in sorted(files)).encode())


def static(name: str) -> str:
    """The address of a file of the pages, for templates."""
    return load_static_files().path(name)


def script(name: str) -> Markup:
    """The tags that load a module, and all that it imports at once with it: else each import waits for the last."""
    preloads = [
        Markup('<link rel="modulepreload" href="{}">').format(static(one)) for one in load_static_files().imports(name)
    ]
    return Markup("\n").join([*preloads, Markup('<script type="module" src="{}"></script>').format(static(name))])


def _read(folder: Traversable, under: str = "") -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _read(each, f"{under}{each.name}/")
        elif posixpath.splitext(each.name)[1] in _KINDS:
            yield under + each.name, each.read_bytes()


def file(name: str, content: bytes) -> StaticFile:
    """The file of this name, as it is served."""
    end, imports = posixpath.splitext(name)[1], []
    if end == ".js":
        source = content.decode()
        imports = [posixpath.normpath(posixpath.join(posixpath.dirname(name), one)) for one in _IMPORT.findall(source)]
    return StaticFile(content, gzip.compress(content, mtime=0), _KINDS[end], f'"{_digest(content)}"', imports)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@get("/static/{digest:str}/{name:path}", opt=requires(STATIC), include_in_schema=False)
async def static_file(request: AnyRequest, digest: FromPath[str], name: FromPath[str]) -> Response[Any]:
    found = load_static_files().files.get(str(name).lstrip("/"))
    if digest != load_static_files().digest or found is None:
        raise NotFound("This file does not exist. Reload the page to get its current files.")
    headers = {
        "Cache-Control": FOR_EVER,
        "ETag": found.etag,
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(None, status_code=304, headers=headers, media_type=found.kind)
    if "gzip" in request.headers.get("accept-encoding", "") and len(found.zipped) < len(found.content):
        return Response(found.zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.kind)
    return Response(found.content, headers=headers, media_type=found.kind)


ROUTES: list[Any] = [static_file]
