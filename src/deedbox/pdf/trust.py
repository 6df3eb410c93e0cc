"""Trusted roots, the path from a certificate to one of them at a moment, and what was revoked by then."""

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from asn1crypto import x509 as asn1
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID
from msgspec import Struct
from pyhanko_certvalidator import CertificateValidator
from pyhanko_certvalidator.context import ValidationContext
from pyhanko_certvalidator.errors import PathBuildingError, PathError, ValidationError
from pyhanko_certvalidator.path import ValidationPath

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.signed_data import reading

_COMPROMISED = {x509.ReasonFlags.key_compromise, x509.ReasonFlags.ca_compromise, x509.ReasonFlags.aa_compromise}


class Path(Struct, frozen=True):
    """From the certificate to the root; empty, with a reason, when there is none."""

    certificates: list[x509.Certificate]
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.certificates)


class Trust:
    """Trusted roots, and what is known of the certificates below them: all in DER."""

    def __init__(
        self,
        roots: Iterable[bytes],
        others: Iterable[bytes],
        crls: Iterable[bytes],
        timestamp_roots: Iterable[bytes] = (),
    ) -> None:
        with reading("A trusted root cannot be read."):
            self._roots = [asn1.Certificate.load(root, strict=True) for root in roots]
            # Trusted to tell the time, and not to say who sealed.
            self._timestamp_roots = [asn1.Certificate.load(root, strict=True) for root in timestamp_roots]
        self._others = [certificate for certificate in map(_certificate, others) if certificate is not None]
        self._crls = [crl for crl in map(_crl, crls) if crl is not None]

    def path(
        self,
        certificate: asn1.Certificate,
        beside: Sequence[asn1.Certificate],
        at: datetime,
        *,
        of_timestamp: bool = False,
    ) -> Path:
        """The path from the certificate, of a time-stamp or of a seal, to a root, valid at the moment."""
        try:
            with reading("Its certificate chain cannot be read."):
                context = ValidationContext(
                    trust_roots=[*self._roots, *self._timestamp_roots] if of_timestamp else self._roots,
                    other_certs=[*beside, *self._others],
                    moment=at,
                    allow_fetching=False,
                    revocation_mode="soft-fail",
                )
                found = _finished(CertificateValidator(certificate, validation_context=context).async_validate_path())
        except BadRequest as error:
            return Path([], _reason(error))
        # The anchor comes first.
        return Path([_loaded(one.dump()) for one in reversed(list(found))])

    def revoked(self, path: Path, at: datetime) -> bool | None:
        """Whether a certificate on the path was revoked by then; None when there is no list to tell."""
        told = [self._revoked(one, issuer, at) for one, issuer in pairwise(path.certificates)]
        if any(told):
            return True
        return None if None in told else False

    def changed(self, certificates: Sequence[asn1.Certificate]) -> bool:
        """Whether one of these is not what its issuer signed, although the issuer is known."""
        try:
            return any(issuers and not made for issuers, made in self._issuers(certificates))
        except BadRequest:
            return True

    def tied(self, certificates: Sequence[asn1.Certificate]) -> bool:
        """Whether each of these is a trusted one or what a known issuer signed, so that no byte could be another."""
        roots = {root.dump() for root in self._roots}
        try:
            return all(made for _, made in self._issuers([one for one in certificates if one.dump() not in roots]))
        except BadRequest:
            return False

    def _issuers(self, certificates: Sequence[asn1.Certificate]) -> Iterator[tuple[int, int]]:
        """For each certificate, how many known ones have its issuer's name, and how many of them did sign it."""
        loaded = [_loaded(one.dump()) for one in certificates]
        known = [*loaded, *(_loaded(one.dump()) for one in (*self._roots, *self._timestamp_roots, *self._others))]
        for certificate in loaded:
            named = [one for one in known if one.subject == certificate.issuer]
            yield len(named), sum(_issued(certificate, issuer) for issuer in named)

    def _revoked(self, certificate: x509.Certificate, issuer: x509.Certificate, at: datetime) -> bool | None:
        told = None
        for crl in self._crls:
            if crl.issuer != issuer.subject or not crl.is_signature_valid(issuer.public_key()):  # type: ignore[arg-type]
                continue
            entry = crl.get_revoked_certificate_by_serial_number(certificate.serial_number)
            if entry is not None and _counts(entry, certificate, at):
                return True
            # A list that ran out before knows nothing of the moment.
            if crl.next_update_utc is None or crl.next_update_utc >= at:
                told = False
        return told


def _finished(work: Coroutine[Any, Any, ValidationPath]) -> Iterable[asn1.Certificate]:
    """The result of a coroutine that fetches nothing; an event loop would need files that a sandbox does not have."""
    try:
        work.send(None)
    except StopIteration as end:
        path: ValidationPath = end.value
        return path
    work.close()
    raise BadRequest("Its certificate chain cannot be judged without asking elsewhere.")


def may_seal(certificate: asn1.Certificate) -> bool:
    """Whether the certificate is for signing documents: not an authority's, and not only for time-stamps."""
    loaded = _loaded(certificate.dump())
    return not _is_authority(loaded) and _signs(loaded) and not _makes_timestamps(loaded)


def may_timestamp(certificate: asn1.Certificate) -> bool:
    """Whether the certificate is for time-stamps, and for nothing else."""
    loaded = _loaded(certificate.dump())
    return not _is_authority(loaded) and _signs(loaded) and _makes_timestamps(loaded, alone=True)


def _reason(error: BadRequest) -> str:
    cause = error.__cause__
    if isinstance(cause, PathBuildingError):
        return "Its certificate does not lead to a root that is trusted here."
    if isinstance(cause, (PathError, ValidationError)):
        return f"Its certificate chain is not valid at that time: {cause}"
    return error.message


def _loaded(der: bytes) -> x509.Certificate:
    with reading("A certificate cannot be read."):
        loaded = x509.load_der_x509_certificate(der)
        loaded.extensions  # noqa: B018 - read now, so that a bad one fails here
        return loaded


def _certificate(der: bytes) -> asn1.Certificate | None:
    try:
        _loaded(der)
    except BadRequest:
        return None
    return asn1.Certificate.load(der)


def _crl(der: bytes) -> x509.CertificateRevocationList | None:
    try:
        with reading("A revocation list cannot be read."):
            return x509.load_der_x509_crl(der)
    except BadRequest:
        return None


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _counts(entry: x509.RevokedCertificate, certificate: x509.Certificate, at: datetime) -> bool:
    reason = _entry_extension(entry, x509.CRLReason)
    why = reason.reason if isinstance(reason, x509.CRLReason) else None
    if why is x509.ReasonFlags.remove_from_crl:
        return False
    since = entry.revocation_date_utc
    invalid = _entry_extension(entry, x509.InvalidityDate)
    if isinstance(invalid, x509.InvalidityDate):
        since = min(since, invalid.invalidity_date_utc)
    # With a stolen key of an authority or a time-stamp unit any date can be written.
    return since <= at or (why in _COMPROMISED and (_is_authority(certificate) or _makes_timestamps(certificate)))


def _entry_extension(entry: x509.RevokedCertificate, kind: type[x509.ExtensionType]) -> x509.ExtensionType | None:
    try:
        return entry.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _extension(certificate: x509.Certificate, kind: type[x509.ExtensionType]) -> x509.ExtensionType | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _is_authority(certificate: x509.Certificate) -> bool:
    constraints = _extension(certificate, x509.BasicConstraints)
    return isinstance(constraints, x509.BasicConstraints) and constraints.ca


def _signs(certificate: x509.Certificate) -> bool:
    usage = _extension(certificate, x509.KeyUsage)
    return not isinstance(usage, x509.KeyUsage) or usage.digital_signature or usage.content_commitment


def _makes_timestamps(certificate: x509.Certificate, *, alone: bool = False) -> bool:
    usages = _extension(certificate, x509.ExtendedKeyUsage)
    if not isinstance(usages, x509.ExtendedKeyUsage):
        return False
    return ExtendedKeyUsageOID.TIME_STAMPING in usages and (not alone or len(usages) == 1)
