"""Trusted roots, the path from a certificate to one of them at a moment, and what was revoked by then.

By `cryptography` alone. A path is taken only if every step is sure: what a certificate demands and nothing here can
check (name constraints, a critical extension that is not known) is a reason not to trust it."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID
from msgspec import Struct

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest, ServiceError
from deedbox.pdf import limits

_COMPROMISED = {x509.ReasonFlags.key_compromise, x509.ReasonFlags.ca_compromise, x509.ReasonFlags.aa_compromise}
_UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What a certificate or list that was changed or badly made raises when it is read."""
_KNOWN = (
    x509.BasicConstraints,
    x509.KeyUsage,
    x509.ExtendedKeyUsage,
    x509.SubjectKeyIdentifier,
    x509.AuthorityKeyIdentifier,
    x509.SubjectAlternativeName,
    x509.IssuerAlternativeName,
    x509.CertificatePolicies,
    x509.CRLDistributionPoints,
    x509.AuthorityInformationAccess,
)
DOCUMENT_SIGNING = x509.ObjectIdentifier("1.3.6.1.5.5.7.3.36")
"""The usage of RFC 9336."""
_SEALS = {
    DOCUMENT_SIGNING,
    x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.12"),  # Microsoft's name for it
    x509.ObjectIdentifier("1.2.840.113583.1.1.5"),  # Adobe's
}
"""The extended usages of which a sealing certificate has at least one."""
_SEALS_MAY_HAVE = {*_SEALS, ExtendedKeyUsageOID.EMAIL_PROTECTION}
"""Readers on NSS, poppler's pdfsig among them, accept document signatures only with the usage of signed mail."""
_NO_ROOT = "Its certificate does not chain to a root certificate that this server trusts."


_Known: TypeAlias = dict[x509.Name, list[x509.Certificate]]
"""Certificates by subject."""


class TooMuchWork(ServiceError):
    """The file holds more than verification examines; nothing is said about its signatures."""

    status = 400

    def __init__(self, what: str) -> None:
        super().__init__(f"The file contains more than this server checks: {what}.")


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
        self._roots = [load_certificate(root) for root in roots]
        # Trusted to tell the time, and not to say who sealed.
        self._timestamp_roots = [load_certificate(root) for root in timestamp_roots]
        self._others = [one for one in map(_certificate, others) if one is not None]
        self._crls = {der: crl for der in crls if (crl := _crl(der)) is not None}
        self._steps = 0

    def path(self, certificate: bytes, beside: Sequence[bytes], at: datetime, *, of_timestamp: bool = False) -> Path:
        """The path from the certificate, of a time-stamp or of a seal, to a root, valid at the moment."""
        try:
            leaf = load_certificate(certificate)
        except BadRequest as error:
            return Path([], error.message)
        roots = [*self._roots, *(self._timestamp_roots if of_timestamp else ())]
        between = [*(one for one in map(_certificate, _bounded(beside)) if one is not None), *self._others]
        problems: list[str] = []
        for found in self._paths([leaf], _by_subject(roots), _by_subject(between)):
            problem = _problem(found, at)
            if not problem:
                return Path(found)
            problems.append(problem)
        return Path([], problems[0] if problems else _NO_ROOT)

    def revoked(self, path: Path, at: datetime) -> bool | None:
        """Whether a certificate on the path was revoked by then; None when there is no list to tell."""
        told = [self._revoked(one, issuer, at) for one, issuer in pairwise(path.certificates)]
        if any(told):
            return True
        return None if None in told else False

    def changed(self, certificates: Sequence[bytes]) -> bool:
        """Whether one of these is not what its issuer signed, although the issuer is known."""
        try:
            held = [load_certificate(one) for one in _bounded(certificates)]
        except BadRequest:
            return True
        known = _by_subject([*held, *self._roots, *self._timestamp_roots, *self._others])
        for certificate in held:
            named = known.get(certificate.issuer, [])
            if named and not any(self._issued(certificate, issuer) for issuer in named):
                return True
        return False

    def _paths(self, begun: list[x509.Certificate], roots: _Known, between: _Known) -> Iterator[list[x509.Certificate]]:
        """Every way up to a root by names and signatures."""
        last = begun[-1]
        if last in roots.get(last.subject, []):
            yield begun
            return
        for root in roots.get(last.issuer, []):
            if self._issued(last, root):
                yield [*begun, root]
        if len(begun) < limits.CERTIFICATE_PATH:
            for above in between.get(last.issuer, []):
                is_new = above not in begun and above not in roots.get(above.subject, [])
                if is_new and self._issued(last, above):
                    yield from self._paths([*begun, above], roots, between)

    def _issued(self, certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
        """Whether the issuer signed the certificate; TooMuchWork if a file has too many that could have."""
        self._steps += 1
        if self._steps > limits.VERIFY_TRUST_STEPS:
            raise TooMuchWork("its certificates have too many possible issuers")
        return _issued(certificate, issuer)

    def _revoked(self, certificate: x509.Certificate, issuer: x509.Certificate, at: datetime) -> bool | None:
        told = None
        for der, crl in self._crls.items():
            if crl.issuer != issuer.subject or not _signed_list(der, issuer):
                continue
            entry = crl.get_revoked_certificate_by_serial_number(certificate.serial_number)
            if entry is not None and _counts(entry, certificate, at):
                return True
            # A list that ran out before knows nothing of the moment.
            if crl.next_update_utc is None or crl.next_update_utc >= at:
                told = False
        return told


def _bounded(certificates: Sequence[bytes]) -> Sequence[bytes]:
    """The certificates of one signature; TooMuchWork if there are too many."""
    if len(certificates) > limits.VERIFY_CERTIFICATES:
        raise TooMuchWork(f"more than {limits.VERIFY_CERTIFICATES} certificates in one signature")
    return certificates


def _by_subject(certificates: Iterable[x509.Certificate]) -> _Known:
    found: _Known = {}
    for one in dict.fromkeys(certificates):
        found.setdefault(one.subject, []).append(one)
    return found


def _problem(path: Sequence[x509.Certificate], at: datetime) -> str:
    """Why the path does not hold; empty if it does. The root's own dates do not count: it is trusted as it is."""
    for number, one in enumerate(path):
        if number < len(path) - 1 and not one.not_valid_before_utc <= at <= one.not_valid_after_utc:
            return "Its certificate chain was not valid at that time: a certificate was not yet valid or had expired."
        if unknown := _unknown(one):
            return f"Its certificate chain contains a constraint that this server cannot check: {unknown}."
        if number and not _may_issue(one, number - 1):
            return "Its certificate was issued by a certificate that may not issue others."
    return ""


@lru_cache(maxsize=shared_limits.SEAL_IDENTITIES)
def _unknown(certificate: x509.Certificate) -> str:
    for extension in certificate.extensions:
        if extension.critical and not isinstance(extension.value, _KNOWN):
            return str(extension.oid.dotted_string)
    return ""


def _may_issue(certificate: x509.Certificate, below: int) -> bool:
    """Whether it is an authority's, which may have so many authorities below it."""
    constraints = _extension(certificate, x509.BasicConstraints)
    usage = _extension(certificate, x509.KeyUsage)
    if not isinstance(constraints, x509.BasicConstraints) or not constraints.ca:
        return False
    deep_enough = constraints.path_length is None or constraints.path_length >= below
    return deep_enough and (not isinstance(usage, x509.KeyUsage) or usage.key_cert_sign)


@lru_cache(maxsize=shared_limits.SEAL_IDENTITIES)
def may_seal(certificate: bytes) -> bool:
    """Whether the certificate is for signing documents, and for nothing else but signed mail."""
    one = load_certificate(certificate)
    return not _is_authority(one) and _signs(one) and has_sealing_usage(one)


def has_sealing_usage(certificate: x509.Certificate) -> bool:
    """Whether the extended key usage names document signing, and no usage that a seal does not need.

    Without this rule, any server certificate below a trusted root could seal."""
    usages = _extension(certificate, x509.ExtendedKeyUsage)
    named = set(usages) if isinstance(usages, x509.ExtendedKeyUsage) else set()
    return bool(named & _SEALS) and named <= _SEALS_MAY_HAVE


@lru_cache(maxsize=shared_limits.SEAL_IDENTITIES)
def may_timestamp(certificate: bytes) -> bool:
    """Whether the certificate is for time-stamps, and for nothing else."""
    one = load_certificate(certificate)
    return not _is_authority(one) and _signs(one) and _makes_timestamps(one, alone=True)


@lru_cache(maxsize=shared_limits.SEAL_IDENTITIES)
def load_certificate(der: bytes) -> x509.Certificate:
    """The certificate; BadRequest if it cannot be read, or was not written in DER."""
    try:
        found = x509.load_der_x509_certificate(der)
        found.extensions  # noqa: B018 - read now, so that a bad one fails here
        whole = found.public_bytes(Encoding.DER) == der
    except _UNREADABLE as error:
        raise BadRequest("A certificate cannot be read.") from error
    if not whole:
        raise BadRequest("A certificate cannot be read.")
    return found


def _certificate(der: bytes) -> x509.Certificate | None:
    try:
        return load_certificate(der)
    except BadRequest:
        return None


@lru_cache(maxsize=shared_limits.SEAL_IDENTITIES)
def _crl(der: bytes) -> x509.CertificateRevocationList | None:
    try:
        found = x509.load_der_x509_crl(der)
        found.extensions  # noqa: B018 - read now, so that a bad one fails here
    except _UNREADABLE:
        return None
    return found


@lru_cache(maxsize=shared_limits.SEAL_IDENTITIES)
def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


@lru_cache(maxsize=shared_limits.SEAL_IDENTITIES)
def _signed_list(der: bytes, issuer: x509.Certificate) -> bool:
    crl = _crl(der)
    try:
        return crl is not None and crl.is_signature_valid(issuer.public_key())  # type: ignore[arg-type]
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False


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
    except (x509.ExtensionNotFound, *_UNREADABLE):
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
