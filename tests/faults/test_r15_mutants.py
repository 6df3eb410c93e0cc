"""R15: revisions after a seal. Whenever a file is called authentic or extended, three viewers show what was sealed.

The full run mutates the structure of 2,000 updates, each of them truly time-stamped."""

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import utils
from msgspec import Struct, field
from msgspec.structs import replace

from deedbox.evidence import chain, file
from deedbox.pdf.seal import cms, der, low_s, timestamp_again
from deedbox.pdf.verify import extension, sealed_form
from deedbox.pdf.verify.report import GOOD
from tests.evidence.samples import evidence
from tests.faults import FULL
from tests.faults.mutants import drafted, mutants, planted, stamped
from tests.faults.tampering import NOW, Judge, Office, originals, restamped
from tests.faults.viewers import VIEWERS, need, shown
from tests.pdf.sealed import document

MUTANTS, FILES = (2000, 8) if FULL else (60, 2)
SEED = 15


@pytest.fixture(scope="module")
def office() -> Office:
    return Office()


class Compared(Struct):
    """What the viewers showed of the files that a judge called good."""

    tried: int = 0
    good: dict[str, int] = field(default_factory=dict)
    exceptions: list[str] = field(default_factory=list)

    def line(self) -> str:
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.good.items()))
        return (
            f"R15 viewers: {self.tried} mutants, {told or 'none good'};"
            f" {len(self.exceptions)} of these shown otherwise by one of {', '.join(VIEWERS)}"
        )


def compared(files: Iterator[tuple[str, bytes]], original: bytes, judge: Judge, folder: Path, score: Compared) -> None:
    wanted = shown(original, folder / "a.pdf")
    for name, data in files:
        score.tried += 1
        verdict = judge(data)
        if verdict in GOOD:
            score.good[verdict] = score.good.get(verdict, 0) + 1
            if (seen := shown(data, folder / "b.pdf")) != wanted:
                score.exceptions.append(f"{name}: {[one for one in VIEWERS if seen[one] != wanted[one]]}")


def plain(count: int) -> list[bytes]:
    """Files whose table of objects is plain, as the mutants' is."""
    return [one for one in originals(3 * count) if b"/ObjStm" not in one][:count]


def test_whenever_a_file_is_called_good_three_viewers_show_what_was_sealed(office: Office, tmp_path: Path) -> None:
    need()
    score, chance = Compared(), random.Random(SEED)
    for original in plain(FILES):
        data = office.sealed(original)
        compared(
            iter([("sealed", data), ("extended", stamped(office, drafted(data)))]),
            data,
            office.verdict,
            tmp_path,
            score,
        )
        compared(mutants(office, data, MUTANTS // FILES, chance), data, office.verdict, tmp_path, score)
    print(score.line())
    assert score.exceptions == []
    assert score.good.get("extended", 0) > FILES
    assert score.tried >= MUTANTS


def gap_attacks(office: Office, data: bytes) -> Iterator[tuple[str, bytes]]:
    """What someone without a key can put into the gap, which no signature reaches."""
    seal = sealed_form.read(data)
    own = cms.own(seal.cms_der)
    assert own.token is not None
    yield "the timestamp taken away", _filled(data, _stripped(seal.cms_der))
    yield (
        "a later timestamp of the installation's own unit",
        restamped(data, office.timestamper, NOW + timedelta(days=1)),
    )
    other = Office("Elsewhere")
    office.roots = [office.root.der, other.root.der]
    yield "the timestamp of another trusted authority", restamped(data, other.timestamper, NOW + timedelta(days=1))
    yield "(r, n - s)", _filled(data, _other_s(seal.cms_der, own.signature, office.seal.certificate.public_key()))
    token = _other_s(own.token, cms.own(own.token).signature, office.timestamp_unit.certificate.public_key())
    yield "(r, n - s) of the timestamp", restamped_with(data, token)


def _other_s(content_info: bytes, signature: bytes, key: Any) -> bytes:
    """The same with the other signature that ECDSA has: true for everyone who does not look."""
    r, s = utils.decode_dss_signature(signature)
    order = low_s._ORDERS[key.curve.name]
    high = der.sequence(der.integer(r), der.integer(order - s))
    _, parts, signer = cms._parted(content_info)
    kept = [one.whole for one in signer]
    kept[5] = der.octets(high)
    changed = der.sequence(*(one.whole for one in parts[:-1]), der.set_of(der.sequence(*kept)))
    return der.sequence(cms.SIGNED_DATA, der.explicit(0, changed))


def _stripped(content_info: bytes) -> bytes:
    """The same without its time-stamp."""
    _, parts, signer = cms._parted(content_info)
    bare = der.set_of(der.sequence(*(one.whole for one in signer[:6])))
    changed = der.sequence(*(one.whole for one in parts[:-1]), bare)
    return der.sequence(cms.SIGNED_DATA, der.explicit(0, changed))


def restamped_with(data: bytes, token: bytes) -> bytes:
    found = timestamp_again.last_seal(data, 0)
    digits = found.with_timestamp(token)
    return data[: found.contents_at] + digits + data[found.contents_at + len(digits) :]


def _filled(data: bytes, content_info: bytes) -> bytes:
    """With another signature in the gap."""
    form = sealed_form.read(data)
    digits = content_info.hex().encode().ljust(form.gap_end - form.gap_start, b"0")
    return data[: form.gap_start] + digits + data[form.gap_end :]


def test_every_planted_attack_is_seen(office: Office) -> None:
    seen = 0
    for original in plain(FILES):
        data = office.sealed(original)
        for name, changed in [*planted(office, data), *gap_attacks(office, data)]:
            assert changed != data
            assert office.verdict(changed) == "altered", name
            seen += 1
    print(f"R15 planted attacks: {seen} files, 0 missed")


def test_no_row_after_the_sealed_head_passes(office: Office) -> None:
    told = evidence(document(2))
    data = office.sealed(document(2), head=told.head)
    good = office.vouched(told, data)
    assert file.problems(good) == []
    assert file.is_sealed_in(good, told.head)
    last = good.audit[-1]
    more = chain.next_entry(last.hash, last.number + 1, last.at, "signer.declined", "sgn_1", {})
    for head in (more.hash, told.head):
        longer = replace(good, audit=[*good.audit, more], head=head)
        assert file.problems(longer)
        assert not file.is_sealed_in(longer, told.head)


def test_the_rig_catches_trust_in_the_librarys_bottom_line_alone(office: Office, tmp_path: Path) -> None:
    """The seeded bug: a file that pyHanko calls valid is shown otherwise by a viewer."""
    need()
    data, score = office.sealed(document(1)), Compared()
    compared(planted(office, data), data, office.library_alone, tmp_path, score)
    assert any("vertical tab" in name for name in score.exceptions), score


def test_the_rig_catches_metadata_that_may_change(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seeded bug: an update may bring other metadata along."""
    data = office.sealed(document(1))
    attacks = dict(planted(office, data))
    assert office.verdict(attacks["XMP with another title"]) == "altered"
    monkeypatch.setattr(extension, "_State", _Lenient)
    passed = [name for name, changed in attacks.items() if office.verdict(changed) in GOOD]
    assert passed == ["XMP with another title"]


class _Lenient(extension._State):
    """Takes an update's /Metadata for something that belongs to it."""

    def _value(self, revision: Any, reference: Any) -> Any:
        return {key: value for key, value in super()._value(revision, reference).items() if key != "Metadata"}

    def _note(self, revision: Any) -> Any:
        brought = revision.objects[self._root].value.get("Metadata")
        return super()._note(revision) | {brought} & set(revision.objects)
