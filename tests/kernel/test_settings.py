"""Settings come from one place, say what is wrong, and never show a secret."""

from pathlib import Path
from typing import Any, get_type_hints

import pytest

from deedbox.kernel import limits, settings
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings, load

PASSWORD = "hunter2hunter2hunter2hunter2hunter2"


def file_with(folder: Path, text: str) -> dict[str, str]:
    (folder / "deedbox.toml").write_text(text)
    return {"DEEDBOX_DATA_DIR": str(folder)}


def refusal(environment: dict[str, str], flags: dict[str, Any] | None = None) -> SetupError:
    with pytest.raises(SetupError) as refused:
        load(environment, flags)
    assert refused.value.next_step
    return refused.value


def test_nothing_given_is_a_server_on_loopback_with_sqlite() -> None:
    found = load({})
    assert (found.host, found.port, found.public, found.database_url) == ("127.0.0.1", 8080, False, None)
    assert found.sqlite_path == Path("data/deedbox.sqlite")
    assert found.ring == Path("data/master.key")


def test_every_setting_is_described() -> None:
    described = get_type_hints(Settings, include_extras=True)
    texts = {name: described[name].__metadata__[0].description or "" for name in Settings.__struct_fields__}
    assert [name for name, text in texts.items() if len(text) < 15 or not text.endswith(".")] == []


def test_every_setting_has_a_variable_of_its_own() -> None:
    names = [settings.variable(field) for field in Settings.__struct_fields__]
    assert len(set(names)) == len(names)
    assert settings.variable("service_ecosystem_key") == "SERVICE_ECOSYSTEM_KEY"


def test_flags_win_over_environment_over_file_over_default(tmp_path: Path) -> None:
    from_file = file_with(tmp_path, "port = 1111\njob_concurrency = 11\nsandbox_processes = 12\n")
    environment = {**from_file, "DEEDBOX_PORT": "2222", "DEEDBOX_JOB_CONCURRENCY": "22"}
    found = load(environment, {"port": 3333, "host": None})
    assert (found.port, found.job_concurrency, found.sandbox_processes) == (3333, 22, 12)
    assert (found.host, found.log_level) == ("127.0.0.1", "info")


def test_the_file_is_found_where_the_variable_says(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("port = 4444")
    assert load({"DEEDBOX_CONFIG": str(tmp_path / "other.toml")}).port == 4444


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DEEDBOX_PROT", "Did you mean DEEDBOX_PORT?"),
        ("DEEDBOX_SERVICE_ECOSYSTEM_KEY", "Did you mean SERVICE_ECOSYSTEM_KEY?"),
        ("DEEDBOX_QQQQ", "docs/reference/settings.md"),
    ],
)
def test_an_unknown_variable_is_refused_by_name_with_a_hint(name: str, hint: str) -> None:
    refused = refusal({name: PASSWORD})
    assert name in refused.reason
    assert hint in refused.next_step
    assert PASSWORD not in str(refused)


def test_what_the_client_reads_from_the_environment_is_no_setting() -> None:
    assert load({"DEEDBOX_URL": "https://deedbox.example.com", "DEEDBOX_API_KEY": "deed_live_x"}) == load({})


def test_an_unknown_key_in_the_file_is_refused_by_name_with_a_hint(tmp_path: Path) -> None:
    refused = refusal(file_with(tmp_path, "databse_url = 'postgresql://x'"))
    assert "databse_url" in refused.reason
    assert "deedbox.toml" in refused.reason
    assert "database_url" in refused.next_step


def test_a_variable_of_another_program_is_none_of_our_business() -> None:
    assert load({"PATH": "/bin", "DEED": "x", "HOME": "/root"}) == load({})


@pytest.mark.parametrize("text", ["port = ", "\xff", "[server]\nport = 1"])
def test_a_broken_file_is_refused_by_its_path(tmp_path: Path, text: str) -> None:
    (tmp_path / "deedbox.toml").write_bytes(text.encode("latin-1"))
    assert "deedbox.toml" in refusal({"DEEDBOX_DATA_DIR": str(tmp_path)}).reason


def test_a_file_that_was_asked_for_and_is_missing_is_refused(tmp_path: Path) -> None:
    assert "absent.toml" in refusal({"DEEDBOX_CONFIG": str(tmp_path / "absent.toml")}).reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEEDBOX_PORT", "eighty"),
        ("DEEDBOX_PORT", "65536"),
        ("DEEDBOX_PORT", "-1"),
        ("DEEDBOX_PUBLIC", "perhaps"),
        ("DEEDBOX_LOG_LEVEL", "loud"),
        ("DEEDBOX_LOG_FORMAT", "xml"),
        ("DEEDBOX_ACCESS_LOG", "2"),
        ("DEEDBOX_JOB_CONCURRENCY", "0"),
        ("DEEDBOX_SANDBOX_PROCESSES", "65"),
        ("DEEDBOX_ANONYMOUS_PER_MINUTE", "0"),
        ("DEEDBOX_EGRESS_ALLOW", "10.0.0.1/8"),
        ("DEEDBOX_TRUSTED_PROXIES", "the-proxy"),
        ("DEEDBOX_BASE_URL", "sign.example.com"),
        ("DEEDBOX_BASE_URL", "ftp://sign.example.com"),
        ("DEEDBOX_BASE_URL", "https://sign.example.com/deedbox"),
        ("DEEDBOX_BASE_URL", "https://sign.example.com?a=b"),
        ("DEEDBOX_BASE_URL", "https://sign.example.com#top"),
        ("DEEDBOX_BASE_URL", "https://[::1"),
        ("DEEDBOX_BASE_URL", "https://sign.example.com:99999"),
        ("DEEDBOX_BASE_URL", "https://sign.example\n.com"),
        ("DEEDBOX_BASE_URL", "https://"),
        ("DEEDBOX_DATABASE_URL", "mysql://somewhere"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_setting(name: str, value: str) -> None:
    assert name in refusal({name: value}).reason


@pytest.mark.parametrize("value", [5, True, {}, ["10.0.0.0/8", 5.5]])
def test_a_bad_type_in_the_file_is_refused_by_the_name_of_its_setting(value: Any) -> None:
    assert "DEEDBOX_EGRESS_ALLOW" in refusal({}, {"egress_allow": {"a": value} if value == {} else value}).reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEEDBOX_DATABASE_URL", f"mysql://deedbox:{PASSWORD}@db/deedbox"),
        ("DEEDBOX_DATABASE_URL", PASSWORD),
        ("DEEDBOX_BASE_URL", f"https://me:{PASSWORD}@sign.example.com"),
        ("DEEDBOX_EGRESS_ALLOW", f"http://me:{PASSWORD}@proxy"),
        ("DEEDBOX_CHAT_URL", f"https://me:{PASSWORD}@models.example.com/v1"),
        ("DEEDBOX_EMBEDDING_URL", f"https://me:{PASSWORD}@models.example.com/v1"),
        ("DEEDBOX_MODEL_HUB", f"https://me:{PASSWORD}@models.example.com"),
    ],
)
def test_a_refusal_never_shows_a_secret(name: str, value: str) -> None:
    refused = refusal({name: value})
    assert PASSWORD not in str(refused)


@pytest.mark.parametrize("value", [5, "", []])
def test_a_secret_of_the_wrong_type_is_refused_unseen(value: Any) -> None:
    assert "SERVICE_ECOSYSTEM_KEY" in refusal({}, {"service_ecosystem_key": value}).reason
    assert "DEEDBOX_EMBEDDING_KEY" in refusal({}, {"embedding_key": value}).reason


def test_an_archive_key_that_could_be_guessed_is_refused_unseen() -> None:
    short = "k" * (limits.ARCHIVE_KEY_CHARS - 1)
    refused = refusal({"SERVICE_ECOSYSTEM_KEY": short})
    assert "has fewer than 32 characters" in refused.reason
    assert short not in str(refused)
    assert load({"SERVICE_ECOSYSTEM_KEY": f"{short}k"}).service_ecosystem_key == Secret(f"{short}k")


def test_the_archive_key_has_the_name_that_the_signing_api_gives_it() -> None:
    assert load({"SERVICE_ECOSYSTEM_KEY": PASSWORD}).service_ecosystem_key == Secret(PASSWORD)
    assert load({}).service_ecosystem_key is None


def test_an_empty_variable_counts_as_unset() -> None:
    assert load({"SERVICE_ECOSYSTEM_KEY": "", "DEEDBOX_PORT": "", "DEEDBOX_CONFIG": ""}) == load({})


def test_printing_the_settings_shows_no_secret() -> None:
    environment = {"DEEDBOX_DATABASE_URL": f"postgresql://u:{PASSWORD}@db/x", "SERVICE_ECOSYSTEM_KEY": PASSWORD}
    found = load({**environment, "DEEDBOX_EMBEDDING_KEY": PASSWORD})
    assert PASSWORD not in repr(found)
    assert PASSWORD not in str(found)
    assert found.database_url == Secret(f"postgresql://u:{PASSWORD}@db/x")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", " ", "127.0.0.1.example.com"])
def test_listening_for_other_machines_needs_to_be_meant(host: str) -> None:
    assert host in refusal({"DEEDBOX_HOST": host}).reason
    assert host in refusal({"DEEDBOX_HOST": host}, {"public": True}).reason
    assert host in refusal({"DEEDBOX_HOST": host, "DEEDBOX_BASE_URL": "https://a.example"}).reason
    assert load({"DEEDBOX_HOST": host, "DEEDBOX_BASE_URL": "https://a.example", "DEEDBOX_PUBLIC": "true"}).public


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_listening_on_loopback_needs_nothing(host: str) -> None:
    assert load({"DEEDBOX_HOST": host}).host == host


@pytest.mark.parametrize(("given", "kept"), [("https://a.example/", "https://a.example"), ("http://[::1]:80", None)])
def test_the_base_url_is_kept_without_a_slash_at_its_end(given: str, kept: str | None) -> None:
    assert load({"DEEDBOX_BASE_URL": given}).base_url == (kept or given)


def test_networks_are_a_list_in_the_file_and_comma_separated_in_the_environment(tmp_path: Path) -> None:
    listed = load(file_with(tmp_path, 'egress_allow = ["10.0.0.0/8", "::1/128"]'))
    assert listed.egress_allow == load({"DEEDBOX_EGRESS_ALLOW": "10.0.0.0/8, ::1/128,"}).egress_allow
    assert [str(network) for network in listed.egress_allow] == ["10.0.0.0/8", "::1/128"]


def test_files_lie_in_the_data_folder_unless_a_bucket_is_named() -> None:
    assert load({}).blobs_url is None
    keys = {"DEEDBOX_S3_ACCESS_KEY": "AKIA", "DEEDBOX_S3_SECRET_KEY": PASSWORD}
    found = load({"DEEDBOX_BLOBS_URL": "s3://files/deedbox", "DEEDBOX_S3_ENDPOINT": "http://10.0.0.7:9000", **keys})
    assert (found.blobs_url, found.s3.endpoint) == ("s3://files/deedbox", "http://10.0.0.7:9000")
    assert found.s3.secret_key == Secret(PASSWORD)
    assert PASSWORD not in repr(found)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"DEEDBOX_BLOBS_URL": "https://s3.example.com/files"}, "DEEDBOX_BLOBS_URL"),
        ({"DEEDBOX_BLOBS_URL": "s3://A bucket"}, "DEEDBOX_BLOBS_URL"),
        ({"DEEDBOX_S3_ENDPOINT": "s3.example.com"}, "DEEDBOX_S3_ENDPOINT"),
        ({"DEEDBOX_S3_ENDPOINT": "https://key:secret@s3.example.com"}, "DEEDBOX_S3_ENDPOINT"),
        ({"DEEDBOX_S3_SECRET_KEY": PASSWORD}, "DEEDBOX_S3_ACCESS_KEY"),
        ({"DEEDBOX_S3_ACCESS_KEY": "AKIA"}, "DEEDBOX_S3_SECRET_KEY"),
    ],
)
def test_a_store_that_is_half_described_is_refused(environment: dict[str, str], named: str) -> None:
    refused = refusal(environment)
    assert named in refused.reason
    assert PASSWORD not in str(refused)
