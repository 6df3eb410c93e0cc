"""Reads a CMS signature: who signed what and when, and whether it is true."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, TypeAlias

from asn1crypto import cms as asn1_cms
from asn1crypto import x509
from msgspec import Struct
from pyhanko.sign.validation.generic_cms import extract_self_reported_ts, validate_sig_integrity

from deedbox.kernel.errors import BadRequest, ServiceError

Content: TypeAlias = Literal["data", "tst_info"]

HASHES = ("sha256", "sha384", "sha512")


class SignedData(Struct, frozen=True):
    """A SignedData with one signer, whose certificate it holds."""

    whole: bytes
    asn1: Any
    signer_info: Any
    signer: x509.Certificate
    certificates: list[x509.Certificate]
    algorithm: str
    """The hash of what is signed, in Python's name."""
    content_type: str


class Timestamp(Struct, frozen=True):
    """A time-stamp token: what is signed, and what it says."""

    signed: SignedData
    at: datetime
    policy: bytes
    """Under which it was made, as DER."""
    imprint_algorithm: str
    imprint: bytes


@contextmanager
def translate_errors(sentence: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes a BadRequest with the sentence."""
    try:
        yield
    except (ServiceError, MemoryError, ImportError, OSError):
        raise  # not the file's fault: it must not be called altered for it
    except Exception as error:  # hostile bytes make the parsers raise anything; none of it may pass for a verdict
        raise BadRequest(sentence) from error


def open_signed_data(whole: bytes) -> SignedData:
    """The SignedData in these bytes; BadRequest when they are none, or it has not one signer with a certificate."""
    with translate_errors("The signature cannot be read."):
        message = asn1_cms.ContentInfo.load(whole, strict=True)
        signed_data = message["content"]
        infos = signed_data["signer_infos"]
        certificates = [choice.chosen for choice in signed_data["certificates"] if choice.name == "certificate"]
        if len(infos) != 1:
            raise BadRequest("The signature has not exactly one signer.")
        signers = [one for one in certificates if _is_signer(infos[0], one)]
        if not signers:
            raise BadRequest("The signature does not hold its signer's certificate.")
        algorithm = infos[0]["digest_algorithm"]["algorithm"].native
        content_type = signed_data["encap_content_info"]["content_type"].native
        return SignedData(whole, signed_data, infos[0], signers[0], certificates, algorithm, content_type)


def is_true(signed: SignedData, digest: bytes, content: Content) -> bool:
    """Whether the signer's key signed this digest."""
    if signed.content_type != content or signed.algorithm not in HASHES:
        return False
    try:
        with translate_errors("The signature cannot be checked."):
            # Without signed attributes the signature could be taken for one over something else.
            if not signed.signer_info["signed_attrs"].native:
                return False
            fits, valid = validate_sig_integrity(signed.signer_info, signed.signer, content, digest)
            return bool(fits and valid)
    except BadRequest:
        return False


def timestamp(signed: SignedData) -> Timestamp | None:
    """The time-stamp of the signature, if it has one; BadRequest when it cannot be read."""
    with translate_errors("The timestamp cannot be read."):
        attributes = signed.signer_info["unsigned_attrs"]
        tokens = [one for one in attributes if one["type"].native == "signature_time_stamp_token"]
        if not tokens:
            return None
        return as_timestamp(open_signed_data(tokens[0]["values"][0].dump()))


def as_timestamp(signed: SignedData) -> Timestamp:
    """The token that a SignedData is; BadRequest when it is none."""
    with translate_errors("The timestamp cannot be read."):
        if signed.content_type != "tst_info":
            raise BadRequest("The timestamp is not a timestamp token.")
        told = signed.asn1["encap_content_info"]["content"].parsed
        imprint = told["message_imprint"]
        algorithm = imprint["hash_algorithm"]["algorithm"].native
        policy = told["policy"].dump()
        return Timestamp(signed, told["gen_time"].native, policy, algorithm, imprint["hashed_message"].native)


def timestamp_is_true(token: Timestamp, imprint: Callable[[str], bytes]) -> bool:
    """Whether the token's key signed it, and it is about what `imprint` gives for a hash's name."""
    held: bytes = token.signed.asn1["encap_content_info"]["content"].contents
    if token.imprint_algorithm not in HASHES or token.signed.algorithm not in HASHES:
        return False
    digest = hashlib.new(token.signed.algorithm, held).digest()
    return token.imprint == imprint(token.imprint_algorithm) and is_true(token.signed, digest, "tst_info")


def signed_time(signed: SignedData) -> datetime | None:
    """The time that the signer claims in the signature."""
    with translate_errors("The signature cannot be read."):
        return extract_self_reported_ts(signed.signer_info)


def names_certificate(signed: SignedData) -> bool:
    """Whether the signature says which certificate it is to be checked with, as PAdES demands."""
    with translate_errors("The signature cannot be read."):
        kinds = {one["type"].native for one in signed.signer_info["signed_attrs"]}
        return bool(kinds & {"signing_certificate", "signing_certificate_v2"})


def _is_signer(info: Any, certificate: x509.Certificate) -> bool:
    sid = info["sid"]
    if sid.name == "subject_key_identifier":
        return bool(certificate.key_identifier == sid.chosen.native)
    same_issuer: bool = certificate.issuer == sid.chosen["issuer"]
    return same_issuer and certificate.serial_number == sid.chosen["serial_number"].native
