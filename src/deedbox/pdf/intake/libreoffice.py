"""Turns Word documents into PDF by LibreOffice, if it is installed: one bounded child process for each file."""

import asyncio
import contextlib
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.sandbox import Fence, SandboxFailed, Stream, child_environment, fence
from deedbox.pdf import limits
from deedbox.pdf.intake import libreoffice_child as office_child
from deedbox.pdf.intake.libreoffice_child import ConversionRequest
from deedbox.pdf.marks import fonts

INSTALL = "Debian: apt-get install libreoffice-writer-nogui; macOS: brew install --cask libreoffice"
MISSING = f"Word documents cannot be turned into PDF here: LibreOffice is not installed ({INSTALL})"
UNFENCED = (
    "{files} cannot be converted to PDF: this system cannot confine the converter (Linux 6.2 or newer, or user"
    " namespaces, are required). Upload a PDF. The operator of the server may set DEEDBOX_CONVERTERS=unconfined."
)
UNREADABLE = "This Word document cannot be read. Save it as a PDF and upload that."
_MADE_ITS_PROFILE = 81
"""What the program ends with when it has furnished its folder, and wants to be started again."""
_FONTS = "fonts.conf"
LIBRARIES = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share", "/etc/ld.so.cache", "/etc/libreoffice"),
    *("/var/lib/libreoffice", "/var/spool/libreoffice"),
    *("/etc/localtime", "/dev/urandom", "/proc/cpuinfo", "/proc/self"),
)
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
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


def program(*, unconfined: bool = False) -> Path | None:
    """LibreOffice itself, if it is installed: not the script before it, which starts several programs more.

    The script alone will do only where nothing is confined: it may lie anywhere, and the fence opens what is around it.
    """
    script_will_do = sys.platform != "linux" or (unconfined and fence.means() is None)
    for place in (shutil.which("soffice"), *_PLACES):
        if place is None or not os.access(place, os.X_OK):
            continue
        script = Path(place).resolve()
        itself = script.with_name("soffice.bin").resolve()
        if itself.exists() or script_will_do:
            return itself if itself.exists() else script
    return None


async def as_pdf(data: bytes | Stream, write: Callable[[bytes], Awaitable[None]], *, unconfined: bool = False) -> None:
    """Writes the PDF in pieces; BadRequest if LibreOffice is missing, cannot be confined or cannot read the file."""
    soffice = await asyncio.to_thread(program, unconfined=unconfined)
    if soffice is None:
        raise BadRequest(MISSING)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="deedbox-office-"))
    try:
        await _receive(data, folder / "document.docx")
        _make_profile(folder)
        await _convert(_order(soffice, folder, unconfined=unconfined))
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


def _make_profile(folder: Path) -> None:
    profile = folder / "profile" / "user"
    profile.mkdir(parents=True)
    (profile / "registrymodifications.xcu").write_text(_PROFILE, encoding="utf-8")
    (folder / _FONTS).write_text(fonts.fontconfig(), encoding="utf-8")


def _order(soffice: Path, folder: Path, *, unconfined: bool) -> ConversionRequest:
    arguments = (
        f"-env:UserInstallation={(folder / 'profile').as_uri()}",
        *("--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo"),
        *("--convert-to", "pdf:writer_pdf_Export", "--outdir", str(folder), str(folder / "document.docx")),
    )
    environment = {
        **{"HOME": str(folder), "TMPDIR": str(folder), "OSL_SOCKET_PATH": "."},
        **{"PATH": os.defpath, "LANG": "C.UTF-8", "MAX_CONCURRENCY": "1", "FONTCONFIG_FILE": str(folder / _FONTS)},
    }
    installation = soffice.parent.parent
    return ConversionRequest(
        program=(str(soffice), *arguments),
        environment=environment,
        folder=str(folder),
        fence=Fence(
            reads=(*LIBRARIES, *fonts.OF_THE_SYSTEM, *map(str, fonts.folders())),
            writes=(str(folder), os.devnull),
            runs=(str(installation), *_LOADERS),
        ),
        fence_demanded=not unconfined,
        seconds=limits.CONVERT_SECONDS,
    )


async def _convert(order: ConversionRequest) -> None:
    """Returns when the program has ended, whether it made a PDF or not."""
    try:
        async with asyncio.timeout(shared_limits.SANDBOX_PATIENCE * limits.CONVERT_SECONDS):
            ended = await _run(order)
            if ended == _MADE_ITS_PROFILE:
                ended = await _run(order)
    except TimeoutError as error:
        raise SandboxFailed("deadline") from error
    if ended == office_child.UNFENCED:
        raise BadRequest(UNFENCED.format(files="Word documents"))


async def _run(order: ConversionRequest) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", office_child.__name__, msgspec.json.encode(order).decode(),
        cwd=order.folder,
        env=child_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        return await process.wait()
    finally:
        # An unconfined program can start another one: the whole group goes, whether it has ended well or not.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _give(path: Path, write: Callable[[bytes], Awaitable[None]]) -> None:
    """Hands on what lies there, if it is a file: a link would make the server read for the program what it may not."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise BadRequest(UNREADABLE) from error
    with file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise BadRequest(UNREADABLE)
        if found.st_size > shared_limits.DOCUMENT_FILE_BYTES:
            raise SandboxFailed("too large")
        while piece := await asyncio.to_thread(file.read, shared_limits.BLOB_CHUNK_BYTES):
            await write(piece)
