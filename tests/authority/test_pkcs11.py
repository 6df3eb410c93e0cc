"""Sealing with a key that stays in a token: SoftHSM holds it, and openssl and pdfsig judge what comes out."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pkcs11
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from deedbox.authority import Certificates, issue, limits
from deedbox.authority import pkcs11 as tokens
from deedbox.authority.issue import Issued, pem
from deedbox.authority.pkcs11 import HardwareToken, KeyChoice, TokenFailed, TokenKey
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import Conflict, SetupError
from deedbox.kernel.settings import Settings, load
from tests.authority.softhsm import LABEL, PIN, SoftHsm
from tests.authority.test_pkcs12 import above, brought, packed
from tests.pdf import issued as foreign
from tests.pdf import shapes
from tests.pdf.oracles import GOOD, cms_of, cms_verified, pdfsig, signed_bytes
from tests.signing.test_seal import Desk, desk

__all__ = ["desk"]

pytestmark = pytest.mark.anyio


@pytest.fixture
def hsm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SoftHsm:
    return SoftHsm(tmp_path / "hsm", monkeypatch)


@pytest.fixture
async def opened() -> AsyncIterator[Callable[[KeyChoice], HardwareToken]]:
    """Makes tokens, and closes them at the end: the library keeps what it knows for its process."""
    made: list[HardwareToken] = []

    def make(choice: KeyChoice) -> HardwareToken:
        made.append(HardwareToken(choice))
        return made[-1]

    yield make
    for token in made:
        token.close()


Opened = Callable[[KeyChoice], HardwareToken]


def filled(hsm: SoftHsm, kind: str = "P-256") -> Issued:
    """A certificate whose key is in the token, with its issuers."""
    own = brought(foreign.keys()[kind])
    hsm.put_key(own.key)
    hsm.put_certificates([own.certificate, *above()])
    return own


def using(desk: Desk, token: HardwareToken) -> Certificates:
    """The desk seals with the token from now on."""
    desk.certificates = Certificates(desk.db, desk.certificates._ledger._box, desk.clock, None, token)
    return desk.certificates


@pytest.mark.parametrize("place", ["token", "file"])
@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA 2048", "RSA 3072"])
async def test_a_key_in_a_token_seals_and_every_judge_accepts_it(
    desk: Desk, hsm: SoftHsm, opened: Opened, tmp_path: Path, kind: str, place: str
) -> None:
    own, root = brought(foreign.keys()[kind]), foreign.installation().root.der
    hsm.put_key(own.key)
    file = tmp_path / "seal.pem" if place == "file" else None
    if file is None:
        hsm.put_certificates([own.certificate, *above()])
    else:
        file.write_bytes(pem([own.der, foreign.installation().issuing.der, root]))
    using(desk, opened(hsm.choice(certificate_file=file)))
    made, seal = await desk.sealed(shapes.plain())
    assert pdfsig(made, root, tmp_path) == GOOD
    assert cms_verified(cms_of(made), signed_bytes(made), [root], tmp_path) == "CMS Verification successful"
    assert (seal.level, seal.certificate_fingerprint) == (
        "B-T",
        issue.fingerprint(own.der),
    )


async def test_the_token_seals_for_every_workspace_and_is_shown_once_for_each(
    desk: Desk, hsm: SoftHsm, opened: Opened
) -> None:
    own = filled(hsm)
    certificates = using(desk, opened(hsm.choice()))
    identities = await asyncio.gather(*(certificates.seal_identity(desk.workspace) for _ in range(4)))
    await desk.sealed(shapes.plain())
    assert {identity.certificate_der for identity in identities} == {own.der}
    shown = [one for one in await certificates.listed() if one.use == f"seal:{desk.workspace}"]
    assert [(one.status, one.brought) for one in shown] == [("in use", True)]
    assert own.certificate.subject.rfc4514_string() == shown[0].subject


async def test_no_private_key_is_stored(desk: Desk, hsm: SoftHsm, opened: Opened) -> None:
    filled(hsm)
    identity = await using(desk, opened(hsm.choice())).seal_identity(desk.workspace)
    assert isinstance(identity.key, TokenKey)
    rows = await desk.db.read(
        lambda tx: tx.all("select private_key from certificates where slot like 'seal:%' and ended_at is null")
    )
    assert [tuple(row) for row in rows] == [(None,)]


async def test_seals_with_it_verify_also_after_the_settings_forget_the_token(
    desk: Desk, hsm: SoftHsm, opened: Opened
) -> None:
    filled(hsm)
    certificates = using(desk, opened(hsm.choice()))
    await certificates.seal_identity(desk.workspace)
    without = Certificates(desk.db, certificates._ledger._box, desk.clock, None)
    for workspace in (desk.workspace, None):
        assert foreign.installation().root.der in (await without.trusted(workspace)).roots
    assert foreign.installation().root.der not in (await without.trusted("wsp_other")).roots
    with pytest.raises(Conflict, match="no token is configured"):
        await without.seal_identity(desk.workspace)
    await without.renew_seal(desk.workspace)
    assert (await without.seal_identity(desk.workspace)).crl_ders
    assert foreign.installation().root.der in (await without.trusted(desk.workspace)).roots
    with pytest.raises(Conflict, match="take out DEEDBOX_PKCS11_MODULE"):
        await certificates.renew_seal(desk.workspace)


async def test_what_a_workspace_brought_itself_goes_before_the_token(desk: Desk, hsm: SoftHsm, opened: Opened) -> None:
    filled(hsm)
    certificates = using(desk, opened(hsm.choice()))
    own = brought(foreign.keys()["RSA 2048"])
    await certificates.use_pkcs12(desk.workspace, packed(own.key, own.certificate, above()), Secret("word"))
    assert (await certificates.seal_identity(desk.workspace)).certificate_der == own.der


async def test_a_new_certificate_in_the_token_is_used_after_the_next_start(
    desk: Desk, hsm: SoftHsm, opened: Opened, tmp_path: Path
) -> None:
    first, second = (brought(foreign.keys()["P-256"]) for _ in range(2))
    hsm.put_key(first.key)
    file = tmp_path / "seal.pem"
    for own in (first, second):
        file.write_bytes(pem([own.der, foreign.installation().issuing.der, foreign.installation().root.der]))
        token = opened(hsm.choice(certificate_file=file))
        assert (await using(desk, token).seal_identity(desk.workspace)).certificate_der == own.der
        token.close()


async def test_a_token_that_goes_away_is_named_and_works_again_when_it_is_back(
    desk: Desk, hsm: SoftHsm, opened: Opened, tmp_path: Path
) -> None:
    filled(hsm)
    using(desk, opened(hsm.choice()))
    await desk.sealed(shapes.plain())
    hsm.goes_away()
    for _ in range(2):
        with pytest.raises(TokenFailed, match="no token with the label 'Deeds'"):
            await desk.sealed(shapes.plain())
    hsm.comes_back()
    made, _ = await desk.sealed(shapes.plain())
    assert pdfsig(made, foreign.installation().root.der, tmp_path) == GOOD


async def test_a_session_that_has_ended_is_opened_anew_unseen(desk: Desk, hsm: SoftHsm, opened: Opened) -> None:
    filled(hsm)
    using(desk, opened(hsm.choice()))
    await desk.sealed(shapes.plain())
    pkcs11.lib(str(hsm.module)).reinitialize()
    await desk.sealed(shapes.plain())


def _stray() -> Issued:
    return brought(foreign.keys()["P-384"])


_FAILURES: dict[str, tuple[Callable[[SoftHsm], KeyChoice], str]] = {
    "another token": (lambda hsm: hsm.choice(token="Other"), "no token with the label 'Other'"),
    "another key": (lambda hsm: hsm.choice(key="other"), "no private key in the token with the label 'other'"),
    "no library": (lambda hsm: hsm.choice(module=hsm.conf), "not a PKCS #11 module"),
    "no PIN": (lambda hsm: hsm.choice(pin=None), "no private key in the token"),
    "no certificate": (lambda hsm: hsm.choice(key="bare"), "no certificate for the key 'bare'"),
    "two keys": (lambda hsm: hsm.choice(key="twin"), "more than one private key"),
    "no file": (lambda hsm: hsm.choice(certificate_file=hsm.conf.with_name("none.pem")), "holds no certificate"),
    "no PEM": (lambda hsm: hsm.choice(certificate_file=hsm.conf), "holds no certificate"),
    "no issuers": (lambda hsm: _with_file(hsm, [brought(foreign.keys()["P-256"]).der]), "issuers"),
    "another's certificate": (
        lambda hsm: _with_file(hsm, [_same_kind().der, foreign.installation().issuing.der]),
        "not that of the key",
    ),
    "an authority": (lambda hsm: _with_file(hsm, [foreign.installation().issuing.der]), "authority"),
}


def _same_kind() -> Issued:
    return brought(ec.generate_private_key(ec.SECP256R1()))


def _with_file(hsm: SoftHsm, certificates: list[bytes]) -> KeyChoice:
    file = hsm.conf.with_name("given.pem")
    file.write_bytes(pem(certificates))
    return hsm.choice(certificate_file=file)


@pytest.mark.parametrize("case", _FAILURES)
async def test_what_is_wrong_with_a_token_is_said_by_name(hsm: SoftHsm, opened: Opened, case: str) -> None:
    filled(hsm)
    stray = _stray()
    hsm.put_key(stray.key, "bare", "02")
    hsm.put_key(stray.key, "twin", "03")
    hsm.put_key(stray.key, "twin", "04")
    make, reason = _FAILURES[case]
    with pytest.raises(TokenFailed, match=reason) as failed:
        await opened(make(hsm)).certificate(foreign.NOW)
    assert PIN not in str(failed.value)


async def test_a_certificate_that_has_ended_is_refused(hsm: SoftHsm, opened: Opened) -> None:
    filled(hsm)
    with pytest.raises(TokenFailed, match="ended"):
        await opened(hsm.choice()).certificate(foreign.NOW + timedelta(days=400))


async def test_a_wrong_pin_is_tried_once_so_that_the_token_is_not_locked(
    hsm: SoftHsm, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(hsm)
    wrong, real = opened(hsm.choice(pin=Secret("00000000"))), pkcs11.lib
    used: list[str] = []

    def watched(module: str) -> object:
        used.append(module)
        return real(module)

    monkeypatch.setattr(pkcs11, "lib", watched)
    with pytest.raises(TokenFailed, match="refused the PIN"):
        await wrong.certificate(foreign.NOW)
    assert used
    used.clear()
    for _ in range(5):
        with pytest.raises(TokenFailed, match="refused the PIN"):
            await wrong.certificate(foreign.NOW)
    assert not used
    assert await opened(hsm.choice()).certificate(foreign.NOW)


async def test_a_slow_token_holds_up_nobody_else_and_is_given_up(
    hsm: SoftHsm, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, stuck = opened(hsm.choice()), threading.Event()
    monkeypatch.setattr(limits, "PKCS11_SECONDS", 0.2)
    first = asyncio.create_task(token.apart(stuck.wait))
    await asyncio.sleep(0)  # the event loop goes on
    with pytest.raises(TokenFailed, match="did not answer"):
        await first
    with pytest.raises(TokenFailed, match="did not answer"):
        await token.apart(lambda: None)  # its turn has not come
    stuck.set()
    monkeypatch.setattr(limits, "PKCS11_SECONDS", 20)
    assert await token.apart(lambda: 7) == 7


async def test_what_fails_beside_the_event_loop_fails_for_the_one_who_waits(hsm: SoftHsm, opened: Opened) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await opened(hsm.choice()).apart(broken)


def test_the_settings_choose_the_token(tmp_path: Path, hsm: SoftHsm) -> None:
    assert tokens.chosen(Settings(data_dir=tmp_path)) is None
    named = {"DEEDBOX_PKCS11_MODULE": str(hsm.module), "DEEDBOX_PKCS11_TOKEN": LABEL, "DEEDBOX_PKCS11_KEY": "seal"}
    settings = load({**named, "DEEDBOX_PKCS11_PIN": PIN, "DEEDBOX_DATA_DIR": str(tmp_path)})
    assert tokens.chosen(settings) is not None
    assert PIN not in repr(settings)
    for missing in named:
        with pytest.raises(SetupError, match="belong together"):
            load({name: value for name, value in named.items() if name != missing})
    with pytest.raises(SetupError, match="belong together"):
        load({"DEEDBOX_PKCS11_PIN": PIN})
    with pytest.raises(SetupError, match="does not exist"):
        tokens.chosen(load({**named, "DEEDBOX_PKCS11_MODULE": str(tmp_path / "none.so")}))


def test_the_library_is_loaded_only_when_a_token_is_used() -> None:
    code = (
        "import sys, deedbox.wiring, deedbox.web.app, deedbox.cli;"
        "print([name for name in sys.modules if name.split('.')[0] == 'pkcs11'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
