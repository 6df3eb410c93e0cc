"""The package's bytes: one spelling, and no byte of it is free to change."""

import hashlib
import io
import zipfile
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deedbox.archive import check, package, stored_zip
from deedbox.archive.build import with_timestamp
from deedbox.archive.package import Bag, ManifestKey, PackageFile
from deedbox.archive.stored_zip import ZipEntry
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest

KEY = ManifestKey(Secret("a key"))
FILES = {package.SEALED_PDF: b"%PDF sealed", package.EVIDENCE_JSON: b"{}", "data/original/01-a.pdf": b"%PDF"}


def bag(**more: str) -> Bag:
    pieces = [PackageFile(path, hashlib.sha256(content).hexdigest(), len(content)) for path, content in FILES.items()]
    told = {"workspace_name": "One", "title": "Lease", "completed_at": "2026-03-01T12:00:00Z", **more}
    return Bag("doc_1", "wsp_1", pieces=pieces, **told)


def packed(bag: Bag, key: ManifestKey = KEY) -> bytes:
    """The package, written by hand from the pure parts."""
    files = [*package.tag_files(bag, key), *FILES.items()]
    entries = [ZipEntry(f"doc_1/{path}", len(content), stored_zip.crc(content)) for path, content in files]
    body = b"".join(stored_zip.header(entry) + content for entry, (_, content) in zip(entries, files, strict=True))
    return body + stored_zip.directory(entries)


def read(content: bytes, key: ManifestKey = KEY) -> check.PackageContents:
    return check.contents(io.BytesIO(content), len(content), "doc_1", key)


def test_a_package_is_read_back_and_vouched_for() -> None:
    content = packed(bag())
    found = read(content)
    assert found.authenticated is True
    manifest = package.manifest_of((piece.path, piece.sha256) for piece in bag().pieces)
    assert found.manifest_sha256 == hashlib.sha256(manifest).hexdigest()
    place = found.payload[package.SEALED_PDF]
    assert content[place.start :][: place.size_bytes] == FILES[package.SEALED_PDF]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("日本語.pdf", "01-file.pdf"), ("Café 4.docx", "01-Caf_4.docx"), ("..", "01-file"), (".pdf", "01-file.pdf"),
        ("a/../b.日本", "01-a_.._b"), ("x" * 200 + ".pdf", f"01-{'x' * 76}.pdf"),
        ("v1.0 of a lease", "01-v1.0_of_a_lease"),
    ],
)  # fmt: skip
def test_the_name_of_an_original_keeps_its_ending(name: str, path: str) -> None:
    assert package.original_path(0, name) == f"data/original/{path}"


def test_other_programs_read_the_package() -> None:
    with zipfile.ZipFile(io.BytesIO(packed(bag()))) as found:
        assert found.testzip() is None
        assert {found.getinfo(name).date_time for name in found.namelist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {found.getinfo(name).compress_type for name in found.namelist()} == {zipfile.ZIP_STORED}
        assert found.read("doc_1/data/original/01-a.pdf") == b"%PDF"


def test_every_flipped_byte_is_noticed() -> None:
    content = packed(bag())
    other_key = 0
    for at in range(len(content)):
        harmed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        try:
            found = read(harmed)
        except BadRequest:
            continue
        assert found.authenticated is None, f"byte {at} can be changed unseen"
        other_key += 1
    assert other_key == 0, "the checksum of authentication.txt catches a changed key id"


def test_nothing_can_be_added_cut_off_or_left_out() -> None:
    content = packed(bag())
    for harmed in (content + b"\n", content[:-1], b"", content[:100], b"\0" + content, b"PK\x05\x06" + bytes(18)):
        with pytest.raises(BadRequest):
            read(harmed)


def test_what_someone_without_the_key_packs_is_not_vouched_for() -> None:
    forged = packed(bag(title="Another"), ManifestKey(Secret("guessed")))
    assert read(forged).authenticated is None
    pretended = ManifestKey(Secret("guessed"))
    pretended.id = KEY.id
    with pytest.raises(BadRequest, match="does not vouch"):
        read(packed(bag(), pretended))


def test_a_payload_that_the_manifest_does_not_name_is_named() -> None:
    other = bag()
    pieces = [PackageFile(package.SEALED_PDF, "0" * 64, 11), *other.pieces[1:]]
    with pytest.raises(BadRequest, match=r"data/sealed.pdf in the package is not the one in manifest-sha256.txt"):
        read(packed(msgspec.structs.replace(other, pieces=pieces)))


def test_the_key_cannot_be_read_from_what_is_derived_from_it() -> None:
    content = packed(bag())
    assert b"a key" not in content
    assert KEY.id != ManifestKey(Secret("a kez")).id


@given(st.text(max_size=400))
def test_a_title_stays_in_its_line(title: str) -> None:
    files = dict(package.tag_files(bag(title=title), KEY))
    lines = files["bag-info.txt"].decode().splitlines()
    assert len(lines) in (7, 8)
    assert all(": " in line for line in lines)
    assert len([line for line in lines if line.startswith("External-Identifier: doc_1")]) == 1


@given(st.lists(st.text(max_size=300), min_size=2, max_size=20))
def test_a_name_that_a_sender_chose_is_safe_in_every_file_system(names: list[str]) -> None:
    paths = [package.original_path(position, name) for position, name in enumerate(names)]
    assert len(set(paths)) == len(paths)
    for path in paths:
        folder, data, name = path.split("/")
        assert (folder, data) == ("data", "original")
        assert name.isascii()
        assert len(name) <= 90
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert all(one < other for one, other in pairwise(paths))


def test_the_end_of_a_long_name_is_kept() -> None:
    assert package.original_path(1, f"{'x' * 300}.docx").endswith("x.docx")
    assert package.original_path(0, "../../etc/passwd") == "data/original/01-etc_passwd"


def test_a_seal_without_time_stamp_has_no_file_for_it() -> None:
    assert with_timestamp(bag(), None) == bag()
    assert with_timestamp(bag(), b"token").pieces[-1] == PackageFile(
        package.TIMESTAMP_TOKEN, hashlib.sha256(b"token").hexdigest(), 5
    )
