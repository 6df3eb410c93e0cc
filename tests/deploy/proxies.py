"""nginx and Caddy as `deploy/` sets them up, in front of a server: only names, ports and paths are others."""

import contextlib
import datetime as dt
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.pdf.pki import key_usage

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = "localhost"
SECONDS = 60

ProxyName: TypeAlias = Literal["nginx", "caddy"]
_PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
_START = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)

_NGINX_MAIN = """\
user root;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    # As Debian's nginx.conf has it.
    gzip on;
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/deedbox.conf;
}}
"""
_CADDY_MAIN = """\
{{
	admin off
	http_port {http}
	https_port {https}
	storage file_system {folder}/storage
}}
import {folder}/deedbox.caddy
"""


class Ports(NamedTuple):
    """Where the server listens, and the proxy for HTTP and HTTPS."""

    server: int
    http: int
    https: int


class Authority(NamedTuple):
    """A certificate for NAME and its key, and the root that it is trusted by."""

    chain: Path
    key: Path
    root: Path


def program(name: str) -> str:
    """Its path; the test is skipped where it is missing, which in CI is a failure."""
    found = shutil.which(name, path=_PLACES)
    if found is None:
        assert not os.environ.get("CI"), f"{name} is missing: run scripts/test-deps"
        pytest.skip(f"{name} is missing: run scripts/test-deps")
    return found


def free_ports() -> Ports:
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in Ports._fields]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return Ports(*(probe.getsockname()[1] for probe in probes))


def authority(folder: Path) -> Authority:
    """A root made for this test, and a certificate that it has issued."""
    made = Authority(folder / "fullchain.pem", folder / "privkey.pem", folder / "root.pem")
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
    names = x509.SubjectAlternativeName([x509.DNSName(NAME)])
    root = _valid(root_name, root_name, root_key).add_extension(key_usage(ca=True), critical=True)
    root = root.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    # Python 3.13 wants to know of each certificate by whose key it was issued.
    issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key())
    leaf = _valid(root_name, x509.Name([]), key).add_extension(names, critical=True)
    leaf = leaf.add_extension(issued_by, critical=False)
    made.root.write_bytes(root.sign(root_key, hashes.SHA256()).public_bytes(Encoding.PEM))
    made.chain.write_bytes(leaf.sign(root_key, hashes.SHA256()).public_bytes(Encoding.PEM))
    made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made


def _valid(issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    own = key.public_key()
    return x509.CertificateBuilder(
        issuer, subject, own, x509.random_serial_number(), _START, _START + dt.timedelta(days=36500)
    ).add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)


def replaced(text: str, others: Mapping[str, str]) -> str:
    """The text with each of these put in place of the other; all of them must be there."""
    for old, new in others.items():
        assert old in text, f"{old} is not in the file"
        text = text.replace(old, new)
    return text


def _nginx(folder: Path, ports: Ports, certificate: Authority) -> list[str]:
    live = "/etc/letsencrypt/live/sign.example.com"
    others = {
        f"{live}/fullchain.pem": str(certificate.chain),
        f"{live}/privkey.pem": str(certificate.key),
        "sign.example.com": NAME,
        "127.0.0.1:8080": f"127.0.0.1:{ports.server}",
        "listen 80;": f"listen {ports.http};",
        "listen [::]:80;": f"listen [::]:{ports.http};",
        "listen 443 ": f"listen {ports.https} ",
        "listen [::]:443 ": f"listen [::]:{ports.https} ",
    }
    (folder / "deedbox.conf").write_text(replaced((DEPLOY / "nginx.conf").read_text(), others))
    main = folder / "nginx.conf"
    main.write_text(_NGINX_MAIN.format(folder=folder))
    return [program("nginx"), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(main)]


def _caddy(folder: Path, ports: Ports, certificate: Authority) -> list[str]:
    others = {
        "# tls /etc/deedbox/tls/fullchain.pem /etc/deedbox/tls/privkey.pem": (
            f"tls {certificate.chain} {certificate.key}"
        ),
        "sign.example.com {": f"{NAME} {{",
        "127.0.0.1:8080": f"127.0.0.1:{ports.server}",
    }
    (folder / "deedbox.caddy").write_text(replaced((DEPLOY / "Caddyfile").read_text(), others))
    main = folder / "Caddyfile"
    main.write_text(_CADDY_MAIN.format(folder=folder, http=ports.http, https=ports.https))
    return [program("caddy"), "run", "--config", str(main), "--adapter", "caddyfile"]


_COMMANDS = {"nginx": _nginx, "caddy": _caddy}


@contextlib.contextmanager
def proxy(name: ProxyName, folder: Path, ports: Ports, certificate: Authority) -> Iterator[None]:
    command = _COMMANDS[name](folder, ports, certificate)
    env = {"PATH": _PLACES, "HOME": str(folder)}
    log = folder / f"{name}.log"
    with log.open("wb") as said, subprocess.Popen(command, env=env, stdout=said, stderr=said) as process:
        try:
            for port in (ports.http, ports.https):
                while not _listens(port):
                    assert process.poll() is None, f"{name} ended: {log.read_text()}"
                    time.sleep(0.02)
            yield
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Site(NamedTuple):
    """A server behind a proxy."""

    ports: Ports
    certificate: Authority
    api_key: str
    login_link: str
    log: Path

    @property
    def address(self) -> str:
        return f"https://{NAME}:{self.ports.https}"

    def client(self, source: str = "127.0.0.1", **options: Any) -> httpx.Client:
        """A client that comes from this address, and trusts nothing but the test's authority."""
        trusting = ssl.create_default_context(cafile=str(self.certificate.root))
        transport = httpx.HTTPTransport(verify=trusting, local_address=source)
        return httpx.Client(base_url=self.address, transport=transport, timeout=SECONDS, **options)

    def keyed(self) -> httpx.Client:
        return self.client(headers={"Authorization": f"Bearer {self.api_key}"})
