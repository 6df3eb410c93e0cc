"""Commands with files in a bucket: the first start, the doctor, and a backup that moves between bucket and folder."""

import json
from pathlib import Path

import httpx
import pytest

from deedbox.kernel.s3.bucket import Bucket
from tests import server
from tests.s3 import Store, client, names

TEXT = b"Either party may terminate with three months' notice."


def upload(running: server.Server) -> str:
    with running.client() as http:
        answer = http.post("/documents/upload", files={"file": ("lease.txt", TEXT)})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["doc_id"])


def content(running: server.Server, key: str, doc_id: str) -> httpx.Response:
    with running.client(key) as http:
        return http.get(f"/documents/{doc_id}/content")


def test_a_bucket_that_does_not_exist_ends_the_start_before_a_key_is_made(tmp_path: Path, s3_store: Store) -> None:
    bucket = s3_store.bucket()
    env = s3_store.settings(bucket) | {"DEEDBOX_BLOBS_URL": "s3://nobody-made-this"}
    done = server.run("serve", "--json", "--port", "0", data=tmp_path / "data", env=env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "s3://nobody-made-this: the bucket does not exist" in done.stderr
    assert "Traceback" not in done.stderr
    with server.running(tmp_path / "data", env=s3_store.settings(bucket)) as running:
        assert running.api_key is not None


def test_a_backup_of_a_bucket_goes_into_another_bucket_or_a_folder(tmp_path: Path, s3_store: Store) -> None:
    data, bucket, other = tmp_path / "data", s3_store.bucket(), s3_store.bucket(prefix="")
    with server.running(data, env=s3_store.settings(bucket)) as running:
        key, doc_id = str(running.api_key), upload(running)
        doctor = server.run("doctor", "--json", data=data, env=s3_store.settings(bucket))
        [files] = [one for one in json.loads(doctor.stdout)["findings"] if one["subject"] == "files"]
        assert files["verdict"] == "good"
        assert str(bucket.place) in files["text"]
        made = server.run("backup", str(tmp_path / "b.tgz"), data=data, env=s3_store.settings(bucket))
        assert made.returncode == 0, made.stderr
    stored = names(bucket)
    assert len(stored) == 2
    assert not [one for page in bucket.pages("hold/") for one in page]

    there = s3_store.settings(other)
    done = server.run("restore", str(tmp_path / "b.tgz"), data=tmp_path / "elsewhere", env=there)
    assert done.returncode == 0, done.stderr
    assert names(other) == stored
    assert not (tmp_path / "elsewhere" / "blobs").exists()
    with server.running(tmp_path / "elsewhere", env=there) as running:
        assert content(running, key, doc_id).content == TEXT

    done = server.run("restore", str(tmp_path / "b.tgz"), data=tmp_path / "folder")
    assert done.returncode == 0, done.stderr
    with server.running(tmp_path / "folder") as running:
        assert content(running, key, doc_id).content == TEXT


def test_a_backup_of_a_folder_goes_into_a_bucket(tmp_path: Path, s3_store: Store) -> None:
    with server.running(tmp_path / "data") as running:
        key, doc_id = str(running.api_key), upload(running)
    assert server.run("backup", str(tmp_path / "b.tar"), data=tmp_path / "data").returncode == 0
    env = s3_store.settings(s3_store.bucket())
    done = server.run("restore", str(tmp_path / "b.tar"), data=tmp_path / "elsewhere", env=env)
    assert done.returncode == 0, done.stderr
    with server.running(tmp_path / "elsewhere", env=env) as running:
        assert content(running, key, doc_id).content == TEXT


def test_a_restore_tells_of_places_that_the_settings_file_of_the_backup_names(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with server.running(data):
        pass
    (data / "deedbox.toml").write_text('base_url = "https://deeds.example.com"\n')
    assert server.run("backup", str(tmp_path / "b.tar"), data=data).returncode == 0
    done = server.run("restore", str(tmp_path / "b.tar"), data=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert "deedbox.toml came with the backup and names base_url: see that they fit here." in done.stdout


@pytest.fixture
def backup(tmp_path: Path, s3_store: Store) -> tuple[Path, Bucket]:
    """A backup of an installation with its files in the bucket."""
    data, bucket = tmp_path / "data", s3_store.bucket()
    with server.running(data, env=s3_store.settings(bucket)) as running:
        upload(running)
    done = server.run("backup", str(tmp_path / "b.tar"), data=data, env=s3_store.settings(bucket))
    assert done.returncode == 0, done.stderr
    return tmp_path / "b.tar", bucket


def test_a_damaged_backup_leaves_nothing_in_the_bucket(
    tmp_path: Path, s3_store: Store, backup: tuple[Path, Bucket]
) -> None:
    whole = backup[0].read_bytes()
    other = s3_store.bucket()
    backup[0].write_bytes(whole[: len(whole) - 2048])
    done = server.run("restore", str(backup[0]), data=tmp_path / "elsewhere", env=s3_store.settings(other))
    assert done.returncode == 1
    assert "damaged" in done.stderr
    assert names(other) == set()
    assert not (tmp_path / "elsewhere").exists()


def test_a_bucket_in_use_is_not_restored_into(tmp_path: Path, s3_store: Store, backup: tuple[Path, Bucket]) -> None:
    file, bucket = backup
    stored = names(bucket)
    done = server.run("restore", str(file), data=tmp_path / "elsewhere", env=s3_store.settings(bucket))
    assert done.returncode == 1
    assert f"There are files at {bucket.place}" in done.stderr
    assert names(bucket) == stored


def test_a_backup_that_would_lack_a_file_is_refused_and_names_it(
    tmp_path: Path, s3_store: Store, backup: tuple[Path, Bucket]
) -> None:
    _, bucket = backup
    lost = min(names(bucket))
    client(bucket).delete_object(Bucket=bucket.place.bucket, Key=bucket.place.prefix + lost)
    done = server.run("backup", str(tmp_path / "c.tar"), data=tmp_path / "data", env=s3_store.settings(bucket))
    assert done.returncode == 1
    assert f"{bucket.place}/{lost} is missing" in done.stderr
    assert not (tmp_path / "c.tar").exists()


def test_the_doctor_says_what_to_do_when_the_bucket_is_gone(
    tmp_path: Path, s3_store: Store, backup: tuple[Path, Bucket]
) -> None:
    env = s3_store.settings(backup[1]) | {"DEEDBOX_BLOBS_URL": "s3://nobody-made-this"}
    done = server.run("doctor", "--json", data=tmp_path / "data", env=env)
    assert done.returncode == 1
    [files] = [one for one in json.loads(done.stdout)["findings"] if one["subject"] == "files"]
    assert (files["verdict"], files["next_step"]) == ("bad", "Make the bucket, or correct the address.")


def test_a_command_that_needs_no_file_asks_no_store(tmp_path: Path, s3_store: Store) -> None:
    bucket = s3_store.bucket()
    with server.running(tmp_path / "data", env=s3_store.settings(bucket)):
        pass
    env = s3_store.settings(bucket) | {"DEEDBOX_S3_ENDPOINT": "http://127.0.0.1:9"}
    assert server.run("keys", "list", data=tmp_path / "data", env=env).returncode == 0
