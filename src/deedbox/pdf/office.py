"""Turns Word documents into PDF by LibreOffice, if it is installed: one bounded child process for each file."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.sandbox import SandboxFailed, Stream
from deedbox.pdf import office_child

MISSING = (
    "Word documents cannot be turned into PDF here: LibreOffice is not installed "
    "(Debian: apt-get install libreoffice-writer; macOS: brew install --cask libreoffice)"
)
UNREADABLE = "This Word document cannot be read. Save it as a PDF and upload that."
_PLACES = ("/Applications/LibreOffice.app/Contents/MacOS/soffice", "/usr/lib/libreoffice/program/soffice")

# No macros, no links to elsewhere, and a proxy that nobody answers at for whatever would still go out.
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableActiveContent" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetProxyType" oor:op="fuse"><value>2</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyPort" oor:op="fuse"><value>9</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyPort" oor:op="fuse"><value>9</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetNoProxy" oor:op="fuse"><value></value></prop></item>
</oor:items>
"""  # noqa: E501


def program() -> str | None:
    """Where LibreOffice is, if it is installed."""
    return shutil.which("soffice") or next((place for place in _PLACES if os.access(place, os.X_OK)), None)


async def as_pdf(data: bytes | Stream, write: Callable[[bytes], Awaitable[None]]) -> None:
    """Writes the PDF in pieces; BadRequest if LibreOffice is missing or cannot read the file."""
    soffice = program()
    if soffice is None:
        raise BadRequest(MISSING)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="deedbox-office-"))
    try:
        await _receive(data, folder / "document.docx")
        await _convert(soffice, folder)
        await _give(folder / "document.pdf", write)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _receive(data: bytes | Stream, path: Path) -> None:
    with path.open("wb") as file:
        if isinstance(data, Stream):
            async for piece in data.pieces:
                await asyncio.to_thread(file.write, piece)
        else:
            await asyncio.to_thread(file.write, data)


async def _convert(soffice: str, folder: Path) -> None:
    profile = folder / "profile" / "user"
    profile.mkdir(parents=True)
    (profile / "registrymodifications.xcu").write_text(_PROFILE, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", office_child.__file__,
        str(limits.CONVERT_SECONDS), str(limits.CONVERT_MEMORY_BYTES), str(limits.PREPARED_FILE_BYTES),
        soffice, f"-env:UserInstallation={(folder / 'profile').as_uri()}",
        "--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo",
        "--convert-to", "pdf:writer_pdf_Export", "--outdir", str(folder), str(folder / "document.docx"),
        cwd=folder,
        env={"HOME": str(folder), "TMPDIR": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(limits.CONVERT_SECONDS):
            await process.wait()
    except TimeoutError as error:
        raise SandboxFailed("deadline") from error
    finally:
        # The program starts another one: the whole group goes, whether it has ended well or not.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _give(path: Path, write: Callable[[bytes], Awaitable[None]]) -> None:
    if not path.is_file():
        raise BadRequest(UNREADABLE)
    if path.stat().st_size > limits.DOCUMENT_FILE_BYTES:
        raise SandboxFailed("too large")
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, limits.BLOB_CHUNK_BYTES):
            await write(piece)
