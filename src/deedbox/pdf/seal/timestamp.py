"""RFC 3161: reads queries strictly, makes tokens and refusals, and checks the answer of another authority."""

import hashlib
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from deedbox.kernel.ids import Entropy
from deedbox.pdf.seal import cms, der
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.der import Item, Malformed

QUERY_TYPE: Final = "application/timestamp-query"
REPLY_TYPE: Final = "application/timestamp-reply"
POLICY: Final = der.oid("2.25.327608488588120716718320561366850578028")
"""In the arc of UUIDs, where anyone may name things: a token of the server's own clock, accurate to a second."""
BAD_ALGORITHM, BAD_REQUEST, BAD_FORMAT, WRONG_POLICY, WRONG_EXTENSION, SYSTEM_FAILURE = 0, 2, 5, 15, 16, 25

_TST_INFO = der.oid("1.2.840.113549.1.9.16.1.4")
_SHA256_NAME = der.oid("2.16.840.1.101.3.4.2.1")
_DIGEST_BYTES = {
    _SHA256_NAME: 32,
    der.oid("2.16.840.1.101.3.4.2.2"): 48,
    der.oid("2.16.840.1.101.3.4.2.3"): 64,
}
_HASHES = dict(zip(_DIGEST_BYTES, ("sha256", "sha384", "sha512"), strict=True))
_NONCE_BYTES = 32
_SERIAL_BYTES = 16
_ACCURACY = der.sequence(der.integer(1))
_GRANTED = der.sequence(der.integer(0))
_REJECTED = 2


class TimestampRefusal(Exception):
    """Why a query gets no token: the bit of PKIFailureInfo, and a sentence."""

    def __init__(self, bit: int, sentence: str) -> None:
        super().__init__(sentence)
        self.bit = bit
        self.sentence = sentence


class Query(NamedTuple):
    """What is to be time-stamped: the imprint and the nonce as they came, byte for byte."""

    imprint: bytes
    nonce: bytes
    certificates: bool


class Timestamper:
    """A time-stamp unit in process: a token costs one signature."""

    def __init__(self, signer: CmsSigner, crl_ders: Sequence[bytes] = (), entropy: Entropy = os.urandom) -> None:
        self._signer = signer
        self._entropy = entropy
        self.certificate_ders = (signer.certificate_der, *signer.chain_ders)
        self.crl_ders = tuple(crl_ders)
        self._name = der.explicit(0, der.explicit(4, cms.subject(signer.certificate_der)))

    @property
    def most_bytes(self) -> int:
        """A size that no token exceeds."""
        return self._signer.most_bytes + len(self._name)

    def token(self, digest: bytes, now: datetime) -> bytes:
        """A token for a SHA-256 digest."""
        return self._token(Query(der.sequence(cms.SHA256, der.octets(digest)), b"", certificates=True), now)

    def answer(self, query: bytes, now: datetime) -> bytes:
        """The TimeStampResp for a TimeStampReq: a token, or a rejection with its reason."""
        try:
            return der.sequence(_GRANTED, self._token(read_query(query), now))
        except TimestampRefusal as refusal:
            return rejection(refusal)

    def _token(self, query: Query, now: datetime) -> bytes:
        # One leading byte that is neither zero nor negative keeps every serial number at the same length.
        serial = b"\x01" + self._entropy(_SERIAL_BYTES - 1)
        info = der.sequence(
            der.integer(1),
            POLICY,
            query.imprint,
            der.tag_value(der.INTEGER, serial),
            der.generalized_time(now),
            _ACCURACY,
            query.nonce,
            self._name,
        )
        digest = hashlib.sha256(info).digest()
        return self._signer.signed_data(_TST_INFO, info, digest, certificates=query.certificates)


def read_query(data: bytes) -> Query:
    """The query in a TimeStampReq; Refusal if it is not one, or asks for what this unit does not do."""
    try:
        version, imprint, *rest = der.children(data)
        if der.number(version) != 1:
            raise TimestampRefusal(BAD_REQUEST, "Only version 1 of the timestamp query is known")
        _check_imprint(imprint)
        return _with_wishes(imprint, rest)
    except ValueError as error:  # Malformed, or too few values to unpack
        raise TimestampRefusal(BAD_FORMAT, "The query is not a TimeStampReq in DER") from error


def _check_imprint(imprint: Item) -> None:
    algorithm, digest = der.children(imprint.whole)
    name, *parameters = der.children(algorithm.whole)
    if name.tag != der.OID or [item.whole for item in parameters] not in ([], [der.tag_value(der.NULL)]):
        raise Malformed("Not the name of a hash")
    if name.whole not in _DIGEST_BYTES:
        raise TimestampRefusal(BAD_ALGORITHM, "Only SHA-256, SHA-384 and SHA-512 are timestamped")
    if digest.tag != der.OCTETS or len(digest.content) != _DIGEST_BYTES[name.whole]:
        raise Malformed("The hash has another length than its algorithm gives")


def _with_wishes(imprint: Item, rest: list[Item]) -> Query:
    left = list(rest)
    if left and left[0].tag == der.OID and left.pop(0).whole != POLICY:
        raise TimestampRefusal(WRONG_POLICY, "This unit issues timestamps under its own policy only")
    nonce = b""
    if left and left[0].tag == der.INTEGER:
        der.number(left[0])
        nonce = left.pop(0).whole
        if len(nonce) > _NONCE_BYTES + 2:
            raise TimestampRefusal(BAD_REQUEST, f"The nonce is longer than {_NONCE_BYTES} bytes")
    certificates = bool(left) and left[0].whole == der.TRUE
    if certificates:
        left.pop(0)
    if left and left[0].tag == 0xA0:
        raise TimestampRefusal(WRONG_EXTENSION, "This unit knows no extension")
    if left:
        raise Malformed("Something follows that has no place in a query")
    return Query(imprint.whole, nonce, certificates)


def rejection(refusal: TimestampRefusal) -> bytes:
    """A TimeStampResp without token."""
    sentence = der.sequence(der.tag_value(der.UTF8, refusal.sentence.encode()))
    return der.sequence(der.sequence(der.integer(_REJECTED), sentence, der.bits(refusal.bit)))


def query(digest: bytes, nonce: bytes) -> bytes:
    """A TimeStampReq for a SHA-256 digest that asks for the certificates too."""
    imprint = der.sequence(cms.SHA256, der.octets(digest))
    return der.sequence(der.integer(1), imprint, _nonce(nonce), der.TRUE)


def parse_response(response: bytes, digest: bytes, nonce: bytes) -> tuple[bytes, datetime]:
    """The token in another authority's TimeStampResp, which must answer this very query, and its time.

    Malformed, with the reason, if it does not, or if its signature is not that of the certificate in it.
    Whether the authority is to be trusted is not asked here."""
    try:
        status, *tokens = der.children(response)
        state, *_ = der.children(status.whole)
        refused = der.number(state) not in (0, 1)
    except ValueError as error:
        raise Malformed("The answer is no TimeStampResp in DER") from error
    if refused:
        raise Malformed("The authority refused to issue a timestamp")
    if len(tokens) != 1:
        raise Malformed("The authority granted a timestamp but did not send one")
    token = tokens[0].whole
    held = cms.verify_signed_data(token)
    return cms.normalize_signed_data(token, held.signer), _checked_time(held, digest, nonce)


class TimestampToken(NamedTuple):
    """A true token: who made it, when, for which digest, and the certificates that it carries, all in DER."""

    signer: bytes
    certificates: list[bytes]
    at: datetime
    is_own: bool
    """Byte for byte as the server's own unit writes tokens, under its policy."""


def read(token: bytes, digests: Callable[[str], bytes], *, exact: bool = True) -> TimestampToken:
    """The token, if it is true and about what has these digests; Malformed says why it is not.

    In an exact one there is no byte that nobody signed but the certificates."""
    held = cms.verify_signed_data(token)
    info = _info(held)
    algorithm, digest = der.children(info[2].whole)
    name = _HASHES.get(der.children(algorithm.whole)[0].whole)
    if name is None or digest.content != digests(name):
        raise Malformed("The timestamp belongs to different data")
    if exact and cms.normalize_signed_data(token, held.signer) != token:
        raise Malformed("The timestamp holds something that nobody signed")
    is_own = info[1].whole == POLICY
    if is_own and exact:
        cms.demand_own_form(token)
    return TimestampToken(held.signer, held.certificates, _moment(info[4].content), is_own)


def made_at(token: bytes) -> datetime:
    """The time that a token tells; Malformed if it tells none, or its signature is not that of its certificate."""
    return _moment(_info(cms.verify_signed_data(token))[4].content)


def _info(held: cms.Verified) -> list[Item]:
    info = der.children(held.content)
    if held.content_type != _TST_INFO or len(info) < 5 or info[4].tag != der.GENERALIZED_TIME:
        raise Malformed("The token contains no time")
    return info


def _checked_time(held: cms.Verified, digest: bytes, nonce: bytes) -> datetime:
    info = _info(held)
    imprint = [item.content for item in der.children(info[2].whole)]
    if len(imprint) != 2 or not imprint[0].startswith(_SHA256_NAME) or imprint[1] != digest:
        raise Malformed("The authority timestamped something else")
    if _nonce(nonce) not in [item.whole for item in info[5:]]:
        raise Malformed("The authority answered another query")
    return _moment(info[4].content)


def _moment(text: bytes) -> datetime:
    return der.moment(text.rstrip(b"Z").partition(b".")[0].decode("ascii", "replace"))


def _nonce(nonce: bytes) -> bytes:
    return der.integer(int.from_bytes(nonce, "big"))
