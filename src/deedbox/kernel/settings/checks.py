"""Checks of settings against each other, and of the addresses in them."""

import ipaddress
from urllib.parse import urlsplit

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, SetupError
from deedbox.kernel.log import redact
from deedbox.kernel.mailbox import named_mailbox
from deedbox.kernel.s3.place import place
from deedbox.kernel.settings.fields import ECOSYSTEM_KEY, Settings
from deedbox.kernel.smtp_url import mail_server


def check(settings: Settings) -> None:
    """SetupError names settings that are wrong together, or beyond what a type can say."""
    if settings.base_url is not None and not _is_origin(settings.base_url):
        raise SetupError(
            f"The setting DEEDBOX_BASE_URL ({redact(settings.base_url)!r}) is not an address.",
            "Write it as https://sign.example.com, without a path.",
        )
    if settings.database_url and not settings.database_url.reveal().startswith(("postgresql://", "postgres://")):
        raise SetupError(
            "The setting DEEDBOX_DATABASE_URL is not a PostgreSQL address.",
            "Write it as postgresql://user@host/name.",
        )
    if settings.index == "postgres" and settings.database_url is None:
        raise SetupError(
            "The setting DEEDBOX_INDEX=postgres needs a PostgreSQL database.",
            "Give DEEDBOX_DATABASE_URL, or leave DEEDBOX_INDEX away to keep the indexes in the data folder.",
        )
    _check_models(settings)
    if settings.traces_url is not None and not _is_address(settings.traces_url):
        raise SetupError(
            f"The setting DEEDBOX_TRACES_URL ({redact(settings.traces_url)!r}) is not an address.",
            "Write it as http://127.0.0.1:4318/v1/traces, without user name and password.",
        )
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
    if (settings.chat_url is None) != (settings.chat_model is None):
        raise SetupError(
            "The settings DEEDBOX_CHAT_URL and DEEDBOX_CHAT_MODEL belong together.",
            "Give both, or neither to have answers without a model.",
        )
    if settings.rerank_url is None and (settings.rerank_key is not None or settings.rerank_model is not None):
        raise SetupError(
            "The settings DEEDBOX_RERANK_KEY and DEEDBOX_RERANK_MODEL mean nothing without DEEDBOX_RERANK_URL.",
            "Give it too, or remove them.",
        )
    urls = {
        "EMBEDDING_URL": settings.embedding_url,
        "CHAT_URL": settings.chat_url,
        "RERANK_URL": settings.rerank_url,
        "MODEL_HUB": settings.model_hub,
        "TSA_URL": settings.tsa_url,
    }
    for name, url in urls.items():
        if url is not None and not _is_address(url):
            raise SetupError(
                f"The setting DEEDBOX_{name} ({redact(url)!r}) is not an address.",
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
            f"The setting DEEDBOX_BLOBS_URL ({redact(str(settings.blobs_url))!r}) is not a place for files: {error}.",
            "Write it as s3://bucket/prefix; the store itself is named by DEEDBOX_S3_ENDPOINT.",
        ) from error
    if settings.s3_endpoint is not None and not _is_address(settings.s3_endpoint):
        raise SetupError(
            f"The setting DEEDBOX_S3_ENDPOINT ({redact(settings.s3_endpoint)!r}) is not an address.",
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
            f"The setting DEEDBOX_ARCHIVE_URL ({redact(str(settings.archive_url))!r}) is not an archive: {error}.",
            "Write a folder as its path, a bucket as s3://bucket/prefix, another archive as https://host/path.",
        ) from error
    key = settings.service_ecosystem_key
    if key is not None and not (key.reveal().isascii() and key.reveal().isprintable() and " " not in key.reveal()):
        raise SetupError(
            f"The setting {ECOSYSTEM_KEY} is not a key: it has a space or a sign that a credential cannot have.",
            "Give the archive's key as it is, in letters, digits and signs of ASCII.",
        )
    if key is not None and len(key.reveal()) < limits.ARCHIVE_KEY_CHARS:
        raise SetupError(
            f"The setting {ECOSYSTEM_KEY} has fewer than {limits.ARCHIVE_KEY_CHARS} characters: anyone who guesses"
            " it can forge archive packages.",
            "Set it to the output of: openssl rand -hex 32",
        )


def _check_mail(settings: Settings) -> None:
    try:
        if settings.mail_from is not None:
            named_mailbox(settings.mail_from)
    except BadRequest as error:
        raise SetupError(
            f"The setting DEEDBOX_MAIL_FROM ({redact(str(settings.mail_from))!r}) is not a sender.",
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
