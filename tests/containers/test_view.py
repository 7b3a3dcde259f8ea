"""The view asks for a password everywhere, pages of projects included, and the password is nowhere to be found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import SECRET, request, token

from .deployment import Deployment
from .engine import docker, inspect, logs

PATHS = ["/", "/api/screenshot", "/api/status", "/websocket", "/api/websockets", "/files/"]
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
# Run inside of the container: the status of each path on a port, plain and as an upgrade; also under other names of the machine.
ASK = """
import http.client, json, socket, ssl, sys
port, paths, upgrade = int(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
found = {}
for host in ("127.0.0.1", "localhost", "telebrowser", socket.gethostbyname("telebrowser")):
    for path in paths:
        for headers in ({}, upgrade):
            for more in ({}, {"Authorization": "Basic dGVsZWJyb3dzZXI6d3Jvbmc="}):
                try:
                    if port == 3001:
                        c = http.client.HTTPSConnection(host, port, timeout=5, context=ssl._create_unverified_context())
                    else:
                        c = http.client.HTTPConnection(host, port, timeout=5)
                    c.request("GET", path, headers={**headers, **more})
                    found[f"{host} {path} {bool(headers)} {bool(more)}"] = c.getresponse().status
                except OSError as error:
                    found[f"{host} {path} {bool(headers)} {bool(more)}"] = error.errno
print(json.dumps(found))
"""
REFUSED_CONNECTION = 111


@pytest.mark.parametrize("path", PATHS)
def test_from_outside(deployed: Deployment, path: str) -> None:
    address = f"http://127.0.0.1:{deployed.view_port}{path}"
    assert request(address).status == 401
    assert request(address, **{name.replace("-", "_"): value for name, value in UPGRADE.items()}).status == 401
    assert request(address, Authorization="Basic dGVsZWJyb3dzZXI6d3Jvbmc=").status == 401


def test_with_the_password(deployed: Deployment) -> None:
    assert deployed.view("/").status == 200
    picture = deployed.view("/api/screenshot")
    assert picture.status == 200 and picture.body.startswith(b"\x89PNG")


@pytest.mark.parametrize("port", [3000, 3001, 8082])
def test_from_inside(deployed: Deployment, port: int) -> None:
    found = json.loads(deployed.run("python3", "-c", ASK, str(port), json.dumps(PATHS), json.dumps(UPGRADE), user="abc"))
    # Selkies' own port is on loopback only, and there it tells everyone that it is alive.
    allowed = {401, REFUSED_CONNECTION} if port == 8082 else {401}
    wrong = {key: value for key, value in found.items() if value not in allowed and not (port == 8082 and "/api/status" in key)}
    assert not wrong and 401 in found.values(), wrong


def test_what_everyone_may_know(deployed: Deployment) -> None:
    code = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8082/api/status').read().decode())"
    told = json.loads(deployed.run("python3", "-c", code, user="abc"))
    assert len(json.dumps(told)) < 600 and not [project for project in deployed.browsers() if f"[{project}]" in json.dumps(told)], told


def test_nothing_else_listens_for_pages(deployed: Deployment) -> None:
    """Every TCP port that a page in the container could reach is one that asks for a password or a token."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in deployed.run("cat", f"/proc/net/{name}").splitlines()[1:]]
    ports = {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
    assert ports <= {3000, 3001, 8082, 5858, 5859}, ports


async def test_from_a_page_of_a_project(deployed: Deployment, pages: Pages) -> None:
    address = deployed.run("python3", "-c", "import socket; print(socket.gethostbyname('telebrowser'))").strip()
    page = pages.add(
        "spy.html",
        f"""<title>spy</title><script>
        const say = (what, got) => fetch('/report?' + new URLSearchParams({{spy: what, got}}));
        for (const host of ['127.0.0.1', 'localhost', 'telebrowser', '{address}']) for (const port of [3000, 8082]) {{
          const image = new Image(), where = host + ':' + port;
          image.onload = () => say('image ' + where, 'seen ' + image.naturalWidth);
          image.onerror = () => say('image ' + where, 'refused');
          image.src = `http://${{where}}/api/screenshot`;
          for (const path of ['/websocket', '/api/websockets']) {{
            const socket = new WebSocket(`ws://${{where}}${{path}}`);
            socket.onopen = () => say('socket ' + where + path, 'open');
            socket.onerror = () => say('socket ' + where + path, 'refused');
          }}
        }}
        </script>""",
    )
    agent = await deployed.agent("spy")
    try:
        await agent.ok("browser_navigate", url=page)
        wanted = [f"image {host}:{port}" for host in ("127.0.0.1", "localhost", "telebrowser", address) for port in (3000, 8082)]
        wanted += [f"socket {each.removeprefix('image ')}{path}" for each in wanted for path in ("/websocket", "/api/websockets")]
        got = {what: pages.wait_report(20, spy=what)["got"] for what in wanted}
        assert set(got.values()) == {"refused"}, got
        for url in (
            "http://127.0.0.1:3000/",
            "http://localhost:8082/api/screenshot",
            "http://[::1]:3000/",
            "http://2130706433:3000/",
            "http://127.1:5858/healthz",
        ):
            answer = await agent.call("browser_navigate", url=url)
            assert answer.error and answer.says("BLOCKED_BY_ADMINISTRATOR|blocked"), answer
    finally:
        await agent.close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "chrome://settings", "view-source:http://example.com/", "devtools://devtools/bundled/inspector.html"])
async def test_a_page_cannot_go_where_policy_forbids(deployed: Deployment, pages: Pages, url: str) -> None:
    """The filter refuses these to agents; the policy refuses them to a person, too, and to a page that opens a window."""
    agent = await deployed.agent("policy")
    try:
        assert (await agent.call("browser_navigate", url=url)).error
        raw = deployed.http("GET", "json/list", "policy")
        assert url not in raw.body.decode()
    finally:
        await agent.close()


def test_neither_password_nor_secret_can_be_found(deployed: Deployment) -> None:
    """Not in what the engine tells, not in a process's arguments or environment, not in a log, not in a world-readable file."""
    needles = [deployed.password, SECRET, token("works").partition(".")[2]]
    texts = {"inspect": json.dumps([inspect(deployed.name), inspect(deployed.gateway)]), "supervisor.log": deployed.supervisor_log()}
    for name in (deployed.name, deployed.gateway):
        texts[f"logs {name}"] = logs(name)
        for pid in docker("top", name, "-eo", "pid").split()[1:]:
            for part in ("environ", "cmdline"):
                texts[f"{name} {part} {pid}"] = proc.read_text(f"/proc/{pid}/{part}") or ""
    assert len(texts) > 20
    assert not [where for where, text in texts.items() if any(needle in text for needle in needles)]
    assert not deployed.run("grep", "-rlF", "--", deployed.password, "/etc", "/run", "/tmp", "/config", check=False).strip()


def test_the_view_cannot_be_looked_into(deployed: Deployment) -> None:
    """The process that holds the password belongs to the user that browsers run as, and yet is closed to that user."""
    pid = next(line.split()[0] for line in deployed.run("ps", "-eo", "pid,args").splitlines() if "/opt/telebrowser/view.py" in line)
    assert deployed.run("stat", "-c", "%U", f"/proc/{pid}/environ").strip() == "root"
    assert deployed.run("ps", "-o", "user=", "-p", pid).strip() == "abc"
    for part in ("environ", "mem", "maps", "fd/0"):
        assert "denied" in deployed.run("sh", "-c", f"head -c1 /proc/{pid}/{part} 2>&1", user="abc", check=False).lower(), part


def test_without_a_password_the_view_stays_closed(deploy: Callable[..., Deployment]) -> None:
    deployment = deploy()
    (deployment.config / "view" / "password").write_text("short\n")
    deployment.start_browser()
    proc.until(lambda: deployment.view("/", credential=False).status == 503, "nginx refuses", 30)
    assert "holds no password of 12 characters" in logs(deployment.name)
    assert deployment.run("pgrep", "-f", "/opt/telebrowser/view.py", check=False).count("\n") <= 1


def test_a_selkies_that_asks_for_nothing_is_not_let_run(deploy: Callable[..., Deployment]) -> None:
    """As older ones do, whatever they are told."""
    deployment = deploy()
    script = deployment.config / "browser/opt/telebrowser/view.py"
    script.write_text(script.read_text().replace("--enable-basic-auth=true", "--enable-basic-auth=false"))
    deployment.start_browser()
    said = "answers / without a password"
    proc.until(lambda: said in logs(deployment.name), "the view is ended", 40)


def test_health(deployed: Deployment) -> None:
    assert deployed.run("python3", "/opt/telebrowser/health.py").strip() == "ok"
    assert os.access(Path(deployed.data / "run" / "heartbeat"), os.R_OK)
