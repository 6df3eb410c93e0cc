"""Secrets stay closed, and encrypted values open only where and how they were encrypted."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from deedbox.kernel import crypto
from deedbox.kernel.crypto import Secret, ValueCipher, add_key, create_key_file, key_ids, key_of
from deedbox.kernel.errors import SetupError

PLACE = "webhooks.secret:whk_1"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "master.key"
    create_key_file(path)
    return path


def test_a_secret_prints_as_nothing_and_opens_only_on_purpose() -> None:
    secret = Secret("hunter2")
    assert {repr(secret), str(secret), f"{secret}", f"{[secret]}"[1:-1]} == {"Secret(…)"}
    assert secret.reveal() == "hunter2"
    assert not hasattr(secret, "__dict__")


def test_secrets_are_equal_when_their_texts_are() -> None:
    assert Secret("a") == Secret("a")
    assert hash(Secret("ä")) == hash(Secret("ä"))
    assert Secret("a") != Secret("b")
    assert Secret("a") != Secret("aa")
    assert Secret("a") != "a"


def test_what_was_encrypted_opens_again(ring: Path) -> None:
    box = ValueCipher(ring)
    for plain in (b"", b"x", os.urandom(100_000)):
        assert ValueCipher(ring).decrypt(box.encrypt(plain, PLACE), PLACE) == plain


def test_the_plain_text_is_not_in_the_encrypted_value_and_no_two_are_alike(ring: Path) -> None:
    box = ValueCipher(ring)
    assert b"secret" not in box.encrypt(b"secret" * 10, PLACE)
    assert len({box.encrypt(b"x", PLACE) for _ in range(1000)}) == 1000


@pytest.mark.parametrize("place", ["webhooks.secret:whk_2", "webhooks.name:whk_1", "", PLACE + " "])
def test_an_encrypted_value_opens_nowhere_else(ring: Path, place: str) -> None:
    box = ValueCipher(ring)
    with pytest.raises(ValueError, match="altered or belongs elsewhere"):
        box.decrypt(box.encrypt(b"x", PLACE), place)


def test_a_change_of_any_byte_is_refused(ring: Path) -> None:
    box = ValueCipher(ring)
    encrypted = box.encrypt(b"some secret", PLACE)
    for position in range(len(encrypted)):
        for flip in (0x01, 0x80):
            altered = bytearray(encrypted)
            altered[position] ^= flip
            with pytest.raises(ValueError):
                box.decrypt(bytes(altered), PLACE)


def test_a_value_cut_or_lengthened_is_refused(ring: Path) -> None:
    box = ValueCipher(ring)
    encrypted = box.encrypt(b"some secret", PLACE)
    for altered in (*(encrypted[:n] for n in range(len(encrypted))), encrypted + b"\0", encrypted + encrypted):
        with pytest.raises(ValueError):
            box.decrypt(altered, PLACE)


def test_another_ring_opens_nothing(ring: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.key"
    create_key_file(other)
    with pytest.raises(ValueError, match=r"not in other\.key"):
        ValueCipher(other).decrypt(ValueCipher(ring).encrypt(b"x", PLACE), PLACE)


def test_a_ring_opens_what_any_of_its_keys_encrypted_and_encrypts_with_the_newest(ring: Path) -> None:
    encrypted = [ValueCipher(ring).encrypt(b"0", PLACE)]
    for number in (1, 2, 3):
        added = add_key(ring, drop=set())
        encrypted.append(ValueCipher(ring).encrypt(b"%d" % number, PLACE))
        assert key_of(encrypted[-1]) == added == ValueCipher(ring).newest
    assert [ValueCipher(ring).decrypt(value, PLACE) for value in encrypted] == [b"0", b"1", b"2", b"3"]
    assert [key_of(value) for value in encrypted] == key_ids(ring)


def test_an_open_box_follows_every_rotation(ring: Path) -> None:
    server = ValueCipher(ring)
    for _ in range(20):  # faster than the file system's clock ticks
        before = server.encrypt(b"x", PLACE)
        added = add_key(ring, drop=set())
        assert key_of(server.encrypt(b"x", PLACE)) == added
        assert server.decrypt(before, PLACE) == b"x"


def test_a_forgotten_key_opens_nothing_any_more(ring: Path) -> None:
    server = ValueCipher(ring)
    encrypted = server.encrypt(b"x", PLACE)
    add_key(ring, drop={key_of(encrypted)})
    assert len(key_ids(ring)) == 1
    with pytest.raises(ValueError, match="not in master"):
        server.decrypt(encrypted, PLACE)


def test_threads_that_encrypt_during_a_rotation_make_only_values_that_open(ring: Path) -> None:
    box, encrypted, done = ValueCipher(ring), list[bytes](), threading.Event()

    def encrypt() -> None:
        while not done.is_set():
            encrypted.append(box.encrypt(b"x", PLACE))

    threads = [threading.Thread(target=encrypt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(25):
        before = len(encrypted)
        add_key(ring, drop=set())
        while len(encrypted) < before + 4:
            time.sleep(0)
    done.set()
    for thread in threads:
        thread.join()
    assert len({key_of(value) for value in encrypted}) > 1
    assert all(box.decrypt(value, PLACE) == b"x" for value in encrypted)


def test_only_its_owner_reads_the_ring(ring: Path) -> None:
    assert ring.stat().st_mode & 0o777 == 0o600
    add_key(ring, drop=set())
    crypto.end_rotation(ring)
    assert ring.stat().st_mode & 0o777 == 0o600


def test_a_group_that_may_read_the_ring_may_still_do_so_after_a_rotation_and_others_may_not(ring: Path) -> None:
    ring.chmod(0o644)
    add_key(ring, drop=set())
    assert ring.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_rotation_by_root_leaves_the_ring_to_its_owner(ring: Path) -> None:
    os.chown(ring, 12345, 23456)
    add_key(ring, drop=set())
    assert (ring.stat().st_uid, ring.stat().st_gid) == (12345, 23456)


def test_a_ring_behind_a_link_is_replaced_where_it_lies(ring: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.key"
    link.symlink_to(ring)
    added = add_key(link, drop=set())
    assert link.is_symlink()
    assert key_ids(ring)[-1] == added


def test_making_a_ring_twice_keeps_the_first(ring: Path) -> None:
    before = ring.read_bytes()
    create_key_file(ring)
    assert ring.read_bytes() == before
    assert [path.name for path in ring.parent.iterdir()] == ["master.key"]


def test_processes_that_start_at_once_share_one_ring(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    code = (
        "import sys; from pathlib import Path; from deedbox.kernel.crypto import *; ring = Path(sys.argv[1]);"
        "sys.stdin.read(1); create_key_file(ring); print(ValueCipher(ring).encrypt(b'x', 'here').hex())"
    )
    starts = [
        subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in starts:
        assert process.stdin is not None
        process.stdin.write("g")
        process.stdin.flush()
    encrypted = [bytes.fromhex(process.communicate()[0]) for process in starts]
    assert [ValueCipher(path).decrypt(value, "here") for value in encrypted] == [b"x"] * 4
    assert [entry.name for entry in tmp_path.iterdir()] == ["master.key"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "5",
        '{"keys": []}',
        '{"keys": [{"id": "00000000"}]}',
        '{"keys": [{"id": "00000000", "key": "c2hvcnQ="}]}',
        '{"keys": [{"id": "00", "key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}]}',
        '{"keys": [{"id": "not hex!", "key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}]}',
        "\xff",
    ],
)
def test_a_broken_ring_is_refused_with_a_next_step(ring: Path, text: str) -> None:
    ring.write_bytes(text.encode("latin-1"))
    with pytest.raises(SetupError, match=r"master\.key.*Restore it from a backup"):
        ValueCipher(ring)


def test_a_missing_ring_is_refused_at_start_and_while_running(ring: Path) -> None:
    server = ValueCipher(ring)
    ring.unlink()
    with pytest.raises(SetupError, match="Restore it from a backup"):
        server.encrypt(b"x", PLACE)
    with pytest.raises(SetupError, match="Restore it from a backup"):
        ValueCipher(ring)


def test_a_ring_written_before_rotations_were_marked_is_read(ring: Path) -> None:
    contents = json.loads(ring.read_text())
    del contents["rotating"]
    ring.write_text(json.dumps(contents))
    assert not crypto.has_open_rotation(ring)
    assert ValueCipher(ring).newest == bytes.fromhex(contents["keys"][0]["id"])


def test_hashes_are_the_standard_s_own() -> None:
    assert crypto.sha256("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    # RFC 4231, test case 2
    mac = crypto.hmac_sha256(b"Jefe", b"what do ya want for nothing?").hex()
    assert mac == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert crypto.same(b"a", b"a")
    assert not crypto.same(b"a", b"b")
    assert not crypto.same(b"a", b"")
