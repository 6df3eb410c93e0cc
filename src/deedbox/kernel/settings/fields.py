"""Every setting and the name of its environment variable, in one frozen struct."""

import ipaddress
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.archive_url import ArchiveFolder, ArchivePlace, archive_place
from deedbox.kernel.crypto import Secret
from deedbox.kernel.s3.place import Access

PREFIX = "DEEDBOX_"
CONFIG = "DEEDBOX_CONFIG"
OF_THE_CLIENT = ("DEEDBOX_URL", "DEEDBOX_API_KEY")
"""Variables that the Python client and the commands that use it read: no settings of a server."""
# The archive's key keeps the name that the signing API gives it.
ECOSYSTEM_KEY = "SERVICE_ECOSYSTEM_KEY"
SECRETS = (
    "database_url",
    "service_ecosystem_key",
    "embedding_key",
    "chat_key",
    "rerank_key",
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
    index: Annotated[
        Literal["local", "postgres"],
        Meta(
            description="Where search indexes are kept: `local` in the data folder of each server, `postgres` in the"
            " database, with the extension pgvector. `postgres` needs `database_url`."
        ),
    ] = "local"
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
            " at all. A lock needs a bucket created with object lock."
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
        Meta(
            description="Proxies whose `X-Forwarded-For`, `X-Forwarded-Proto` and `traceparent` are believed,"
            " comma-separated."
        ),
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
    connections_per_address: Annotated[
        int,
        Meta(
            ge=1,
            le=limits.CONNECTIONS,
            description="Connections that one address (IPv6: one /64) may hold at a time. Behind one of the"
            " `trusted_proxies` the forwarded address counts, with its requests under way.",
        ),
    ] = limits.CONNECTIONS_PER_ADDRESS
    sandbox_processes: Annotated[
        int, Meta(ge=1, le=64, description="Child processes that read untrusted files at the same time.")
    ] = 2
    converters: Annotated[
        Literal["confined", "unconfined"],
        Meta(
            description="`unconfined` lets LibreOffice and WeasyPrint run also where the system can confine no program:"
            " a Word document or an HTML page that takes one over can then read all that the server can."
        ),
    ] = "confined"
    job_concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=64,
            description="Background jobs that run at the same time in this process. A quarter of these places is kept "
            "for signing, and another for all that neither indexes documents nor is bulk work.",
        ),
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
    chat_url: Annotated[
        str | None,
        Meta(
            description="An OpenAI-compatible endpoint, up to and including its `/v1`, whose model writes answers from"
            " passages (Ollama and llama.cpp have one). Needs `chat_model`; an address that is not public needs"
            " `egress_allow`. Without it, answers are sentences of the passages."
        ),
    ] = None
    chat_key: Annotated[Secret | None, Meta(description="The key for `chat_url`.")] = None
    chat_model: Annotated[str | None, Meta(description="The model to ask `chat_url` for.")] = None
    embedding_query_prefix: Annotated[
        str,
        Meta(
            max_length=limits.MODEL_PREFIX_CHARS,
            description="What `embedding_model` wants before every question, such as `query: `, its space included.",
        ),
    ] = ""
    embedding_passage_prefix: Annotated[
        str,
        Meta(
            max_length=limits.MODEL_PREFIX_CHARS,
            description="What `embedding_model` wants before every passage, such as `passage: `.",
        ),
    ] = ""
    rerank_url: Annotated[
        str | None,
        Meta(
            description="An endpoint, up to its `/rerank`, that puts the best passages of hybrid queries into their"
            " final order: TEI's, Cohere's, Jina's, or one like them. An address that is not public needs"
            " `egress_allow`."
        ),
    ] = None
    rerank_key: Annotated[Secret | None, Meta(description="The key for `rerank_url`.")] = None
    rerank_model: Annotated[
        str | None, Meta(description="The model to ask `rerank_url` for, where it takes one; TEI does not.")
    ] = None
    tsa_url: Annotated[
        str | None,
        Meta(
            description="A timestamp authority (RFC 3161) whose timestamps seals carry instead of the server's own;"
            " an address that is not public needs `egress_allow`."
        ),
    ] = None
    tsa_public: Annotated[
        bool,
        Meta(
            description="Whether `POST /tsa` gives timestamps to everybody, counted by address; else it asks for a key"
            " with the scope `verify:read`."
        ),
    ] = False
    tsa_ca_file: Annotated[
        Path | None,
        Meta(
            description="The root certificates (PEM) by which this server trusts the timestamps of `tsa_url`. Without"
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
    traces_url: Annotated[
        str | None,
        Meta(
            description="Where traces are sent: a collector that takes OTLP over HTTP, on any network, such as"
            " `http://127.0.0.1:4318/v1/traces`. Without it, nothing is traced."
        ),
    ] = None
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
        return archive_place(self.archive_url) if self.archive_url else ArchiveFolder(self.data_dir / "archive")

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
    def settings_file(self) -> Path:
        """Where a running server notes fingerprints of its settings."""
        return self.data_dir / "deedbox.settings"

    @property
    def sqlite_path(self) -> Path:
        return self.data_dir / "deedbox.sqlite"


def variable(field: str) -> str:
    """The environment variable of a setting."""
    return ECOSYSTEM_KEY if field == "service_ecosystem_key" else PREFIX + field.upper()
