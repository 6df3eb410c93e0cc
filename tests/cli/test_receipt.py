"""`deedbox verify` on answers with a receipt: in an empty folder with the root alone, and with the library replayed."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deedbox.authority import issue
from tests import nursery, server
from tests.cli.search_commands import ENV, MODULE
from tests.evidence.receipts import file, receipted
from tests.faults.tampering import Office
from tests.pdf.issued import NOW, installation

LEASE = "The tenant pays the rent.\n\nThe deposit is three months of rent."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Nothing but an answer and the root."""
    made, place = installation(), tmp_path / "elsewhere"
    place.mkdir()
    (place / "receipt.json").write_bytes(file(receipted(made.identity, made.timestamper, NOW)))
    (place / "root.pem").write_bytes(issue.pem([made.root.der]))
    return place


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return nursery.run("deedbox", "verify", *words, folder=folder, env=server.environment(folder / "data"))


def test_an_answer_is_authentic_in_an_empty_folder_with_the_root_alone(folder: Path) -> None:
    done = run(folder, "receipt.json", "--root", "root.pem")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("receipt.json is authentic: this is what was answered, to the last character.\n")
    assert (done.stdout.count("✓"), done.stderr) == (5, "")
    assert "“how many months?”, answered at change 7 of the index" in done.stdout
    assert sorted(one.name for one in folder.iterdir()) == ["receipt.json", "root.pem"], "nothing was made"


def test_the_report_on_an_answer_is_json_for_programs(folder: Path) -> None:
    done = run(folder, "receipt.json", "--root", "root.pem", "--json")
    report = json.loads(done.stdout)
    assert (report["verdict"], report["statement"]["query"], report["replay"]) == (
        "authentic",
        "how many months?",
        None,
    )
    assert report["signatures"][0]["signer"] == "Acme document seal"


def test_one_changed_character_is_altered_and_exits_with_1(folder: Path) -> None:
    shown = (folder / "receipt.json").read_bytes()
    (folder / "receipt.json").write_bytes(shown.replace(b"three months", b"three monthe", 1))
    done = run(folder, "receipt.json", "--root", "root.pem")
    assert (done.returncode, "Result 1: its text is not the one that was signed." in done.stdout) == (1, True)


def test_the_receipt_of_another_authority_is_unrecognised(folder: Path) -> None:
    (folder / "root.pem").write_bytes(issue.pem([Office("Elsewhere").root.der]))
    done = run(folder, "receipt.json", "--root", "root.pem")
    assert (done.returncode, done.stdout.startswith("receipt.json is unrecognised")) == (2, True)
    nameless = run(folder, "receipt.json")
    assert (nameless.returncode, "name one with --root" in nameless.stdout) == (2, True)


def test_what_is_no_receipt_is_said_with_what_to_do(folder: Path) -> None:
    (folder / "other.json").write_text('{"query": "x", "results": []}')
    done = run(folder, "other.json", "--root", "root.pem")
    assert (done.returncode, "POST /query?receipt=true" in done.stderr) == (2, True)
    for words in (("--evidence", "other.json"), ("--parts", "parts")):
        done = run(folder, "receipt.json", "--root", "root.pem", *words)
        assert (done.returncode, "are about PDFs" in done.stderr) == (2, True)
    done = run(folder, "receipt.json", "--root", "root.pem", "--replay")
    assert (done.returncode, "There is no installation" in done.stderr) == (2, True)


class Installation:
    """A server with the tests' model, on its data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.running = server.start(data, module=MODULE, env=ENV)
        self.http = self.running.client()

    def call(self, method: str, path: str, **request: Any) -> Any:
        answer = self.http.request(method, path, **request)
        assert answer.status_code in (200, 204), answer.text
        return answer.json() if answer.content else None

    def indexed(self, text: str, name: str) -> str:
        doc_id = str(self.call("POST", "/documents/upload", files={"file": (name, text.encode())})["doc_id"])
        self.call("POST", "/documents/index", json={"doc_ids": [doc_id]})
        return doc_id

    def asked(self, query: str = "how many months is the deposit?", **body: Any) -> Path:
        answer = self.http.post("/query?receipt=true", json={"query": query, **body})
        assert answer.status_code == 200, answer.text
        path = self.data.parent / "receipt.json"
        path.write_bytes(answer.content)
        return path

    def verified(self, path: Path, *words: str) -> tuple[int, Any]:
        words = ("verify", str(path), "--replay", "--json", "--data", str(self.data), *words)
        done = nursery.run(MODULE, *words, env=server.environment(self.data, **ENV))
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path / "data")
    try:
        yield made
    finally:
        made.http.close()
        made.running.stop()
        assert made.running.process.stdout is not None
        made.running.process.stdout.close()


def test_the_library_answers_the_same_at_that_state_however_it_grows(house: Installation, tmp_path: Path) -> None:
    house.indexed(LEASE, "lease.txt")
    house.indexed("The boat lies in the harbour for three months.", "boat.txt")
    receipt = house.asked()
    before = json.loads(receipt.read_text())["results"]
    code, report = house.verified(receipt)
    assert (code, report["verdict"], report["replay"]) == (0, "authentic", {"same": True, "reasons": []})
    for number in range(5):
        house.indexed(f"A deposit of {number} months, a deposit, months of deposit.", f"{number}.txt")
    assert house.verified(receipt) == (0, report), "what came later is not in the index of then"
    later = house.asked()
    assert json.loads(later.read_text())["results"] != before, "and is in that of now"
    assert house.verified(later)[1]["replay"] == {"same": True, "reasons": []}
    assert list(Path(tmp_path).glob("deedbox-replay-*")) == []


@pytest.mark.parametrize("body", [{"mode": "keyword"}, {"mode": "semantic"}, {"filter": {"filename": "lease.txt"}}])
def test_options_are_replayed(house: Installation, body: dict[str, Any]) -> None:
    lease = house.indexed(LEASE, "lease.txt")
    house.indexed("The deposit of the boat is three months.", "boat.txt")
    receipt = house.asked(top_k=2, doc_ids=[lease], **body)
    assert house.verified(receipt)[1]["replay"] == {"same": True, "reasons": []}


def test_what_has_changed_since_is_named(house: Installation) -> None:
    lease = house.indexed(LEASE, "lease.txt")
    boat = house.indexed("The deposit of the boat is three months.", "boat.txt")
    house.indexed("No deposit is asked for the garden.", "garden.txt")
    receipt = house.asked()
    house.call("PATCH", f"/documents/{lease}", json={"collection": "leases"})
    code, report = house.verified(receipt)
    assert (code, report["verdict"], report["replay"]["same"]) == (2, "authentic", False)
    assert any("document is another" in one for one in report["replay"]["reasons"])
    assert report["replay"]["reasons"][-1].startswith("No indexed text has changed since")

    house.call("PATCH", f"/documents/{lease}", json={"filename": "contract.txt"})
    replay = house.verified(receipt)[1]["replay"]
    assert replay["reasons"][-1] == f"Replaced, renamed, deleted or reindexed since: {lease}."

    house.call("DELETE", f"/documents/{boat}")
    replay = house.verified(receipt)[1]["replay"]
    assert replay["same"] is False
    assert replay["reasons"][-1] == f"Replaced, renamed, deleted or reindexed since: {lease}, {boat}."


def test_an_altered_answer_is_not_asked_again(house: Installation) -> None:
    house.indexed(LEASE, "lease.txt")
    receipt = house.asked()
    receipt.write_text(receipt.read_text().replace("deposit is three", "deposit is seven"))
    code, report = house.verified(receipt)
    assert (code, report["verdict"], report["replay"]) == (1, "altered", None)


def test_another_installation_says_that_it_has_no_such_library(house: Installation, folder: Path) -> None:
    house.indexed(LEASE, "lease.txt")
    code, report = house.verified(folder / "receipt.json", "--root", str(folder / "root.pem"))
    assert (code, report["verdict"], report["replay"]["same"]) == (2, "authentic", None)
    assert report["replay"]["reasons"] == ["This installation has no library of that workspace."]
