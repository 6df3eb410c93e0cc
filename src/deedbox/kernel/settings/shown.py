"""The settings in use as people may see them: every one with its variable, and of a secret only whether it is set."""

from typing import Any, get_type_hints

import msgspec

from deedbox.kernel.crypto import Secret
from deedbox.kernel.log import redact
from deedbox.kernel.settings.fields import SECRETS, Networks, Settings, variable

GROUPS: dict[str, tuple[str, ...]] = {
    "server": (
        "host", "port", "public", "base_url", "trusted_proxies", "egress_allow", "log_level", "log_format",
        "access_log", "traces_url",
    ),
    "data": (
        "data_dir", "database_url", "master_key_file", "blobs_url", "s3_endpoint", "s3_region", "s3_access_key",
        "s3_secret_key",
    ),
    "mail": ("smtp_url", "smtp_ca_file", "smtp_plain", "mail_from"),
    "archive": ("service_ecosystem_key", "archive_url", "archive_lock", "archive_lock_days"),
    "sealing": (
        "tsa_url", "tsa_ca_file", "tsa_public", "pkcs11_module", "pkcs11_token", "pkcs11_key", "pkcs11_pin",
        "pkcs11_certificate_file",
    ),
    "search": (
        "models_dir", "model_hub", "embedding_url", "embedding_key", "embedding_model", "embedding_query_prefix",
        "embedding_passage_prefix", "rerank_url", "rerank_key", "rerank_model", "chunk_size", "chunk_overlap",
        "chat_url", "chat_key", "chat_model",
    ),
    "load": ("anonymous_per_minute", "connections_per_address", "sandbox_processes", "job_concurrency", "converters"),
}  # fmt: skip
"""The settings by what they are about; what stands in none of them is shown as `other`."""


class ShownSetting(msgspec.Struct, frozen=True):
    name: str
    variable: str
    value: str | None
    """As it would be written; None where it is not set, or is a secret."""
    is_set: bool
    """Whether it is another than the default."""
    secret: bool
    meaning: str


def shown(settings: Settings) -> dict[str, list[ShownSetting]]:
    """Every setting, by its group."""
    known = {one.name: one for one in _each(settings)}
    grouped = {group: [known.pop(name) for name in names] for group, names in GROUPS.items()}
    return {**grouped, "other": list(known.values())} if known else grouped


def _each(settings: Settings) -> list[ShownSetting]:
    hints = get_type_hints(Settings, include_extras=True)
    return [_one(settings, field, hints[field.name]) for field in msgspec.structs.fields(Settings)]


def _one(settings: Settings, field: msgspec.structs.FieldInfo, hint: Any) -> ShownSetting:
    value: Any = getattr(settings, field.name)
    secret = field.name in SECRETS or isinstance(value, Secret)
    return ShownSetting(
        field.name,
        variable(field.name),
        None if secret else _written(value),
        value != field.default,
        secret,
        hint.__metadata__[0].description,
    )


def _written(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Networks):
        return ",".join(map(str, value)) or None
    # An address may carry a password: no setting but the secrets should, and nobody learns it here.
    return None if value is None else redact(str(value))
