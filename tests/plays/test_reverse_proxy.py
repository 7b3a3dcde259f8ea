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

from tests.conftest import scratch_dir
from tests.resources import proxied
from tests.resources.proxied import COOKIE, LOGIN, USER, Backends
from tests.support.plays import ROOT, good, play, play_role, refused

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
            "telebrowser_reverse_proxy_reload_command": self.reload if self.process else ["true"],
        }

    @property
    def reload(self) -> list[str]:
        """How the running proxy reads its files again."""
        if self.kind == "nginx":
            return ["nginx", "-c", str(self.main()), "-s", "reload"]
        return ["caddy", "reload", "--adapter", "caddyfile", "--config", str(self.main()), "--address", f"unix/{self.place}/admin.sock"]

    def play(self, *options: str, **settings: Any) -> Any:
        """The role, on this proxy."""
        return play_role("reverse_proxy", self.place, *options, **{**self.settings, **settings})

    def start(self) -> None:
        """Run the proxy and wait until it listens."""
        command = ["nginx", "-e", str(self.log), "-c", str(self.main())]
        if self.kind == "caddy":
            command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(self.main())]
        env = {"PATH": "/usr/sbin:/usr/bin", "HOME": str(self.place / "state")}
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log.open("ab"))
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

    def client(self) -> aiohttp.ClientSession:
        """A browser's way there, with the certificate checked."""
        trust = ssl.create_default_context(cafile=str(self.certificate[0]))
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Loopback(), ssl=trust), timeout=aiohttp.ClientTimeout(total=100))

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


@pytest.fixture(scope="module")
def sites(backends: Backends, certificate: tuple[Path, Path]) -> Iterator[Callable[..., Site]]:
    """Proxies that run, one for each kind and service, made when they are asked for."""
    made: dict[tuple[str, str], Site] = {}

    def get(kind: str, auth: str = "authelia") -> Site:
        if (kind, auth) not in made:
            made[kind, auth] = site = Site(kind, auth, backends, scratch_dir(kind), certificate)
            good(site.play())
            site.start()
        return made[kind, auth]

    yield get
    for site in made.values():
        site.stop()
        shutil.rmtree(site.place)


@pytest.fixture
def unused(backends: Backends, certificate: tuple[Path, Path]) -> Iterator[Callable[..., Site]]:
    """Proxies that do not run, with folders that a test may spoil."""
    made: list[Site] = []

    def make(kind: str) -> Site:
        made.append(Site(kind, "authelia", backends, scratch_dir(kind), certificate))
        return made[-1]

    yield make
    for site in made:
        shutil.rmtree(site.place)


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
            async with client.get(site.url(host, "/a/b?c=%2Fd"), cookies=COOKIE, headers=SPOOFED) as answer:
                assert answer.status == 200
                told = await answer.json()
            assert told["path"] == "/a/b?c=%2Fd"
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
                assert place == (f"/outpost.goauthentik.io/start?rd={site.url(host)}" if (kind, auth) == ("nginx", "authentik") else LOGIN)
            for path in ("/websocket", "/events"):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
                    await client.ws_connect(site.url(host, path), headers={"Accept": "text/html", **SPOOFED})
                assert refusal.value.status == 401


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
    async with site.client() as client:
        for host, path in ((VIEW, "/websocket"), (PEOPLE, "/events")):
            headers = {**SPOOFED, "Cookie": "session=good", "Origin": f"https://{host}:{site.port}"}
            async with client.ws_connect(site.url(host, path), headers=headers, protocols=["chat"], max_msg_size=0) as view:
                assert view.protocol == "chat"
                told = json.loads((await view.receive(20)).data)
                check_told(site, told, host)
                assert told["headers"]["origin"] == f"https://{host}:{site.port}"
                await view.send_bytes(picture)
                assert (await view.receive(30)).data == picture


async def test_silence_is_not_the_end_of_a_socket(sites: Callable[..., Site]) -> None:
    async def quiet(site: Site, host: str, path: str) -> None:
        async with site.client() as client, client.ws_connect(site.url(host, path), headers={"Cookie": "session=good"}, autoping=False) as view:
            await view.receive(20)
            # What is tried is this very time without a byte.
            await asyncio.sleep(SILENCE)
            await view.send_str("still here")
            assert (await view.receive(10)).data == "still here"

    await asyncio.gather(*(quiet(sites(kind), host, path) for kind in BOTH for host, path in ((VIEW, "/websocket"), (PEOPLE, "/events"))))


@pytest.mark.parametrize("kind", BOTH)
async def test_agents_reach_the_gateway_and_their_token_reaches_no_log(sites: Callable[..., Site], backends: Backends, kind: str) -> None:
    site = sites(kind)
    async with site.client() as client:
        async with client.get(site.url(GATEWAY, f"/t/{TOKEN}/status"), headers=SPOOFED) as answer:
            told = await answer.json()
            assert told["path"] == f"/t/{TOKEN}/status"
            assert "authorization" not in told["headers"] and "evil" not in json.dumps(told)
        async with client.ws_connect(site.url(GATEWAY, f"/t/{TOKEN}/s/x/mcp")) as agent:
            await agent.receive(20)
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


@pytest.mark.parametrize("kind", BOTH)
async def test_a_second_run_changes_nothing_and_a_change_is_reloaded_under_a_live_socket(sites: Callable[..., Site], kind: str) -> None:
    site = sites(kind)
    before = site.files()
    for options in ((), ("--check",)):
        assert good(site.play(*options)).changed == 0
        assert site.files() == before
    moved = {"telebrowser_reverse_proxy_people_host": "", "telebrowser_reverse_proxy_gateway_upstream": f"127.0.0.1:{site.backends.ports['other']}"}
    assert good(site.play("--check", **moved)).changed > 0
    assert site.files() == before
    async with site.client() as client, client.ws_connect(site.url(VIEW, "/websocket"), headers={"Cookie": "session=good"}) as view:
        await view.receive(20)
        assert good(site.play(**moved)).changed > 0
        assert [name for name in site.files() if name.endswith("~")] == []
        deadline = time.monotonic() + 20
        while True:
            async with client.get(site.url(GATEWAY, "/healthz")) as answer:
                told = await answer.json()
            # The role has asked for the reload; new workers take over when they are ready.
            if told["port"] == site.backends.ports["other"]:
                break
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        if kind == "nginx":
            await view.send_str("still here")
            assert (await view.receive(10)).data == "still here"
    good(site.play())
    assert site.files() == before


@pytest.mark.parametrize("kind", BOTH)
def test_the_credential_is_in_one_file_that_others_cannot_read_and_in_no_output(unused: Callable[..., Site], kind: str) -> None:
    site = unused(kind)
    basic = b64encode(f"telebrowser:{PASSWORD}".encode()).decode()
    played = good(site.play("-vvv", "--diff"))
    assert PASSWORD not in played.output and basic not in played.output
    holders = [name for name, content in site.files().items() if basic.encode() in content or PASSWORD.encode() in content]
    assert len(holders) == 1
    status = (site.folder / holders[0]).stat()
    assert (status.st_uid, status.st_mode & 0o777) == (0, 0o600 if kind == "nginx" else 0o640)
    played = good(site.play("-vvv", "--diff", telebrowser_reverse_proxy_view_credential=False))
    assert PASSWORD not in played.output and basic not in played.output
    assert holders[0] not in site.files()


@pytest.mark.parametrize("kind", BOTH)
def test_what_the_program_refuses_never_goes_live(unused: Callable[..., Site], kind: str) -> None:
    site = unused(kind)
    before = site.files()
    refused(site.play(telebrowser_reverse_proxy_tls_certificate="/nowhere.pem"), "refuses the configuration that these variables give, and nothing was changed")
    assert site.files() == before
    good(site.play())
    before = site.files()
    refused(site.play(telebrowser_reverse_proxy_view_upstream="127.0.0.1:1 }"), "nothing was changed")
    assert site.files() == before


@pytest.mark.parametrize("kind", BOTH)
def test_what_is_refused_together_with_the_rest_is_taken_back(unused: Callable[..., Site], kind: str) -> None:
    site = unused(kind)
    good(site.play())
    before = site.files()
    site.main().write_text(site.main().read_text() + "\nnot_a_directive {\n")
    before[site.main().name] = site.main().read_bytes()
    refused(site.play(telebrowser_reverse_proxy_people_host=""), "the files before are back")
    assert site.files() == before


@pytest.mark.parametrize("kind", BOTH)
def test_absent_leaves_the_operators_own_files(unused: Callable[..., Site], kind: str) -> None:
    site = unused(kind)
    own = site.files()
    good(site.play())
    assert site.files() != own
    assert good(site.play("--check", telebrowser_state="absent")).changed > 0
    assert good(site.play(telebrowser_state="absent")).changed > 0
    left = site.files()
    assert left.keys() == own.keys() and all(left[name].strip() == own[name].strip() for name in own)
    assert good(site.play(telebrowser_state="absent")).changed == 0


def test_a_fresh_host_can_be_looked_at(unused: Callable[..., Site]) -> None:
    site = unused("nginx")
    (site.place / "password").unlink()
    shutil.rmtree(site.folder)
    assert good(site.play("--check", "--diff")).changed > 0
    assert not site.folder.exists()


@pytest.mark.parametrize(
    "settings, words",
    [
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
    ],
)
def test_settings_that_cannot_work_are_refused_with_what_to_do(unused: Callable[..., Site], settings: dict[str, Any], words: str) -> None:
    site = unused("nginx")
    before = site.files()
    refused(site.play(**{f"telebrowser_reverse_proxy_{name}": value for name, value in settings.items()}), words)
    assert site.files() == before


def test_caddy_gets_no_credential_while_its_configuration_can_be_asked_for(unused: Callable[..., Site], backends: Backends) -> None:
    site = unused("caddy")
    url = f"http://127.0.0.1:{backends.ports['people']}"
    refused(site.play(telebrowser_reverse_proxy_caddy_admin_url=url), "shows the whole configuration")
    assert list(site.files()) == ["Caddyfile"]


@pytest.mark.parametrize("kind", BOTH)
async def test_the_view_below_a_path(unused: Callable[..., Site], kind: str) -> None:
    site = unused(kind)
    good(site.play(telebrowser_reverse_proxy_view_path="/browsers/", telebrowser_reverse_proxy_people_host=""))
    site.start()
    try:
        async with site.client() as client:
            async with client.get(site.url(VIEW, "/browsers/x"), cookies=COOKIE) as answer:
                assert (await answer.json())["path"] == "/browsers/x"
            async with client.ws_connect(site.url(VIEW, "/browsers/websocket"), headers={"Cookie": "session=good"}) as view:
                assert json.loads((await view.receive(20)).data)["path"] == "/browsers/websocket"
            for path in ("/", "/websocket", "/browsersx"):
                async with client.get(site.url(VIEW, path), cookies=COOKIE) as answer:
                    assert answer.status == 404
    finally:
        site.stop()


def test_the_examples_are_what_the_templates_give(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "reverse-proxy"
    good(play(folder / "render.yml", "localhost,", tmp_path, settings={"output": str(tmp_path)}))
    for kind in ("nginx", "caddy", "traefik"):
        rendered = {path.relative_to(tmp_path): path.read_text() for path in (tmp_path / kind).rglob("*") if path.is_file()}
        shown = {path.relative_to(folder): path.read_text() for path in (folder / kind).rglob("*") if path.is_file()}
        assert rendered and shown == rendered, f"run: ansible-playbook {folder}/render.yml"


def test_traefiks_file_hangs_together(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    for auth in ("none", "authelia", "authentik"):
        settings = {
            "telebrowser_reverse_proxy_kind": "traefik",
            "telebrowser_reverse_proxy_dir": str(tmp_path / auth),
            "telebrowser_reverse_proxy_view_host": VIEW,
            "telebrowser_reverse_proxy_people_host": PEOPLE,
            "telebrowser_reverse_proxy_auth": auth,
            "telebrowser_reverse_proxy_auth_url": "http://127.0.0.1:9091",
            "telebrowser_reverse_proxy_view_credential": auth != "none",
            "telebrowser_reverse_proxy_view_password_file": str(tmp_path / "password"),
        }
        good(play_role("reverse_proxy", tmp_path, **settings))
        files = [yaml.safe_load(path.read_text())["http"] for path in sorted((tmp_path / auth).glob("*.yml"))]
        routers = {name: router for file in files for name, router in file.get("routers", {}).items()}
        middlewares = {name: row for file in files for name, row in file.get("middlewares", {}).items()}
        services = {name: row for file in files for name, row in file.get("services", {}).items()}
        assert {name for router in routers.values() for name in router["middlewares"]} == set(middlewares)
        assert {router["service"] for router in routers.values()} == set(services)
        for name, router in routers.items():
            chain = router["middlewares"]
            assert chain[0] == "telebrowser-strip"
            if auth != "none" and not name.endswith("-login"):
                assert chain[1] == ("telebrowser-auth-socket" if name.endswith("-socket") else "telebrowser-auth")
            assert ("telebrowser-credential" in chain) is (auth != "none" and name.startswith("telebrowser-view") and not name.endswith("-login"))
