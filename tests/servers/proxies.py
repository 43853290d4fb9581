"""nginx, Apache and Caddy with the recipes of docs/pages.md, on free ports of loopback.

A recipe is used word for word, but for addresses, ports and files, which `Place` lists.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import socket
import ssl
import subprocess
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import trustme

from tests.patience import PATIENCE, wait
from tests.servers.nginx import find_program, nginx_command

HOST = "papers.example.org"
PAGES_MD = Path(__file__).parents[2] / "docs" / "pages.md"
SOCKET = "/run/paper-monitor/web.sock"
CERTIFICATES = f"/etc/letsencrypt/live/{HOST}"
# Modules that `a2enmod` and Debian's own configuration load.
APACHE_MODULES = [
    "mpm_event",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_user",
    "auth_basic",
    "headers",
    "proxy",
    "proxy_http",
    "socache_shmcb",
    "ssl",
]
PROXY_SECRET = "a-secret-of-the-proxy-and-the-pages"
# Debian's user for it, and the group of that user.
APACHE_USER = "www-data"
# They may log in where Apache asks for a password.
USERS = ("ada@example.org", "bob@example.org")
PASSWORD = "a password of both"


@dataclass(frozen=True)
class Place:
    """Where a recipe runs: what stands there for addresses and files of docs/pages.md.

    `pages` is an address and a port, or `unix:` and the path of a socket.
    """

    folder: Path
    port: int
    pages: str
    login: str = "127.0.0.1:4180"

    def fill(self, recipe: str) -> str:
        """Return a recipe with the addresses and files of this place."""
        path = self.pages.removeprefix("unix:")
        if path != self.pages:
            for by_port, by_socket in socket_lines():
                recipe = recipe.replace(by_port, by_socket.replace(SOCKET, path))
        here = {
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            "<VirtualHost *:443>": f"<VirtualHost 127.0.0.1:{self.port}>",
            f"{CERTIFICATES}/fullchain.pem": f"{self.folder}/fullchain.pem",
            f"{CERTIFICATES}/privkey.pem": f"{self.folder}/privkey.pem",
            "/etc/apache2/papers.htpasswd": f"{self.folder}/papers.htpasswd",
            "127.0.0.1:8080": self.pages,
            "127.0.0.1:4180": self.login,
            "PROXY_SECRET": PROXY_SECRET,
        }
        # At once: a free port, such as 41805, may begin as a port of the recipe does.
        return re.sub("|".join(map(re.escape, here)), lambda written: here[written[0]], recipe)


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs, and the authority whose certificate it shows."""

    port: int
    trusting: ssl.SSLContext

    def visitor(self, address: str = "127.0.0.1", **options: object) -> httpx.Client:
        """Return a client that reaches any host here, from an address of loopback."""
        return httpx.Client(
            base_url=f"https://{HOST}",
            transport=_Through(self, address),
            timeout=PATIENCE,
            **options,  # type: ignore[arg-type]
        )

    def connect(self, address: str) -> ssl.SSLSocket:
        """Open a connection from an address of loopback, for requests that no client sends."""
        here = socket.create_connection(
            ("127.0.0.1", self.port), PATIENCE, source_address=(address, 0)
        )
        return self.trusting.wrap_socket(here, server_hostname=HOST)


class _Through(httpx.BaseTransport):
    """Lead every request to a proxy, as the domain name system would."""

    def __init__(self, proxy: Proxy, address: str) -> None:
        self._port = proxy.port
        self._inner = httpx.HTTPTransport(verify=proxy.trusting, local_address=address)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._inner.handle_request(
            httpx.Request(
                request.method,
                request.url.copy_with(host="127.0.0.1", port=self._port),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": request.url.host},
            )
        )

    def close(self) -> None:
        self._inner.close()


def blocks(heading: str) -> list[str]:
    """Return the blocks of code below a heading of docs/pages.md."""
    text = PAGES_MD.read_text("utf-8")
    section = re.split(rf"^#+ {re.escape(heading)}\n", text, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", section, re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def socket_lines() -> list[tuple[str, str]]:
    """Return what docs/pages.md writes for a port and, in its place, for a Unix socket."""
    text = PAGES_MD.read_text("utf-8").replace("\\|", "|")
    return re.findall(rf"^\| \w+ \| `([^`]+)` \| `([^`]*{SOCKET}[^`]*)` \|$", text, re.MULTILINE)


@contextmanager
def running(heading: str, port: int, pages: str, login: str = "") -> Iterator[Proxy]:
    """Run the proxy of a recipe before pages and a login until the block ends."""
    [recipe] = blocks(heading)
    start = _STARTS[heading.split()[0]]
    with tempfile.TemporaryDirectory(prefix="paper-monitor-proxy-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # workers of a server that root started are other users
        place = Place(folder, port, pages, login or Place.login)
        trusting = ssl.create_default_context(cafile=_issue_certificate(folder))
        command, authority = start(place, place.fill(recipe))
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                env={**os.environ, "HOME": str(folder)},
            )
        try:
            proxy = Proxy(port, trusting)
            wait(lambda: _is_up(process, folder, proxy, authority))
            yield proxy
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _is_up(
    process: subprocess.Popen[bytes], folder: Path, proxy: Proxy, authority: Path | None
) -> bool:
    if process.poll() is not None:
        logs = [path.read_text("utf-8") for path in (folder / "output", *folder.glob("*.log"))]
        pytest.fail("\n".join(logs))
    try:
        if authority:
            proxy.trusting.load_verify_locations(authority)
        with proxy.visitor() as client:
            client.get("/healthz")
    # It may not have written the whole certificate of its authority yet.
    except (FileNotFoundError, ssl.SSLError, httpx.TransportError):
        return False
    return True


def _issue_certificate(folder: Path) -> Path:
    """Write a certificate as Let's Encrypt does, and return the file of its authority."""
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST)
    for pem in certificate.cert_chain_pems:
        pem.write_to_path(folder / "fullchain.pem", append=True)
    certificate.private_key_pem.write_to_path(folder / "privkey.pem")
    authority.cert_pem.write_to_path(folder / "authority.pem")
    return folder / "authority.pem"


def _start_nginx(place: Place, recipe: str) -> tuple[list[str], Path | None]:
    return nginx_command(place.folder, recipe), None


def _start_apache(place: Place, recipe: str) -> tuple[list[str], Path | None]:
    modules = "/usr/lib/apache2/modules"
    config = [
        f"ServerRoot {place.folder}",
        f"ServerName {HOST}",
        f"DefaultRuntimeDir {place.folder}",
        f"PidFile {place.folder}/apache.pid",
        f"ErrorLog {place.folder}/error.log",
        f"Listen 127.0.0.1:{place.port}",
        *(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in APACHE_MODULES),
        *([f"User {APACHE_USER}", f"Group {APACHE_USER}"] if os.geteuid() == 0 else []),
        recipe,
    ]
    digest = base64.b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()
    passwords = "".join(f"{user}:{{SHA}}{digest}\n" for user in USERS)
    (place.folder / "papers.htpasswd").write_text(passwords, "utf-8")
    path = place.folder / "apache.conf"
    path.write_text("\n".join(config), "utf-8")
    return [find_program("apache2"), "-D", "FOREGROUND", "-f", str(path)], None


def _start_caddy(place: Place, recipe: str) -> tuple[list[str], Path | None]:
    """Let Caddy be its own authority, in place of Let's Encrypt."""
    options = [
        "admin off",
        "auto_https disable_redirects",
        "default_bind 127.0.0.1",
        f"https_port {place.port}",
        "local_certs",
        "skip_install_trust",
        f"storage file_system {place.folder}",
    ]
    path = place.folder / "Caddyfile"
    path.write_text("\n".join(["{", *options, "}", recipe]), "utf-8")
    command = [find_program("caddy"), "run", "--config", str(path), "--adapter", "caddyfile"]
    return command, place.folder / "pki" / "authorities" / "local" / "root.crt"


_STARTS: dict[str, Callable[[Place, str], tuple[list[str], Path | None]]] = {
    "nginx": _start_nginx,
    "Apache": _start_apache,
    "Caddy": _start_caddy,
}
