"""The role reverse_proxy with Debian's real nginx and Caddy, in folders and on ports of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp.abc import AbstractResolver
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.conftest import scratch_dir
from tests.resources import proxied
from tests.resources.proxied import COOKIE, LOGIN, USER, Backends
from tests.support.plays import ROOT, Played, good, messages, play, play_role_on, refused

VIEW, PEOPLE, GATEWAY = "view.example.net", "asks.example.net", "agents.example.net"
PASSWORD = "the-views-own-password"
TOKEN = "shop." + "ab" * 32
SPOOFED = {
    "Remote-User": "evil",
    "Remote-Groups": "admins",
    "Remote-Email": "evil@example.org",
    "Remote-Name": "Evil",
    "X-authentik-username": "evil",
    "X-Forwarded-For": "6.6.6.6",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Host": "evil.example.org",
    "X-Forwarded-Prefix": "/evil",
    "X-Forwarded-User": "evil",
    "X-Real-IP": "6.6.6.6",
    "Forwarded": "for=6.6.6.6;host=evil.example.org",
}
BOTH = ["nginx", "caddy"]
# Longer than the minute after which proxies end silent connections by default.
SILENCE = 70.0


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Loopback(AbstractResolver):
    """Every name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[Any]:
        """As the base class says."""
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}]

    async def close(self) -> None:
        """As the base class says."""


class Site:
    """One proxy of one kind with the files that the role writes for it."""

    def __init__(self, kind: str, auth: str, backends: Backends, place: Path, certificate: tuple[Path, Path]) -> None:
        self.kind, self.auth, self.backends, self.place, self.certificate = kind, auth, backends, place, certificate
        self.folder = place / kind
        self.folder.mkdir()
        self.log = place / "log"
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        (place / "password").write_text(PASSWORD + "\n")
        (place / "password").chmod(0o600)
        for name in ("tmp", "state"):
            (place / name).mkdir()
        self.main().write_text(self._main_text())

    def main(self) -> Path:
        """The operator's own file."""
        return self.folder / ("nginx.conf" if self.kind == "nginx" else "Caddyfile")

    def _main_text(self) -> str:
        place = self.place
        if self.kind == "caddy":
            return f"{{\n\tadmin unix/{place}/admin.sock\n\tauto_https disable_redirects\n}}\n"
        temporary = "".join(f"{name}_temp_path {place}/tmp/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        log = f"access_log {place}/access.log; {temporary}"
        return f"daemon off;\npid {place}/pid;\nerror_log {self.log} info;\nevents {{}}\nhttp {{ {log}include conf.d/*.conf; }}\n"

    @property
    def settings(self) -> dict[str, Any]:
        """The variables of the role."""
        ports = self.backends.ports
        return {
            **{f"telebrowser_reverse_proxy_{name}_upstream": f"127.0.0.1:{ports[name]}" for name in ("view", "people", "gateway")},
            "telebrowser_reverse_proxy_kind": self.kind,
            "telebrowser_reverse_proxy_dir": str(self.folder),
            "telebrowser_reverse_proxy_view_host": VIEW,
            "telebrowser_reverse_proxy_people_host": PEOPLE,
            "telebrowser_reverse_proxy_gateway_host": GATEWAY,
            "telebrowser_reverse_proxy_auth": self.auth,
            "telebrowser_reverse_proxy_auth_url": f"http://127.0.0.1:{ports[self.auth]}",
            "telebrowser_reverse_proxy_view_credential": True,
            "telebrowser_reverse_proxy_view_password_file": str(self.place / "password"),
            "telebrowser_reverse_proxy_caddy_admin_url": f"http://127.0.0.1:{free_port()}",
            "telebrowser_reverse_proxy_tls_certificate": str(self.certificate[0]),
            "telebrowser_reverse_proxy_tls_key": str(self.certificate[1]),
            "telebrowser_reverse_proxy_listen_address": "127.0.0.1",
            "telebrowser_reverse_proxy_listen_port": self.port,
            # Before it runs there is nothing to reload.
            "telebrowser_reverse_proxy_reload_command": self.reload if self.process else ["true"],
        }

    @property
    def reload(self) -> list[str]:
        """How the running proxy reads its files again."""
        if self.kind == "nginx":
            return ["nginx", "-c", str(self.main()), "-s", "reload"]
        return ["caddy", "reload", "--adapter", "caddyfile", "--config", str(self.main()), "--address", f"unix/{self.place}/admin.sock"]

    def start(self) -> None:
        """Run the proxy and wait until it listens."""
        command = ["nginx", "-e", str(self.log), "-c", str(self.main())]
        if self.kind == "caddy":
            command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(self.main())]
        env = {"PATH": "/usr/sbin:/usr/bin", "HOME": str(self.place / "state")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)

    @property
    def trust(self) -> ssl.SSLContext:
        """What a browser has that takes the certificate for a good one."""
        return ssl.create_default_context(cafile=str(self.certificate[0]))

    def client(self) -> aiohttp.ClientSession:
        """A browser's way to pages."""
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Loopback(), ssl=self.trust), timeout=aiohttp.ClientTimeout(total=100))

    def socket(self, host: str, path: str, headers: dict[str, str], **options: Any) -> connect:
        """A browser's WebSocket. Not by aiohttp, whose close waits for no connection that it has upgraded: its farewell by TLS outlives the test's loop."""
        url = f"wss://{host}:{self.port}{path}"
        quiet = {"ping_interval": None, "compression": None, "max_size": None, "proxy": None, "open_timeout": 60}
        return connect(url, host="127.0.0.1", port=self.port, ssl=self.trust, additional_headers=headers, **quiet, **options)

    def url(self, host: str, path: str = "/") -> str:
        """The address of a page."""
        return f"https://{host}:{self.port}{path}"

    def files(self) -> dict[str, bytes]:
        """Everything in the proxy's folder."""
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def certificate() -> Iterator[tuple[Path, Path]]:
    """A certificate for the three names."""
    place = scratch_dir("tls")
    names = ",".join(f"DNS:{name}" for name in (VIEW, PEOPLE, GATEWAY))
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", f"subjectAltName={names}", "-keyout", str(place / "key.pem"), "-out", str(place / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    yield place / "cert.pem", place / "key.pem"
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def backends() -> Iterator[Backends]:
    """What the proxies stand before."""
    running = Backends(
        view=proxied.guarded(PASSWORD), people=proxied.echo, gateway=proxied.echo, other=proxied.echo, authelia=proxied.authelia, authentik=proxied.authentik
    )
    yield running
    running.close()


class Fleet:
    """Proxies beside each other, on which one run plays the role."""

    def __init__(self, backends: Backends, certificate: tuple[Path, Path], *kinds: tuple[str, str]) -> None:
        self.place = scratch_dir("fleet")
        self.sites = {}
        for kind, auth in kinds:
            folder = self.place / f"{kind}-{auth}"
            folder.mkdir()
            self.sites[kind, auth] = Site(kind, auth, backends, folder, certificate)

    def play(self, *options: str, **settings: Any) -> Played:
        """One run on all of them."""
        hosts = {f"{kind}-{auth}": site.settings for (kind, auth), site in self.sites.items()}
        given = {f"telebrowser_reverse_proxy_{name}": value for name, value in settings.items() if name != "state"}
        if "state" in settings:
            given["telebrowser_state"] = settings["state"]
        return play_role_on("reverse_proxy", self.place, hosts, *options, **given)

    def start(self) -> None:
        """Run all of them."""
        for site in self.sites.values():
            site.start()

    def files(self) -> dict[str, dict[str, bytes]]:
        """The files of each kind."""
        return {kind: site.files() for (kind, _), site in self.sites.items()}

    def close(self) -> None:
        """End and remove them."""
        for site in self.sites.values():
            site.stop()
        shutil.rmtree(self.place)


@pytest.fixture(scope="module")
def sites(backends: Backends, certificate: tuple[Path, Path]) -> Iterator[Callable[..., Site]]:
    """Proxies that run, one for each kind and service."""
    fleet = Fleet(backends, certificate, *((kind, auth) for kind in BOTH for auth in ("authelia", "authentik")))
    good(fleet.play())
    fleet.start()
    yield lambda kind, auth="authelia": fleet.sites[kind, auth]
    fleet.close()


@pytest.fixture
def fleet(backends: Backends, certificate: tuple[Path, Path]) -> Iterator[Fleet]:
    """One nginx and one Caddy with folders that a test may spoil; not started."""
    made = Fleet(backends, certificate, *((kind, "authelia") for kind in BOTH))
    yield made
    made.close()


def check_told(site: Site, told: dict[str, Any], host: str) -> None:
    """What reached the part behind is the proxy's word and the service's, not the client's."""
    headers = told["headers"]
    assert headers["host"] == f"{host}:{site.port}"
    assert {name: headers.get(f"remote-{name}") for name in USER} == USER
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "https"
    assert headers["x-forwarded-host"] == f"{host}:{site.port}"
    assert headers.get("x-real-ip") in (None, "127.0.0.1")
    assert "evil" not in json.dumps(told) and "6.6.6.6" not in json.dumps(told)


@pytest.mark.parametrize("auth", ["authelia", "authentik"])
@pytest.mark.parametrize("kind", BOTH)
async def test_a_page_arrives_with_what_the_service_says_and_nothing_that_the_client_made_up(sites: Callable[..., Site], kind: str, auth: str) -> None:
    site = sites(kind, auth)
    async with site.client() as client:
        for host in (VIEW, PEOPLE):
            async with client.get(site.url(host, "/a/b?c=%20d"), cookies=COOKIE, headers=SPOOFED) as answer:
                assert answer.status == 200
                told = await answer.json()
            assert told["path"] == "/a/b?c=%20d"
            check_told(site, told, host)
            # The view's password goes to the view and nowhere else.
            assert ("authorization" in told["headers"]) is (host == VIEW)


@pytest.mark.parametrize("auth", ["authelia", "authentik"])
@pytest.mark.parametrize("kind", BOTH)
async def test_who_is_not_logged_in_is_sent_to_the_login_but_a_socket_gets_401(sites: Callable[..., Site], kind: str, auth: str) -> None:
    site = sites(kind, auth)
    async with site.client() as client:
        for host in (VIEW, PEOPLE):
            async with client.get(site.url(host), headers={"Accept": "text/html", **SPOOFED}, allow_redirects=False) as answer:
                assert answer.status == 302
                place = answer.headers["Location"]
                assert place == (site.url(host, f"/outpost.goauthentik.io/start?rd={site.url(host)}") if (kind, auth) == ("nginx", "authentik") else LOGIN)
            for path in ("/websocket", "/events"):
                with pytest.raises(InvalidStatus) as refusal:
                    await site.socket(host, path, {"Accept": "text/html", **SPOOFED})
                assert refusal.value.response.status_code == 401


@pytest.mark.parametrize("kind", BOTH)
async def test_the_login_pages_of_authentik_are_reached_without_a_login(sites: Callable[..., Site], kind: str) -> None:
    site = sites(kind, "authentik")
    async with site.client() as client, client.get(site.url(VIEW, "/outpost.goauthentik.io/start?rd=x")) as answer:
        assert answer.status == 200
        told = await answer.json()
        assert told["path"] == "/outpost.goauthentik.io/start?rd=x"
        assert told["headers"]["host"] == f"{VIEW}:{site.port}"


@pytest.mark.parametrize("auth", ["authelia", "authentik"])
@pytest.mark.parametrize("kind", BOTH)
async def test_a_socket_carries_pictures_both_ways(sites: Callable[..., Site], kind: str, auth: str) -> None:
    site = sites(kind, auth)
    picture = bytes(range(256)) * (5 << 12)
    for host, path in ((VIEW, "/websocket"), (PEOPLE, "/events")):
        headers = {**SPOOFED, "Cookie": "session=good", "Origin": f"https://{host}:{site.port}"}
        async with site.socket(host, path, headers, subprotocols=["chat"]) as view, asyncio.timeout(60):
            assert view.subprotocol == "chat"
            told = json.loads(await view.recv())
            check_told(site, told, host)
            assert told["headers"]["origin"] == f"https://{host}:{site.port}"
            await view.send(picture)
            assert await view.recv() == picture


async def test_silence_is_not_the_end_of_a_socket(sites: Callable[..., Site]) -> None:
    async def quiet(site: Site, host: str, path: str) -> None:
        async with site.socket(host, path, {"Cookie": "session=good"}) as view, asyncio.timeout(SILENCE + 60):
            await view.recv()
            # What is tried is this very time without a byte.
            await asyncio.sleep(SILENCE)
            await view.send("still here")
            assert await view.recv() == "still here"

    await asyncio.gather(*(quiet(sites(kind), host, path) for kind in BOTH for host, path in ((VIEW, "/websocket"), (PEOPLE, "/events"))))


@pytest.mark.parametrize("kind", BOTH)
async def test_agents_reach_the_gateway_and_their_token_reaches_no_log(sites: Callable[..., Site], backends: Backends, kind: str) -> None:
    site = sites(kind)
    async with site.client() as client:
        async with client.get(site.url(GATEWAY, f"/t/{TOKEN}/status"), headers=SPOOFED) as answer:
            told = await answer.json()
            assert told["path"] == f"/t/{TOKEN}/status"
            assert "authorization" not in told["headers"] and "evil" not in json.dumps(told)
        async with site.socket(GATEWAY, f"/t/{TOKEN}/s/x/mcp", {}) as agent, asyncio.timeout(60):
            await agent.recv()
        async with client.get(site.url(GATEWAY, "/healthz")) as answer:
            assert answer.status == 200
        for path in ("/", "/metrics", "/x"):
            async with client.get(site.url(GATEWAY, path)) as answer:
                assert answer.status == 404
        backends.stop("gateway")
        try:
            async with client.get(site.url(GATEWAY, f"/t/{TOKEN}/status")) as answer:
                assert answer.status == 502
        finally:
            backends.start("gateway")
        async with client.get(site.url(GATEWAY, f"/t/{TOKEN}/status")) as answer:
            assert answer.status == 200
    for log in (site.log, site.place / "access.log"):
        assert not log.exists() or TOKEN not in log.read_text()


@pytest.mark.timeout(600)
async def test_the_life_of_the_files(fleet: Fleet) -> None:
    own = fleet.files()
    basic = b64encode(f"telebrowser:{PASSWORD}".encode()).decode()

    # New: the credential is in one file that others cannot read, and in no output.
    played = good(fleet.play("-vvv", "--diff"))
    assert PASSWORD not in played.output and basic not in played.output
    for site in fleet.sites.values():
        holders = [name for name, content in site.files().items() if basic.encode() in content or PASSWORD.encode() in content]
        assert len(holders) == 1
        status = (site.folder / holders[0]).stat()
        assert (status.st_uid, status.st_mode & 0o777) == (0, 0o600 if site.kind == "nginx" else 0o640)
    fleet.start()
    files = fleet.files()

    # Again: nothing changes.
    assert good(fleet.play()).changed == 0
    assert fleet.files() == files

    # What the program refuses never goes live; what it refuses together with the operator's own files is taken back.
    refused(fleet.play(tls_certificate="/nowhere.pem"), "refuses the configuration that these variables give, and nothing was changed")
    assert fleet.files() == files
    mains = {site: site.main().read_text() for site in fleet.sites.values()}
    for site, text in mains.items():
        site.main().write_text(text + "\nnot_a_directive {\n")
    spoilt = fleet.files()
    refused(fleet.play(people_host=""), "the files before are back")
    assert fleet.files() == spoilt
    for site, text in mains.items():
        site.main().write_text(text)

    # A change is seen before it is made, and is reloaded under a live socket.
    site = fleet.sites["nginx", "authelia"]
    moved = {"people_host": "", "view_credential": False, "gateway_upstream": f"127.0.0.1:{site.backends.ports['other']}"}
    assert good(fleet.play("--check", "--diff", **moved)).changed > 0
    assert fleet.files() == files
    async with site.socket(VIEW, "/websocket", {"Cookie": "session=good"}) as view, asyncio.timeout(300):
        await view.recv()
        assert good(fleet.play(**moved)).changed > 0
        for each in fleet.sites.values():
            await moved_to(each, each.backends.ports["other"])
        await view.send("still here")
        assert await view.recv() == "still here"
    for each in fleet.sites.values():
        content = each.files()
        assert not any(basic.encode() in text for text in content.values())
        assert not [name for name in content if name.endswith("~")]

    # Away: the operator's own files are what they were.
    assert good(fleet.play(state="absent")).changed > 0
    left = fleet.files()
    for kind, before in own.items():
        assert {name: text.strip() for name, text in left[kind].items()} == {name: text.strip() for name, text in before.items()}
    assert good(fleet.play(state="absent")).changed == 0


async def moved_to(site: Site, port: int) -> None:
    """Wait until the gateway's name leads to another port: new workers take over when they are ready."""
    deadline = time.monotonic() + 20
    async with site.client() as client:
        while True:
            async with client.get(site.url(GATEWAY, "/healthz")) as answer:
                if (await answer.json())["port"] == port:
                    return
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


def test_a_fresh_host_can_be_looked_at(fleet: Fleet) -> None:
    for site in fleet.sites.values():
        (site.place / "password").unlink()
        shutil.rmtree(site.folder)
    assert good(fleet.play("--check", "--diff")).changed > 0
    assert not any(site.folder.exists() for site in fleet.sites.values())


def test_settings_that_cannot_work_are_refused_with_what_to_do(fleet: Fleet, backends: Backends) -> None:
    shown = f"http://127.0.0.1:{backends.ports['people']}"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"view_host": ""}, "telebrowser_reverse_proxy_view_host is empty"),
        ({"people_host": VIEW}, "must differ"),
        ({"view_path": "/view"}, "must begin and end with a slash"),
        ({"auth_url": "http://127.0.0.1:9091/api"}, "without a path"),
        ({"auth": "none"}, "would open the view to everybody"),
        ({"timeout_seconds": 60}, "at least 3600"),
        ({"tls_key": ""}, "or neither"),
        ({"tls_key": "", "tls_certificate": ""}, "nginx needs telebrowser_reverse_proxy_tls_certificate"),
        ({"program": "/no/nginx"}, "does not run on"),
        ({"kind": "apache"}, "value of telebrowser_reverse_proxy_kind must be one of"),
        ({"kind": "caddy", "caddy_admin_url": shown}, "shows the whole configuration"),
    ]
    site = fleet.sites["nginx", "authelia"]
    before = fleet.files()
    settings = [{**site.settings, **{f"telebrowser_reverse_proxy_{name}": value for name, value in case.items()}} for case, _ in cases]
    for (case, words), said in zip(cases, messages("reverse_proxy", fleet.place, settings), strict=True):
        assert words in said, (case, said)
    assert fleet.files() == before


async def test_the_view_below_a_path(fleet: Fleet) -> None:
    good(fleet.play(view_path="/browsers/", people_host=""))
    fleet.start()
    for site in fleet.sites.values():
        async with site.client() as client:
            async with client.get(site.url(VIEW, "/browsers/x"), cookies=COOKIE) as answer:
                assert (await answer.json())["path"] == "/browsers/x"
            async with site.socket(VIEW, "/browsers/websocket", {"Cookie": "session=good"}) as view, asyncio.timeout(60):
                assert json.loads(await view.recv())["path"] == "/browsers/websocket"
            for path in ("/", "/websocket", "/browsersx"):
                async with client.get(site.url(VIEW, path), cookies=COOKIE) as answer:
                    assert answer.status == 404


def test_the_examples_are_what_the_templates_give(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "reverse-proxy"
    good(play(folder / "render.yml", "localhost,", tmp_path, settings={"output": str(tmp_path)}))
    for kind in ("nginx", "caddy", "traefik"):
        rendered = {path.relative_to(tmp_path): path.read_text() for path in (tmp_path / kind).rglob("*") if path.is_file()}
        shown = {path.relative_to(folder): path.read_text() for path in (folder / kind).rglob("*") if path.is_file()}
        assert rendered and shown == rendered, f"run: ansible-playbook {folder}/render.yml"


def test_traefiks_file_hangs_together(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    services = ("none", "authelia", "authentik")
    hosts = {
        auth: {
            "telebrowser_reverse_proxy_kind": "traefik",
            "telebrowser_reverse_proxy_dir": str(tmp_path / auth),
            "telebrowser_reverse_proxy_view_host": VIEW,
            "telebrowser_reverse_proxy_people_host": PEOPLE,
            "telebrowser_reverse_proxy_auth": auth,
            "telebrowser_reverse_proxy_auth_url": "http://127.0.0.1:9091",
            "telebrowser_reverse_proxy_view_credential": auth != "none",
            "telebrowser_reverse_proxy_view_password_file": str(tmp_path / "password"),
        }
        for auth in services
    }
    good(play_role_on("reverse_proxy", tmp_path, hosts))
    for auth in services:
        files = [yaml.safe_load(path.read_text())["http"] for path in sorted((tmp_path / auth).glob("*.yml"))]
        routers = {name: router for file in files for name, router in file.get("routers", {}).items()}
        middlewares = {name: row for file in files for name, row in file.get("middlewares", {}).items()}
        behind = {name: row for file in files for name, row in file.get("services", {}).items()}
        assert {name for router in routers.values() for name in router["middlewares"]} == set(middlewares)
        assert {router["service"] for router in routers.values()} == set(behind)
        for name, router in routers.items():
            chain = router["middlewares"]
            assert chain[0] == "telebrowser-strip"
            if auth != "none" and not name.endswith("-login"):
                assert chain[1] == ("telebrowser-auth-socket" if name.endswith("-socket") else "telebrowser-auth")
            assert ("telebrowser-credential" in chain) is (auth != "none" and name.startswith("telebrowser-view") and not name.endswith("-login"))
