"""The ledger of certificates in use: made on first need, replaced before their end, revoked when they must be."""

from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from deedbox.authority import issue, store
from deedbox.authority.issue import Addresses, Issued, Revoked
from deedbox.authority.store import CertificateRow
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.ids import new_id
from deedbox.pdf.seal import der
from deedbox.pdf.seal.cms import PrivateKey

ROOT, ISSUING, TIMESTAMP = "root", "issuing", "timestamp"
AUTHORITIES = (ROOT, ISSUING)
_SEAL = "seal:"
_BEFORE_END = {
    # A root must outlast what it issues, or each that follows would have a shorter life than the one before.
    ROOT: issue.ISSUING_LIFE,
    # An issuing certificate must outlast each seal that it issues.
    ISSUING: issue.SEAL_LIFE,
    # A token is believed as long as its unit's certificate lasts: young units make tokens that last.
    TIMESTAMP: issue.TIMESTAMP_UNIT_LIFE / 2,
    _SEAL: timedelta(days=30),
}
_CRL_LIFE = {ROOT: issue.ROOT_CRL_LIFE, ISSUING: issue.ISSUING_CRL_LIFE}


class CertificateChain(NamedTuple):
    """A certificate in use, the certificates above it, and a fresh CRL of each issuer."""

    row: CertificateRow
    above: list[bytes]
    crls: list[bytes]


def seal_slot(workspace_id: str) -> str:
    return _SEAL + workspace_id


def key_place(certificate_id: str) -> str:
    """Where a private key belongs: the box opens it nowhere else."""
    return f"certificates.private_key:{certificate_id}"


def is_brought(row: CertificateRow) -> bool:
    """Whether the workspace brought it, so that we neither renew nor revoke it."""
    return row.issuer_id is None and row.slot != ROOT


def is_in_token(row: CertificateRow) -> bool:
    """Whether the certificate is in use with a key that is in a token."""
    return is_brought(row) and row.private_key is None and row.ended_at is None


def chain_of(row: CertificateRow) -> list[bytes]:
    """The certificates above one that the workspace brought, nearest first."""
    return [item.whole for item in der.items(row.chain)]


class Ledger:
    def __init__(self, box: ValueCipher, base_url: str | None) -> None:
        self._box = box
        self._base_url = base_url
        self._organization = (urlsplit(base_url).hostname if base_url else None) or "Deedbox"

    def chain(self, tx: Tx, slot: str, now: datetime) -> CertificateChain | None:
        """The chain in use in the slot; None if a part of it has to be made first. Changes nothing."""
        row = store.in_slot(tx, slot)
        if row is None or _is_due(row, now):
            return None
        if is_brought(row):
            _refuse_ended(row, now)
            return CertificateChain(row, chain_of(row), [])
        above, crls, below = [], [], row
        while below.issuer_id is not None:
            issuer = store.certificate(tx, below.issuer_id)
            if issuer is None or issuer.crl is None or not is_fresh(issuer, now):
                return None
            above.append(issuer.certificate)
            crls.append(issuer.crl)
            below = issuer
        return CertificateChain(row, above, crls)

    def ensure_chain(self, tx: Tx, slot: str, now: datetime) -> CertificateChain:
        """As `chain`, after making what is missing."""
        row = self.in_use(tx, slot, now)
        above = row
        while above.issuer_id is not None:
            self.crl(tx, above.issuer_id, now)
            above = self._found(tx, above.issuer_id)
        chain = self.chain(tx, slot, now)
        if chain is None:
            raise Conflict("The certificates changed at this moment. Try again.")
        return chain

    def in_use(self, tx: Tx, slot: str, now: datetime) -> CertificateRow:
        """The certificate in the slot, made if there is none, replaced if it is near its end."""
        row = store.in_slot(tx, slot)
        if row is not None and (is_brought(row) or not _is_due(row, now)):
            return row
        return self.replaced(tx, slot, now)

    def replaced(self, tx: Tx, slot: str, now: datetime) -> CertificateRow:
        """A new certificate in the slot. What the old one has issued is used no more, and made anew when needed."""
        old = store.in_slot(tx, slot)
        for certificate_id in [old.id, *store.below(tx, old.id)] if old is not None else ():
            store.end(tx, certificate_id, instant(now))
        issuer = None if slot == ROOT else self.in_use(tx, ISSUING if slot.startswith(_SEAL) else ROOT, now)
        issued = self._issued(tx, slot, issuer, now)
        above = issuer.id if issuer is not None else None
        store.add(tx, self.row_of(issued.certificate, issued.key_der, slot, above, b"", now))
        row = store.in_slot(tx, slot)
        if row is None:
            raise Conflict("The certificates changed at this moment. Try again.")
        return row

    def bring(
        self,
        tx: Tx,
        workspace_id: str,
        certificate: x509.Certificate,
        key_der: bytes | None,
        chain: list[bytes],
        now: datetime,
    ) -> CertificateRow:
        """The workspace seals with this from now on; None for a key that is in a token."""
        if store.workspace_name(tx, workspace_id) is None:
            raise NotFound("Workspace does not exist")
        slot = seal_slot(workspace_id)
        old = store.in_slot(tx, slot)
        if old is not None:
            store.end(tx, old.id, instant(now))
        row = self.row_of(certificate, key_der, slot, None, b"".join(chain), now)
        store.add(tx, row)
        return row

    def revoke(self, tx: Tx, certificate_id: str, reason: str, now: datetime) -> CertificateRow:
        """Ends the certificate and all that it has issued; the issuer's next CRL, made at once, names it."""
        row = self._found(tx, certificate_id)
        if row.slot == ROOT:
            raise Conflict(
                "A root cannot be revoked: take it out of where it is trusted, and run `deedbox ca renew root`"
            )
        if row.issuer_id is None:
            raise Conflict("The workspace brought this certificate: only its issuer can revoke it")
        if not store.revoke(tx, row.id, reason, instant(now)):
            raise Conflict("The certificate is revoked already")
        for one in (row.id, *store.below(tx, row.id)):
            store.end(tx, one, instant(now))
        self._next_crl(tx, self._found(tx, row.issuer_id), now)
        return self._found(tx, row.id)

    def crl(self, tx: Tx, issuer_id: str, now: datetime) -> bytes:
        """The issuer's CRL, made anew when half of its life is over."""
        issuer = self._found(tx, issuer_id)
        if issuer.crl is not None and is_fresh(issuer, now):
            return issuer.crl
        return self._next_crl(tx, issuer, now)

    def key_of(self, row: CertificateRow) -> PrivateKey:
        if is_in_token(row):
            raise Conflict(
                "The workspace's seal key is in a token, and no token is configured: set DEEDBOX_PKCS11_MODULE,"
                " or go back to a certificate of this installation with `deedbox ca renew seal`."
            )
        if row.private_key is None:
            raise Conflict("The private key of a certificate that has ended is no longer kept")
        return issue.load_key(self._box.decrypt(row.private_key, key_place(row.id)))

    def row_of(
        self,
        certificate: x509.Certificate,
        key_der: bytes | None,
        slot: str,
        issuer_id: str | None,
        chain: bytes,
        now: datetime,
    ) -> CertificateRow:
        certificate_id = new_id("crt", now)
        return CertificateRow(
            id=certificate_id,
            slot=slot,
            issuer_id=issuer_id,
            serial=f"{certificate.serial_number:x}",
            certificate=certificate.public_bytes(Encoding.DER),
            chain=chain,
            private_key=None if key_der is None else self._box.encrypt(key_der, key_place(certificate_id)),
            created_at=instant(now),
            not_after=instant(certificate.not_valid_after_utc),
        )

    def _issued(self, tx: Tx, slot: str, issuer: CertificateRow | None, now: datetime) -> Issued:
        if issuer is None:
            return issue.make_root(self._organization, now=now)
        above, addresses = self._loaded(issuer), self._addresses(issuer.id)
        if slot == ISSUING:
            return issue.issue_intermediate(above, self._organization, addresses, now=now)
        if slot == TIMESTAMP:
            return issue.make_timestamp_unit(above, self._organization, addresses, now=now)
        name = store.workspace_name(tx, slot.removeprefix(_SEAL))
        if name is None:
            raise NotFound("Workspace does not exist")
        return issue.make_seal(above, name, addresses, now=now)

    def _next_crl(self, tx: Tx, issuer: CertificateRow, now: datetime) -> bytes:
        revoked = [
            Revoked(int(serial, 16), moment(at), x509.ReasonFlags(reason))
            for serial, at, reason in store.revoked_by(tx, issuer.id)
        ]
        life = _CRL_LIFE[issuer.slot]
        made = issue.make_crl(self._loaded(issuer), revoked, issuer.crl_number + 1, life, now=now)
        if store.keep_crl(tx, issuer, made, instant(now + life / 2)):
            return made
        return self._found(tx, issuer.id).crl or made

    def _loaded(self, row: CertificateRow) -> Issued:
        return Issued(self.key_of(row), x509.load_der_x509_certificate(row.certificate))

    def _addresses(self, issuer_id: str) -> Addresses | None:
        if self._base_url is None:
            return None
        return Addresses(f"{self._base_url}/crl/{issuer_id}.crl", f"{self._base_url}/ca/{issuer_id}.cer")

    def _found(self, tx: Tx, certificate_id: str) -> CertificateRow:
        row = store.certificate(tx, certificate_id)
        if row is None:
            raise NotFound("Certificate does not exist")
        return row


def _is_due(row: CertificateRow, now: datetime) -> bool:
    if is_brought(row):
        return False
    return moment(row.not_after) - _BEFORE_END[_SEAL if row.slot.startswith(_SEAL) else row.slot] <= now


def is_fresh(issuer: CertificateRow, now: datetime) -> bool:
    """Whether the issuer's CRL is in the first half of its life."""
    return issuer.crl_stale_at is not None and now < moment(issuer.crl_stale_at)


def _refuse_ended(row: CertificateRow, now: datetime) -> None:
    if moment(row.not_after) <= now and is_in_token(row):
        raise Conflict(
            f"The certificate of the seal key in the token ended on {row.not_after}. Put a new one in its place, and"
            " start the server again."
        )
    if moment(row.not_after) <= now:
        raise Conflict(
            f"The workspace's own certificate ended on {row.not_after}. Bring a new one with `deedbox ca import`,"
            " or go back to one of this installation with `deedbox ca renew seal`."
        )
