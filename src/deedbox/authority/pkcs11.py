"""A seal key that stays in a token or HSM: reached through PKCS #11, in threads of its own, one call at a time."""

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding

from deedbox.authority import limits, outside_certificate
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest, SetupError, Unavailable
from deedbox.kernel.settings import Settings
from deedbox.pdf.seal.cms import PublicKey
from deedbox.pdf.seal.pades import SealIdentity

if TYPE_CHECKING:
    import pkcs11

T = TypeVar("T")
_PROBE = b"whether this key belongs to the certificate"


class TokenFailed(Unavailable):
    """The token with the seal key cannot be used now; the message says why."""


class KeyChoice(NamedTuple):
    """Which key of which token, by the settings."""

    module: Path
    token: str
    key: str
    pin: Secret | None
    certificate_file: Path | None


class TokenCertificate(NamedTuple):
    """The certificate of the token's key, and those above it in DER, nearest first."""

    certificate: x509.Certificate
    chain: list[bytes]


def chosen(settings: Settings) -> "HardwareToken | None":
    """The token that the settings name, which is not opened yet; SetupError if it never can be."""
    if settings.pkcs11_module is None or settings.pkcs11_token is None or settings.pkcs11_key is None:
        return None
    for name, path in (("MODULE", settings.pkcs11_module), ("CERTIFICATE_FILE", settings.pkcs11_certificate_file)):
        if path is not None and not path.is_file():
            raise SetupError(f"The file {path} of DEEDBOX_PKCS11_{name} does not exist.", "Correct the setting.")
    return HardwareToken(
        KeyChoice(
            settings.pkcs11_module,
            settings.pkcs11_token,
            settings.pkcs11_key,
            settings.pkcs11_pin,
            settings.pkcs11_certificate_file,
        )
    )


class TokenKey:
    """The private key in the token, as a signer sees it."""

    def __init__(self, token: "HardwareToken", public: PublicKey) -> None:
        self._token = token
        self._public = public

    def public_key(self) -> PublicKey:
        return self._public

    def sign_sha256(self, data: bytes) -> bytes:
        """Only to be called in `apart`: a token may take its time, and takes one call at a time."""
        return self._token.signed(data, self._public)

    async def apart(self, work: Callable[[], T]) -> T:
        """What the work, which signs with this key, returns; it runs beside the event loop."""
        return await self._token.apart(work)


async def with_key(identity: SealIdentity, work: Callable[[], T]) -> T:
    """What the work, which signs as this identity, returns; beside the event loop if the key is in a token."""
    return await identity.key.apart(work) if isinstance(identity.key, TokenKey) else work()


class HardwareToken:
    """Opened on first need, and again after it was away."""

    def __init__(self, choice: KeyChoice) -> None:
        self._choice = choice
        # The library is started without locks of its own.
        self._turn = threading.Lock()
        self._session: pkcs11.Session | None = None
        self._key: Any = None
        """The library's private key, whose kind decides what it can do."""
        self._certificate: TokenCertificate | None = None
        self._refused = ""

    async def certificate(self, now: datetime) -> TokenCertificate:
        """Certificate and chain, as they were when the token was first opened; TokenFailed says what is wrong."""
        if self._certificate is None:
            self._certificate = await self.apart(lambda: self._look(now))
        return self._certificate

    def key(self, certificate_der: bytes) -> TokenKey:
        public = x509.load_der_x509_certificate(certificate_der).public_key()
        if not isinstance(public, PublicKey):
            raise TokenFailed("The certificate of the token's key is neither for an EC nor for an RSA key")
        return TokenKey(self, public)

    async def apart(self, work: Callable[[], T]) -> T:
        """What the work returns, in a thread, when its turn has come; TokenFailed if that takes too long."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        # A thread that no exit waits for: a call into a dead token may never return.
        threading.Thread(target=self._work, args=(work, loop, done), name="pkcs11", daemon=True).start()
        try:
            async with asyncio.timeout(limits.PKCS11_SECONDS):
                return await done
        except TimeoutError as error:
            raise TokenFailed(f"The token did not answer within {limits.PKCS11_SECONDS} seconds") from error

    def _work(self, work: Callable[[], T], loop: asyncio.AbstractEventLoop, done: "asyncio.Future[T]") -> None:
        if not self._turn.acquire(timeout=limits.PKCS11_SECONDS):
            return  # nobody waits any more
        try:
            result, failure = work(), None
        except BaseException as error:  # whatever it is, it belongs to the one who waits
            result, failure = None, error
        finally:
            self._turn.release()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_settle, done, result, failure)

    def signed(self, data: bytes, public: PublicKey) -> bytes:
        """The signature with SHA-256 as a CMS has it, made in a new session if the old one has ended."""
        import pkcs11

        try:
            return self._signed(data, public)
        except (pkcs11.PKCS11Error, TokenFailed):
            self._forget()
        with self._named_failures():
            return self._signed(data, public)

    def _signed(self, data: bytes, public: PublicKey) -> bytes:
        import pkcs11

        key = self._opened()
        pin = self._choice.pin.reveal() if self._choice.pin and _asks_each_time(key) else None
        if isinstance(public, rsa.RSAPublicKey):
            return bytes(key.sign(data, mechanism=pkcs11.Mechanism.SHA256_RSA_PKCS, pin=pin))
        raw = key.sign(hashlib.sha256(data).digest(), mechanism=pkcs11.Mechanism.ECDSA, pin=pin)
        half = len(raw) // 2
        return encode_dss_signature(int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big"))

    def _opened(self) -> Any:
        """The key, in a session that is open; whatever the library raises."""
        import pkcs11

        if self._key is not None:
            return self._key
        if self._refused:
            raise TokenFailed(self._refused)
        library = pkcs11.lib(str(self._choice.module))
        pin = self._choice.pin.reveal() if self._choice.pin else None
        try:
            # All, not one: the library leaves a search that finds too much open, and complains of it later.
            token = _only(list(library.get_tokens(token_label=self._choice.token)), "token", self._choice.token)
            self._session = token.open(user_pin=pin)
        except (pkcs11.PinIncorrect, pkcs11.PinInvalid, pkcs11.PinLenRange, pkcs11.PinLocked, pkcs11.PinExpired):
            # Tried again and again, a wrong PIN locks the token.
            self._refused = "The token refused the PIN of DEEDBOX_PKCS11_PIN: correct it and start the server again"
            raise
        wanted = {
            pkcs11.Attribute.CLASS: pkcs11.ObjectClass.PRIVATE_KEY,
            pkcs11.Attribute.LABEL: self._choice.key,
        }
        self._key = _only(list(self._session.get_objects(wanted)), "private key in the token", self._choice.key)
        return self._key

    def _look(self, now: datetime) -> TokenCertificate:
        with self._named_failures():
            key = self._opened()
            others = self._from_file() if self._choice.certificate_file else self._from_token(key)
        certificate, *above = others
        try:
            outside_certificate.check_certificate(certificate, now)
            chain = outside_certificate.chain(certificate, above, self._where)
        except BadRequest as error:
            raise TokenFailed(f"The seal key in the token cannot be used: {error.message}") from error
        self._check_pair(certificate)
        return TokenCertificate(certificate, chain)

    @property
    def _where(self) -> str:
        return "The token" if self._choice.certificate_file is None else f"The file {self._choice.certificate_file}"

    def _from_file(self) -> list[x509.Certificate]:
        """The key's own certificate first, as the file has them."""
        path = self._choice.certificate_file
        try:
            return x509.load_pem_x509_certificates(path.read_bytes() if path else b"")
        except (OSError, ValueError, x509.InvalidVersion) as error:
            raise TokenFailed(f"{self._where} holds no certificate in PEM: {error}") from error

    def _from_token(self, key: Any) -> list[x509.Certificate]:
        """The one with the key's id, or else its label, and then all others."""
        import pkcs11

        held = list(self._session.get_objects({pkcs11.Attribute.CLASS: pkcs11.ObjectClass.CERTIFICATE}))  # type: ignore[union-attr]
        own = [one for one in held if key.id and one[pkcs11.Attribute.ID] == key.id]
        own = own or [one for one in held if one[pkcs11.Attribute.LABEL] == self._choice.key]
        if not own:
            raise TokenFailed(
                f"The token holds no certificate for the key {self._choice.key!r}: add one next to it, or name a"
                " file with DEEDBOX_PKCS11_CERTIFICATE_FILE"
            )
        try:
            return [
                x509.load_der_x509_certificate(one[pkcs11.Attribute.VALUE])
                for one in (own[0], *(one for one in held if one is not own[0]))
            ]
        except (ValueError, x509.InvalidVersion) as error:
            raise TokenFailed("The token holds a certificate that cannot be read") from error

    def _check_pair(self, certificate: x509.Certificate) -> None:
        """A key whose signatures the certificate does not vouch for would make seals that nobody believes."""
        key = self.key(certificate.public_bytes(Encoding.DER)).public_key()
        signature = self.signed(_PROBE, key)
        try:
            if isinstance(key, ec.EllipticCurvePublicKey):
                key.verify(signature, _PROBE, ec.ECDSA(hashes.SHA256()))
            else:
                key.verify(signature, _PROBE, padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature as error:
            raise TokenFailed(f"The certificate is not that of the key {self._choice.key!r} in the token") from error

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """What the library raises, as TokenFailed; the next call opens the token anew."""
        import pkcs11

        try:
            yield
        except TokenFailed:
            self._forget()
            raise
        except pkcs11.PKCS11Error as error:
            self._forget()
            raise TokenFailed(self._reason(error)) from error

    def _reason(self, error: "pkcs11.PKCS11Error") -> str:
        import pkcs11

        if type(error) is pkcs11.PKCS11Error:  # the loader's
            return f"{self._choice.module} is not a PKCS #11 module that can be loaded: {error}"
        told = f"{type(error).__name__} {error}".strip()
        return self._refused or f"The token with the seal key cannot be used: {told}"

    def _forget(self) -> None:
        """Ends the session. The library will start anew, because it looks for tokens only then."""
        import pkcs11

        self._session = self._key = None
        if self._refused:
            return
        with contextlib.suppress(pkcs11.PKCS11Error):
            pkcs11.lib(str(self._choice.module)).finalize()

    def close(self) -> None:
        if self._session is not None and self._turn.acquire(blocking=False):
            try:
                self._forget()
            finally:
                self._turn.release()


def _only(found: list[Any], what: str, label: str) -> Any:
    if len(found) != 1:
        raise TokenFailed(f"There is {'no' if not found else 'more than one'} {what} with the label {label!r}")
    return found[0]


def _asks_each_time(key: Any) -> bool:
    """Whether the key wants the PIN for every signature, as those on cards do."""
    import pkcs11

    try:
        return bool(key[pkcs11.Attribute.ALWAYS_AUTHENTICATE])
    except pkcs11.PKCS11Error:  # older tokens do not know the question
        return False


def _settle(done: "asyncio.Future[T]", result: Any, failure: BaseException | None) -> None:
    if done.done():
        return
    if failure is not None:
        done.set_exception(failure)
    else:
        done.set_result(result)
