"""What `deedbox doctor` looks at around the installation: this process, the proxy, PostgreSQL, time-stamps, traces."""

import asyncio
import ipaddress
import resource
import ssl
from collections.abc import Iterator

from deedbox.cli import limits
from deedbox.cli.finding import Finding
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db import health
from deedbox.kernel.egress import Egress, EgressFailed, Request
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.settings import Settings

_ANYWHERE = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
"""The public address is the operator's own: it may lie on any network."""


def open_files(_: Settings) -> Iterator[Finding]:
    """Each connection is an open file, and the server raises its own limit as far as it may."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = shared_limits.CONNECTIONS + shared_limits.DESCRIPTORS_KEPT
    if most == resource.RLIM_INFINITY or most >= wanted:
        yield Finding("open files", "good", "as many as the server may need")
        return
    step = f"Raise it to {wanted}: LimitNOFILE= for systemd, --ulimit nofile= for a container."
    yield Finding("open files", "note", f"at most {most}, so fewer than {shared_limits.CONNECTIONS} connections", step)


def proxy(loaded: Settings) -> Iterator[Finding]:
    """Whether the public address leads here, and the proxy in front of it is known."""
    if loaded.base_url is None:
        return
    if loaded.base_url.startswith("https:") and not loaded.trusted_proxies:
        why = "something else speaks TLS, and all requests are counted for it: everybody shares one rate limit"
        step = "Set DEEDBOX_TRUSTED_PROXIES to its address, for example 127.0.0.1/32."
        yield Finding("proxy", "bad", why, step)
    try:
        status = asyncio.run(_asked(f"{loaded.base_url}/livez"))
    except EgressFailed as error:
        running = loaded.address_file.exists()
        step = "Check DNS, the proxy and its certificate (docs/how-to/behind-a-proxy.md)."
        text = f"{loaded.base_url} does not answer: {error.message}"
        yield (
            Finding("address", "bad", text, step)
            if running
            else Finding("address", "note", f"{text}. No server runs on this data folder", "Start it, and ask again.")
        )
        return
    if status == 200:
        yield Finding("address", "good", f"{loaded.base_url} answers")
    else:
        step = "Another program answers there, or the proxy cannot reach this server: see its log."
        yield Finding("address", "bad", f"{loaded.base_url}/livez answers with status {status}", step)


async def _asked(url: str) -> int:
    egress = Egress(_ANYWHERE, tls=ssl.create_default_context())
    try:
        return (await egress.send(Request("GET", url, headers={}, seconds=limits.DOCTOR_SECONDS))).status
    finally:
        await egress.close()


def postgres(loaded: Settings) -> Iterator[Finding]:
    """Whether a change that was acknowledged is on PostgreSQL's disk, and whether it has room for this process."""
    if loaded.database_url is None:
        return
    told = health.postgres_settings(loaded.database_url.reveal())
    risky = [name for name in ("fsync", "full_page_writes", "synchronous_commit") if told[name] == "off"]
    for name in risky:
        text = f"{name} is off: what was acknowledged is lost when the machine fails"
        yield Finding("postgres", "bad", text, f"ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf();")
    if int(told["max_connections"]) < 2 * shared_limits.POSTGRES_CONNECTIONS:
        text = (
            f"max_connections is {told['max_connections']}; each process takes {shared_limits.POSTGRES_CONNECTIONS + 1}"
        )
        yield Finding("postgres", "bad", text, "Raise max_connections in postgresql.conf and restart PostgreSQL.")
    elif not risky:
        yield Finding("postgres", "good", f"version {told['server_version']}, writes are durable")


def timestamps(loaded: Settings) -> Iterator[Finding]:
    """Asks the authority of the settings for a time-stamp of nothing."""
    if loaded.tsa_url is None:
        return
    from deedbox.authority.remote_timestamp import RemoteTimestamper

    async def ask() -> None:
        egress = Egress(loaded.egress_allow)
        try:
            await RemoteTimestamper(str(loaded.tsa_url), lambda: egress, SystemClock()).token(bytes(32))
        finally:
            await egress.close()

    try:
        asyncio.run(ask())
        yield Finding("timestamps", "good", f"{loaded.tsa_url} gives them")
    except ServiceError as error:
        step = "Check DEEDBOX_TSA_URL; an address that is not public needs DEEDBOX_EGRESS_ALLOW. Documents are sealed"
        yield Finding("timestamps", "bad", error.message, f"{step} without its timestamp meanwhile.")


def traces(loaded: Settings) -> Iterator[Finding]:
    """Hands the collector of the settings no span at all."""
    if loaded.traces_url is None:
        return
    from deedbox.kernel.traces import otlp
    from deedbox.kernel.traces.export import hand_in, way_out

    async def ask() -> str:
        egress = way_out()
        try:
            return await hand_in(egress, str(loaded.traces_url), otlp.NOTHING)
        finally:
            await egress.close()

    if reason := asyncio.run(ask()):
        step = "Check DEEDBOX_TRACES_URL, which ends in /v1/traces as a rule. All else goes on, and spans are dropped."
        yield Finding("traces", "bad", reason, step)
    else:
        yield Finding("traces", "good", f"{loaded.traces_url} takes them")
