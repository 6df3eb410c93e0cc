"""The installation's own certificate authority, and the certificate that each workspace seals with."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import msgspec
from cryptography.hazmat.primitives.serialization import Encoding

from deedbox.authority import issue, ledger, pkcs12, store
from deedbox.authority.ledger import AUTHORITIES, ISSUING, ROOT, TIMESTAMP, CertificateChain, Ledger
from deedbox.authority.pkcs11 import HardwareToken
from deedbox.authority.store import CertificateRow
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.crypto import Secret, ValueCipher
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.rotation import EncryptedColumn
from deedbox.pdf.seal.cms import CmsSigner, DistantKey, PrivateKey
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.pdf.seal.timestamp import Timestamper

ENCRYPTED_KEYS = EncryptedColumn(
    table="certificates", key_columns=("id",), column="private_key", place=ledger.key_place("{id}")
)
"""The column that `deedbox keys rotate-master` encrypts anew."""
Reason = Literal["unspecified", "keyCompromise", "cessationOfOperation", "superseded", "affiliationChanged"]


class CertificateSummary(msgspec.Struct, frozen=True):
    """A certificate as people see it."""

    id: str
    use: str
    """`root`, `issuing`, `timestamp`, or `seal:` and the workspace."""
    subject: str
    serial: str
    fingerprint: str
    created_at: str
    not_after: str
    status: Literal["in use", "ended", "revoked"]
    brought: bool
    """Whether the workspace brought it from an authority of its own."""


class Trusted(NamedTuple):
    """Roots and CRLs to verify a workspace's seals with, all in DER."""

    roots: list[bytes]
    crls: list[bytes]
    timestamp_roots: list[bytes]
    """Trusted for time-stamps only."""


class Certificates:
    """The installation's certificates, each made on first need by whichever process is first; keys are encrypted."""

    def __init__(
        self,
        db: Database,
        box: ValueCipher,
        clock: Clock,
        base_url: str | None,
        token: HardwareToken | None = None,
        timestamp_roots: Sequence[bytes] = (),
    ) -> None:
        self._db = db
        self._clock = clock
        self._ledger = Ledger(box, base_url)
        self._token = token
        self._timestamp_roots = list(timestamp_roots)
        self._seals: OrderedDict[str, SealIdentity] = OrderedDict()
        self._unit: tuple[CertificateChain, Timestamper] | None = None

    async def root_pem(self) -> bytes:
        """The root certificate in use: what others have to trust."""
        return issue.pem([(await self._in_use(ROOT)).certificate])

    async def seal_identity(self, workspace_id: str) -> SealIdentity:
        """What the workspace seals with: its own certificate, the token's, or one that is issued now.

        TokenFailed if there is a token and it cannot be used."""
        if self._token is not None:
            await self._use_token(self._token, workspace_id)
        chain = await self._chain(ledger.seal_slot(workspace_id))
        known = self._seals.get(chain.row.id)
        if known is None or known.crl_ders != tuple(chain.crls):
            # The key stays loaded: reading it, and for RSA checking it, would cost more than a signature.
            key = known.key if known is not None else self._key_of(chain.row)
            known = SealIdentity(key, chain.row.certificate, chain.above, chain.crls)
            self._seals[chain.row.id] = known
            if len(self._seals) > shared_limits.SEAL_IDENTITIES:
                self._seals.popitem(last=False)
        self._seals.move_to_end(chain.row.id)
        return known

    async def trusted(self, workspace_id: str | None) -> Trusted:
        """What every seal of this workspace, or of all, is trusted by, also those before certificates were renewed."""
        slot = None if workspace_id is None else ledger.seal_slot(workspace_id)
        own, brought = await self._db.read(lambda tx: (store.authorities(tx), store.brought(tx, slot)))
        ends = [(ledger.chain_of(row) or [row.certificate])[-1] for row in brought]
        roots = [*(row.certificate for row in own if row.slot == ROOT), *ends]
        return Trusted(list(dict.fromkeys(roots)), [await self._crl(row) for row in own], self._timestamp_roots)

    async def timestamper(self) -> Timestamper:
        """The installation's time-stamp unit."""
        chain = await self._chain(TIMESTAMP)
        if self._unit is None or self._unit[0] != chain:
            signer = CmsSigner(self._ledger.key_of(chain.row), chain.row.certificate, chain.above)
            self._unit = chain, Timestamper(signer, chain.crls)
        return self._unit[1]

    async def crl(self, name: str) -> bytes:
        """The CRL, in DER, of an authority: its id, or `root` or `issuing` for the one in use."""
        return await self._crl(await self._authority(name))

    async def certificate(self, name: str) -> bytes:
        """The certificate, in DER, of an authority, named as for `crl`."""
        return (await self._authority(name)).certificate

    async def listed(self) -> list[CertificateSummary]:
        """Every certificate there is or was, oldest first."""
        return [_shown(row) for row in await self._db.read(store.every)]

    async def of_workspace(self, workspace_id: str) -> list[CertificateSummary]:
        """The authorities, the time-stamp units and what this workspace seals with, oldest first; makes none."""
        uses = (ROOT, ISSUING, TIMESTAMP, ledger.seal_slot(workspace_id))
        return [_shown(row) for row in await self._db.read(lambda tx: store.in_slots(tx, uses))]

    async def revoke(self, certificate_id: str, reason: Reason = "unspecified") -> CertificateSummary:
        """The certificate, which is used no more; the CRL says so from now on."""
        now = self._clock.now()
        return _shown(await self._db.write(lambda tx: self._ledger.revoke(tx, certificate_id, reason, now)))

    async def renew(self, use: Literal["root", "issuing", "timestamp"] | str) -> CertificateSummary:
        """A new certificate in place of the one in use, which stays good for what it has signed."""
        if use not in (*AUTHORITIES, TIMESTAMP) and not use.startswith(ledger.seal_slot("")):
            raise NotFound("There is no certificate with this use. The uses are root, issuing, timestamp and seal.")
        return _shown(await self._written(self._ledger.replaced, use))

    async def renew_seal(self, workspace_id: str) -> CertificateSummary:
        """A new seal certificate of this installation for the workspace, also in place of one that it brought."""
        if self._token is not None:
            raise Conflict("The settings put the seal key into a token: take out DEEDBOX_PKCS11_MODULE first.")
        return await self.renew(ledger.seal_slot(workspace_id))

    async def use_pkcs12(self, workspace_id: str, data: bytes, password: Secret | None) -> CertificateSummary:
        """The workspace seals with its own certificate from now on; BadRequest if seals with it would not hold."""
        now = self._clock.now()
        # In a thread: a PKCS #12 file says itself how long it takes to open.
        brought, chain = await asyncio.to_thread(pkcs12.read, data, password, now=now)
        return _shown(
            await self._db.write(
                lambda tx: self._ledger.bring(tx, workspace_id, brought.certificate, brought.key_der, chain, now)
            )
        )

    async def _use_token(self, token: HardwareToken, workspace_id: str) -> None:
        """Puts the token's certificate into the workspace's slot, unless the workspace brought its own."""
        slot, now = ledger.seal_slot(workspace_id), self._clock.now()
        row = await self._db.read(partial(store.in_slot, slot=slot))
        if row is not None and ledger.is_brought(row) and not ledger.is_in_token(row):
            return
        certificate, chain = await token.certificate(now)
        der = certificate.public_bytes(Encoding.DER)

        def bring(tx: Tx) -> None:
            known = store.in_slot(tx, slot)  # another job may have been first
            if known is None or known.certificate != der:
                self._ledger.bring(tx, workspace_id, certificate, None, chain, now)

        if row is None or row.certificate != der:
            await self._db.write(bring)

    def _key_of(self, row: CertificateRow) -> PrivateKey | DistantKey:
        if self._token is not None and ledger.is_in_token(row):
            return self._token.key(row.certificate)
        return self._ledger.key_of(row)

    async def _chain(self, slot: str) -> CertificateChain:
        now = self._clock.now()
        found = await self._db.read(lambda tx: self._ledger.chain(tx, slot, now))
        if found is not None:
            return found
        return await self._db.write(lambda tx: self._ledger.ensure_chain(tx, slot, now))

    async def _in_use(self, slot: str) -> CertificateRow:
        row = await self._db.read(partial(store.in_slot, slot=slot))
        return row or await self._written(self._ledger.in_use, slot)

    async def _written(self, step: Callable[..., CertificateRow], slot: str) -> CertificateRow:
        now = self._clock.now()
        return await self._db.write(lambda tx: step(tx, slot, now))

    async def _crl(self, issuer: CertificateRow) -> bytes:
        now = self._clock.now()
        if issuer.crl is not None and ledger.is_fresh(issuer, now):
            return issuer.crl
        return await self._db.write(lambda tx: self._ledger.crl(tx, issuer.id, now))

    async def _authority(self, name: str) -> CertificateRow:
        if name in AUTHORITIES:
            return await self._in_use(name)

        def find(tx: Tx) -> CertificateRow | None:
            return store.certificate(tx, name)

        row = await self._db.read(find)
        if row is None or row.slot not in AUTHORITIES:
            raise NotFound("There is no authority with this name")
        return row


def _shown(row: CertificateRow) -> CertificateSummary:
    from cryptography import x509

    certificate = x509.load_der_x509_certificate(row.certificate)
    return CertificateSummary(
        id=row.id,
        use=row.slot,
        subject=certificate.subject.rfc4514_string(),
        serial=row.serial,
        fingerprint=issue.fingerprint(row.certificate),
        created_at=row.created_at,
        not_after=row.not_after,
        status="revoked" if row.revoked_at else "ended" if row.ended_at else "in use",
        brought=ledger.is_brought(row),
    )


__all__ = [
    "ENCRYPTED_KEYS",
    "ISSUING",
    "ROOT",
    "TIMESTAMP",
    "CertificateSummary",
    "Certificates",
    "Reason",
    "SealIdentity",
    "Trusted",
]
