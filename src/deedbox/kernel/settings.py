"""Every setting: one frozen struct, read from the environment and an optional TOML file."""

import difflib
import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.archive_url import ArchivePlace, Folder, archive_place
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest, SetupError
from deedbox.kernel.log import redacted
from deedbox.kernel.mailbox import named_mailbox
from deedbox.kernel.s3.place import Access, place
from deedbox.kernel.smtp_url import mail_server

PREFIX = "DEEDBOX_"
CONFIG = "DEEDBOX_CONFIG"
# The archive's key keeps the name that the signing API gives it.
ECOSYSTEM_KEY = "SERVICE_ECOSYSTEM_KEY"
SECRETS = (
    "database_url",
    "service_ecosystem_key",
    "embedding_key",
    "smtp_url",
    "pkcs11_pin",
    "s3_access_key",
    "s3_secret_key",
)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Networks(tuple[Network, ...]):
    """Networks, written `127.0.0.0/8,::1/128`, or as a list in TOML."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    data_dir: Annotated[
        Path, Meta(description="The folder that holds the database, the files, the index and the master key.")
    ] = Path("data")
    host: Annotated[str, Meta(description="The address to listen on. Anything but loopback needs `public`.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65535, description="The port to listen on; 0 takes a free one.")] = 8080
    public: Annotated[
        bool, Meta(description="Allows listening on an address that other machines reach. Needs `base_url`.")
    ] = False
    base_url: Annotated[
        str | None, Meta(description="The address under which people reach this server, used in every link.")
    ] = None
    database_url: Annotated[
        Secret | None,
        Meta(description="`postgresql://…` for several machines. Without it, SQLite in the data folder."),
    ] = None
    master_key_file: Annotated[
        Path | None,
        Meta(description="The key ring that encrypts secrets at rest. Default: `master.key` in the data folder."),
    ] = None
    blobs_url: Annotated[
        str | None,
        Meta(description="`s3://bucket/prefix`: files lie in an S3-compatible store. Without it, in the data folder."),
    ] = None
    s3_endpoint: Annotated[
        str | None,
        Meta(description="The address of the S3-compatible store, on any network. Default: that of AWS."),
    ] = None
    s3_region: Annotated[str | None, Meta(description="The region of the bucket, where the store has regions.")] = None
    s3_access_key: Annotated[
        Secret | None,
        Meta(
            description="The access key for the store; needs `s3_secret_key`. Without both, credentials are found as"
            " boto3 finds them."
        ),
    ] = None
    s3_secret_key: Annotated[Secret | None, Meta(description="The secret key for the store.")] = None
    service_ecosystem_key: Annotated[
        Secret | None,
        Meta(description=f"The long-term archive's key, from the variable `{ECOSYSTEM_KEY}`. Without it, no archive."),
    ] = None
    archive_url: Annotated[
        str | None,
        Meta(
            description="The long-term archive: a folder (a path or `file:///…`), `s3://bucket/prefix`, or `https://…`,"
            " which gets the archive's key as its bearer credential. Default: `archive` in the data folder."
        ),
    ] = None
    archive_lock: Annotated[
        Literal["governance", "compliance", "none"],
        Meta(
            description="How packages in S3 are locked: so that special rights can undo it, so that nobody can, or not"
            " at all. A lock needs a bucket that was made with object lock."
        ),
    ] = "governance"
    archive_lock_days: Annotated[
        int, Meta(ge=1, le=36_500, description="For how many days packages in S3 are locked.")
    ] = limits.ARCHIVE_LOCK_DAYS
    egress_allow: Annotated[
        Networks,
        Meta(description="Networks that outgoing requests may reach although they are not public, comma-separated."),
    ] = Networks()
    trusted_proxies: Annotated[
        Networks,
        Meta(description="Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, comma-separated."),
    ] = Networks()
    smtp_url: Annotated[
        Secret | None,
        Meta(
            description="The mail server, on any network: `smtps://user:password@host` (TLS from the start) or"
            " `smtp://…` (STARTTLS). Needs `mail_from`. Without it, mail stays in the dashboard's inbox."
        ),
    ] = None
    smtp_ca_file: Annotated[
        Path | None,
        Meta(description="Certificates (PEM) to trust for the mail server. Default: those of the system."),
    ] = None
    smtp_plain: Annotated[
        bool,
        Meta(description="Sends over `smtp://` without TLS; only for a server on this machine or a trusted network."),
    ] = False
    mail_from: Annotated[
        str | None, Meta(description="The sender of every mail: `sign@example.com` or `Example <sign@example.com>`.")
    ] = None
    anonymous_per_minute: Annotated[
        int,
        Meta(
            ge=1,
            le=limits.RATE_PER_MINUTE_MAX,
            description="Requests a minute per address without a valid key.",
        ),
    ] = limits.ANONYMOUS_PER_MINUTE
    sandbox_processes: Annotated[
        int, Meta(ge=1, le=64, description="Child processes that read untrusted files at the same time.")
    ] = 2
    job_concurrency: Annotated[
        int, Meta(ge=1, le=64, description="Background jobs that run at the same time in this process.")
    ] = 4
    models_dir: Annotated[
        Path | None, Meta(description="Where embedding models are installed. Default: `models` in the data folder.")
    ] = None
    model_hub: Annotated[
        str | None,
        Meta(description="The address of a hub from which `deedbox model install OWNER/NAME` fetches models."),
    ] = None
    embedding_url: Annotated[
        str | None,
        Meta(
            description="An OpenAI-compatible endpoint, up to and including its `/v1`, that embeds in place of an"
            " installed model. Needs `embedding_model`; an address that is not public needs `egress_allow`."
        ),
    ] = None
    embedding_key: Annotated[Secret | None, Meta(description="The key for `embedding_url`.")] = None
    embedding_model: Annotated[str | None, Meta(description="The model to ask `embedding_url` for.")] = None
    tsa_url: Annotated[
        str | None,
        Meta(
            description="A time-stamp authority (RFC 3161) whose time-stamps seals carry instead of the server's own;"
            " an address that is not public needs `egress_allow`."
        ),
    ] = None
    tsa_ca_file: Annotated[
        Path | None,
        Meta(
            description="The root certificates (PEM) by which this server trusts the time-stamps of `tsa_url`. Without"
            " them, its seals verify here only until their certificate ends."
        ),
    ] = None
    pkcs11_module: Annotated[
        Path | None,
        Meta(
            description="The PKCS #11 library (`.so`) of a token or HSM whose key seals in place of this installation's"
            " own. Needs `pkcs11_token` and `pkcs11_key`."
        ),
    ] = None
    pkcs11_token: Annotated[str | None, Meta(description="The label of the token.")] = None
    pkcs11_key: Annotated[
        str | None,
        Meta(description="The label of the private key in the token: EC on P-256 or P-384, or RSA from 2048 bits."),
    ] = None
    pkcs11_pin: Annotated[Secret | None, Meta(description="The user's PIN of the token.")] = None
    pkcs11_certificate_file: Annotated[
        Path | None,
        Meta(
            description="The key's certificate (PEM), followed by those of its issuers up to the root. Default: those"
            " in the token."
        ),
    ] = None
    chunk_size: Annotated[
        int, Meta(ge=16, le=limits.CHUNK_TOKENS_MAX, description="The most tokens of the model in a chunk.")
    ] = limits.CHUNK_TOKENS
    chunk_overlap: Annotated[
        int, Meta(ge=0, le=limits.CHUNK_TOKENS_MAX // 2, description="Tokens that neighbouring chunks share.")
    ] = limits.CHUNK_OVERLAP
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least severe line that is logged."),
    ] = "info"
    log_format: Annotated[
        Literal["json", "text"], Meta(description="JSON lines for machines, or text for a person.")
    ] = "json"
    access_log: Annotated[bool, Meta(description="One line for every request.")] = True

    @property
    def s3(self) -> Access:
        """How to ask the S3-compatible store."""
        return Access(self.s3_endpoint, self.s3_region, self.s3_access_key, self.s3_secret_key)

    @property
    def archive(self) -> ArchivePlace:
        """Where the long-term archive is."""
        return archive_place(self.archive_url) if self.archive_url else Folder(self.data_dir / "archive")

    @property
    def models(self) -> Path:
        return self.models_dir or self.data_dir / "models"

    @property
    def ring(self) -> Path:
        return self.master_key_file or self.data_dir / "master.key"

    @property
    def address_file(self) -> Path:
        """Where a running server notes its address, for commands beside it."""
        return self.data_dir / "deedbox.address"

    @property
    def sqlite_path(self) -> Path:
        return self.data_dir / "deedbox.sqlite"


def variable(field: str) -> str:
    """The environment variable of a setting."""
    return ECOSYSTEM_KEY if field == "service_ecosystem_key" else PREFIX + field.upper()


def load(environment: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings from flags, then environment, then file, then defaults; SetupError names what is wrong."""
    named = _from_environment(environment)
    named.update({name: value for name, value in (flags or {}).items() if value is not None})
    values = {**_from_file(environment, named), **named}
    for name, value in values.items():
        _check_one(name, value)
    settings = msgspec.convert(values, Settings, strict=False, dec_hook=_decode)
    _check_together(settings)
    if settings.base_url is None:
        return settings
    # Links are made by adding a path that begins with a slash.
    return msgspec.structs.replace(settings, base_url=settings.base_url.rstrip("/"))


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    fields = {variable(name): name for name in Settings.__struct_fields__}
    values: dict[str, Any] = {}
    for name, text in environment.items():
        if name in fields:
            # A container passes on an unset variable as an empty one.
            if text:
                values[fields[name]] = text
        elif name.startswith(PREFIX) and name != CONFIG:
            raise _unknown(name, list(fields), "the environment")
    return values


def _from_file(environment: Mapping[str, str], named: Mapping[str, Any]) -> dict[str, Any]:
    given = environment.get(CONFIG)
    path = Path(given) if given else Path(named.get("data_dir", Settings().data_dir)) / "deedbox.toml"
    if not given and not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(f"The settings file {path} cannot be read: {error}.", "Correct it or remove it.") from error
    for name in values:
        if name not in Settings.__struct_fields__:
            raise _unknown(name, list(Settings.__struct_fields__), str(path))
    return values


def _unknown(name: str, known: list[str], where: str) -> SetupError:
    # Compared without the prefix, which would make every name look alike.
    short = {full.removeprefix(PREFIX): full for full in known}
    close = difflib.get_close_matches(name.removeprefix(PREFIX), short, n=1)
    hint = f"Did you mean {short[close[0]]}?" if close else "docs/reference/settings.md lists them all."
    return SetupError(f"Unknown setting {name} in {where}.", hint)


def _check_one(name: str, value: Any) -> None:
    try:
        msgspec.convert({name: value}, Settings, strict=False, dec_hook=_decode)
    except msgspec.ValidationError as error:
        reason = redacted(str(error).split(" - at ")[0])
        # The value is shown unless it could be a secret.
        shown = "" if name in SECRETS else f" ({redacted(str(value))!r})"
        raise SetupError(
            f"The setting {variable(name)}{shown} is not valid: {reason}.",
            "docs/reference/settings.md says what it takes.",
        ) from error


def _decode(kind: Any, value: Any) -> Any:
    if kind is Networks:
        words = value.split(",") if isinstance(value, str) else value
        return Networks(ipaddress.ip_network(str(word).strip()) for word in words if str(word).strip())
    if not isinstance(value, (str, Path)) or not str(value):
        raise ValueError("Expected text that is not empty")
    return kind(value)


def _check_together(settings: Settings) -> None:
    if settings.base_url is not None and not _is_origin(settings.base_url):
        raise SetupError(
            f"The setting DEEDBOX_BASE_URL ({redacted(settings.base_url)!r}) is not an address.",
            "Write it as https://sign.example.com, without a path.",
        )
    if settings.database_url and not settings.database_url.reveal().startswith(("postgresql://", "postgres://")):
        raise SetupError(
            "The setting DEEDBOX_DATABASE_URL is not a PostgreSQL address.",
            "Write it as postgresql://user@host/name.",
        )
    _check_models(settings)
    _check_mail(settings)
    _check_token(settings)
    _check_store(settings)
    _check_archive(settings)
    if settings.chunk_overlap * 2 > settings.chunk_size:
        raise SetupError(
            f"The setting DEEDBOX_CHUNK_OVERLAP ({settings.chunk_overlap}) is more than half of DEEDBOX_CHUNK_SIZE"
            f" ({settings.chunk_size}).",
            "Make the overlap smaller or the chunks larger.",
        )
    if not _is_loopback(settings.host) and not (settings.public and settings.base_url):
        raise SetupError(
            f"Listening on {settings.host} would open this server to other machines.",
            "If you mean it, give --public and DEEDBOX_BASE_URL=https://…; otherwise use --host 127.0.0.1.",
        )


def _check_models(settings: Settings) -> None:
    if (settings.embedding_url is None) != (settings.embedding_model is None):
        raise SetupError(
            "The settings DEEDBOX_EMBEDDING_URL and DEEDBOX_EMBEDDING_MODEL belong together.",
            "Give both, or neither to use an installed model.",
        )
    urls = {"EMBEDDING_URL": settings.embedding_url, "MODEL_HUB": settings.model_hub, "TSA_URL": settings.tsa_url}
    for name, url in urls.items():
        if url is not None and not _is_address(url):
            raise SetupError(
                f"The setting DEEDBOX_{name} ({redacted(url)!r}) is not an address.",
                "Write it as https://models.example.com/v1, without user name and password.",
            )


def _check_token(settings: Settings) -> None:
    needed = (settings.pkcs11_module, settings.pkcs11_token, settings.pkcs11_key)
    beside = (settings.pkcs11_pin, settings.pkcs11_certificate_file)
    if None in needed and any(value is not None for value in (*needed, *beside)):
        raise SetupError(
            "The settings DEEDBOX_PKCS11_MODULE, DEEDBOX_PKCS11_TOKEN and DEEDBOX_PKCS11_KEY belong together.",
            "Give all three to seal with a key in a token, or none, and then no other DEEDBOX_PKCS11 setting.",
        )


def _check_store(settings: Settings) -> None:
    try:
        place(settings.blobs_url or "s3://none")
    except ValueError as error:
        raise SetupError(
            f"The setting DEEDBOX_BLOBS_URL ({redacted(str(settings.blobs_url))!r}) is not a place for files: {error}.",
            "Write it as s3://bucket/prefix; the store itself is named by DEEDBOX_S3_ENDPOINT.",
        ) from error
    if settings.s3_endpoint is not None and not _is_address(settings.s3_endpoint):
        raise SetupError(
            f"The setting DEEDBOX_S3_ENDPOINT ({redacted(settings.s3_endpoint)!r}) is not an address.",
            "Write it as https://s3.example.com, without user name and password.",
        )
    if (settings.s3_access_key is None) != (settings.s3_secret_key is None):
        raise SetupError(
            "The settings DEEDBOX_S3_ACCESS_KEY and DEEDBOX_S3_SECRET_KEY belong together.",
            "Give both, or neither to let boto3 find credentials.",
        )


def _check_archive(settings: Settings) -> None:
    try:
        settings.archive  # noqa: B018 (it is read to be judged)
    except ValueError as error:
        raise SetupError(
            f"The setting DEEDBOX_ARCHIVE_URL ({redacted(str(settings.archive_url))!r}) is not an archive: {error}.",
            "Write a folder as its path, a bucket as s3://bucket/prefix, another archive as https://host/path.",
        ) from error
    key = settings.service_ecosystem_key
    if key is not None and not (key.reveal().isascii() and key.reveal().isprintable() and " " not in key.reveal()):
        raise SetupError(
            f"The setting {ECOSYSTEM_KEY} is not a key: it has a space or a sign that a credential cannot have.",
            "Give the archive's key as it is, in letters, digits and signs of ASCII.",
        )


def _check_mail(settings: Settings) -> None:
    try:
        named_mailbox(settings.mail_from or "nobody@localhost")
    except BadRequest as error:
        raise SetupError(
            f"The setting DEEDBOX_MAIL_FROM ({redacted(str(settings.mail_from))!r}) is not a sender.",
            "Write it as sign@example.com or as Example <sign@example.com>.",
        ) from error
    if settings.smtp_url is None:
        return
    try:
        server = mail_server(settings.smtp_url)
    except ValueError as error:
        raise SetupError(
            f"The setting DEEDBOX_SMTP_URL is not a mail server: {error}.",
            "Write it as smtps://user:password@mail.example.com, with @ and / in the password as %40 and %2F.",
        ) from error
    if settings.mail_from is None:
        raise SetupError("The setting DEEDBOX_SMTP_URL needs DEEDBOX_MAIL_FROM.", "Give the sender of every mail.")
    if settings.smtp_plain and (server.scheme == "smtps" or server.user is not None):
        raise SetupError(
            "The setting DEEDBOX_SMTP_PLAIN does not go with smtps:// or with a password, which would travel in clear.",
            "Remove it, or write DEEDBOX_SMTP_URL as smtp://host without user and password.",
        )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    plain = url.isprintable() and not any(sign in url for sign in " ?#")
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc and plain


def _is_origin(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    bare = f"{parts.scheme}://{parts.netloc}"
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and port != 0
        and "@" not in parts.netloc
        and url.rstrip("/").lower() == bare.lower()
        and url.isprintable()
        and " " not in url
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
