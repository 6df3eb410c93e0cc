"""`deedbox index s3://bucket/prefix`: objects are documents, told apart by their ETag."""

import json
from pathlib import Path

from deedbox.search.ocr import MISSING
from tests import server
from tests.cli.search_commands import command, result
from tests.cli.test_folders import counts, documents, found
from tests.cli.watching import watch
from tests.s3 import Store, client, spoiling


def test_a_prefix_is_indexed_followed_and_watched(tmp_path: Path, s3_store: Store) -> None:
    data, bucket = tmp_path / "data", s3_store.bucket(prefix="papers/")
    name, s3 = bucket.place.bucket, client(bucket)

    def put(path: str, text: str) -> None:
        s3.put_object(Bucket=name, Key=f"papers/{path}", Body=text.encode())

    put("lease.txt", "The tenant pays the rent.")
    put("old/boat.md", "# Boat\n\nThe boat lies in the harbour.")
    put("roof.txt", "The roof is new.")
    put("old/", "")
    put("picture.png", "no picture")
    s3.put_object(Bucket=name, Key="other/private.txt", Body=b"Not below the prefix.")
    with spoiling(s3_store) as (proxy, address):
        env = s3_store.settings(bucket, address)
        del env["DEEDBOX_BLOBS_URL"]
        first = result("index", f"s3://{name}/papers", data=data, env=env)
        assert counts(first) == {"files": 3, "uploaded": 3, "indexed": 3}
        assert first["skipped"] == [{"file": "picture.png", "error": MISSING}]
        before = documents(data)
        [(metadata,)] = server.rows(data, "select metadata from uploads where filename = 'boat.md'")
        kept = json.loads(metadata)
        assert (kept["folder"], kept["path"]) == (f"s3://{name}/papers", "old/boat.md")

        del proxy.seen[:]
        again = result("index", f"s3://{name}/papers/", data=data, env=env)
        assert counts(again) == {"files": 3, "known": 3, "indexed": 3}
        assert all("list-type=2" in one for one in proxy.seen), proxy.seen  # nothing is read twice

        with watch(f"s3://{name}/papers", data, tmp_path / "errors", env=env) as watching:
            assert counts(watching.report()) == {"files": 3, "known": 3, "indexed": 3}
            put("lease.txt", "The tenant pays nothing.")
            assert counts(watching.report()) == {"files": 3, "replaced": 1, "known": 2, "indexed": 1}
            s3.delete_object(Bucket=name, Key="papers/roof.txt")
            assert counts(watching.report()) == {"files": 2, "removed": 1, "known": 2}
            assert watching.end() == 0
        s3.copy_object(Bucket=name, Key="papers/ship.md", CopySource={"Bucket": name, "Key": "papers/old/boat.md"})
        s3.delete_object(Bucket=name, Key="papers/old/boat.md")
        assert counts(result("index", f"s3://{name}/papers", data=data, env=env)) == {
            "files": 2, "renamed": 1, "known": 1, "indexed": 2,
        }  # fmt: skip
        after = documents(data)
        assert (after["lease.txt"], after["ship.md"][0]) == (before["lease.txt"], before["old/boat.md"][0])
        assert (found(data, "nothing"), found(data, "harbour"), found(data, "roof")) == (["lease.txt"], ["ship.md"], [])

        for one in ("lease.txt", "ship.md"):
            s3.delete_object(Bucket=name, Key=f"papers/{one}")
        assert counts(result("index", f"s3://{name}/papers", data=data, env=env, code=3)) == {"kept": 2}
        proxy.away = True
        done = command("index", f"s3://{name}/papers", data=data, env=env)
        assert done.returncode == 1
        assert "The store for files does not answer" in done.stderr
        assert len(documents(data)) == 2


def test_a_bucket_that_does_not_exist_is_told(tmp_path: Path, s3_store: Store) -> None:
    env = s3_store.settings(s3_store.bucket())
    del env["DEEDBOX_BLOBS_URL"]
    done = command("index", "s3://nobody-made-this/papers", data=tmp_path / "data", env=env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "s3://nobody-made-this/papers: the bucket does not exist" in done.stderr
    assert "Traceback" not in done.stderr
