"""What pages and other programs can ask of the gateway: origins, hosts, tokens, raw HTTP, and what listens on this machine."""

from __future__ import annotations

import asyncio
import os
import socket

from tests.security.arena import ATTACKER, NEIGHBOUR, PROJECT, Arena, Attacker
from tests.support import proc
from tests.support.stack import SECRET, request, token
from tests.support.truth import Truth

from .registry import Run, add, attempt

ORIGINS = [
    "http://evil.example",
    "null",
    "https://127.0.0.1",
    "http://127.0.0.1:1",
    "http://localhost",
    "file://",
    "devtools://devtools",
    "HTTP://EVIL.EXAMPLE",
]
HOSTS = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:80", "localhost@evil.example", "a b", "", "evil.localhost.example"]
ALPHA = token(PROJECT).partition(".")[2]
TOKENS = {
    "another project's": f"{NEIGHBOUR}.{ALPHA}",
    "none": "",
    "a name alone": NEIGHBOUR,
    "a name and a dot": NEIGHBOUR + ".",
    "half of it": token(NEIGHBOUR)[:-32],
    "one letter less": token(NEIGHBOUR)[:-1],
    "one letter more": token(NEIGHBOUR) + "0",
    "capitals": token(NEIGHBOUR).upper(),
    "another secret's": token(NEIGHBOUR, SECRET[::-1]),
    "a NUL": token(NEIGHBOUR) + "%00",
    "a way up": f"{PROJECT}.{ALPHA}%2f..%2f{NEIGHBOUR}.{ALPHA}",
    "a name that leads up": f"..%2f{NEIGHBOUR}.{ALPHA}",
    "digits of another script": token(NEIGHBOUR).replace("0", "%D9%A0"),
}


def origin(value: str) -> Run:
    """A WebSocket with a foreign Origin is refused."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        for path in ("devtools/browser", f"s/{ATTACKER}/mcp"):
            try:
                truth = await Truth.connect(arena.stack.path(path, PROJECT, "ws"), Origin=value)
            except Exception as error:
                assert "403" in str(error), error
                continue
            await truth.close()
            raise AssertionError(f"{path} was opened for {value}")

    return run


for _value in ORIGINS:
    add(f"a WebSocket from {_value}", origin(_value))


def posts(value: str) -> Run:
    """Nothing changes by a request with a foreign Origin."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        for method, path in (("POST", "stop"), ("PUT", "json/new?about:blank"), ("PUT", "uploads/x"), ("POST", "wipe")):
            assert arena.stack.http(method, path, PROJECT, b"x", Origin=value).status == 403

    return run


for _value in ORIGINS[:3]:
    add(f"changes asked from {_value}", posts(_value))


def host(value: str) -> Run:
    """A foreign Host is refused: DNS may lead any name here."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        lines = f"GET /t/{token(PROJECT)}/status HTTP/1.1\r\nHost: {value}\r\nConnection: close\r\n\r\n"
        status = first_status(await spoken(arena, lines.encode()))
        assert status in (400, 403), status

    return run


for _value in HOSTS:
    add(f"the Host {_value!r}", host(_value))


def with_token(value: str) -> Run:
    """A token that is not the project's opens nothing, and every wrong one gets the same answer."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        base = f"{arena.stack.url}/t/{value}/"
        answers = [request(base + path) for path in ("status", "json/list", "downloads", "nonsense", "json/version")]
        expected = request(f"{arena.stack.url}/t/wrong/status")
        assert expected.status == 403
        for answer in answers:
            assert (answer.status, answer.body) == (403, expected.body), answer

    return run


for _name, _token in TOKENS.items():
    add(f"a token: {_name}", with_token(_token))

SOCKET = "new Promise(d=>{{const w=new WebSocket(base.replace('http','ws')+'{}');w.onopen=()=>d('READ open');w.onerror=()=>d('refused')}})"
PAGE_SCRIPT: dict[str, str] = {
    "a simple POST": "fetch(`${base}stop`,{method:'POST',mode:'no-cors'}).then(()=>'sent')",
    "a beacon": "String(navigator.sendBeacon(`${base}wipe`,'x'))",
    "a PUT": "fetch(`${base}json/new?about:blank`,{method:'PUT'}).then(r=>'READ '+r.status,e=>'refused')",
    "a readable GET": "fetch(`${base}json/list`).then(async r=>'READ '+await r.text(),e=>'refused')",
    "a readable GET with credentials": "fetch(`${base}status`,{credentials:'include'}).then(async r=>'READ '+await r.text(),e=>'refused')",
    "a WebSocket": SOCKET.format("devtools/browser"),
    "an agent's WebSocket": SOCKET.format("s/victim/mcp"),
    "a form": (
        "new Promise(d=>{const f=document.createElement('iframe');f.name='f';document.body.append(f);const m=document.createElement('form');"
        "m.method='POST';m.target='f';m.action=`${base}stop`;document.body.append(m);f.onload=()=>d('sent');m.submit();setTimeout(()=>d('sent'),1000)})"
    ),
    "a script": "new Promise(d=>{const s=document.createElement('script');s.src=`${base}json/list`;s.onerror=s.onload=()=>d('sent');document.body.append(s)})",
    "a worker": "new Promise(d=>{try{const w=new Worker(`${base}json/version`);w.onerror=()=>d('refused')}catch(e){d('refused')}})",
    "an event stream": "new Promise(d=>{const s=new EventSource(`${base}status`);s.onerror=()=>{s.close();d('refused')};s.onopen=()=>d('READ open')})",
}


def from_page(code: str) -> Run:
    """Even with the project's token, a page's script reads and changes nothing."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        base = f"{arena.stack.url}/t/{token(PROJECT)}/"
        said = str(await attacker.eval(f"(base=>{code})({base!r})"))
        assert not said.startswith("READ"), said[:200]
        assert arena.stack.status(PROJECT)["state"] == "up"

    return run


for _name, _code in PAGE_SCRIPT.items():
    add(f"from a page: {_name}", from_page(_code))


@attempt("from a page: files by a world with every right")
async def _universal(arena: Arena, attacker: Attacker) -> None:
    frame = (await attacker.call("Page.getFrameTree", {}, attacker.page))["frameTree"]["frame"]["id"]
    world = await attacker.call("Page.createIsolatedWorld", {"frameId": frame, "grantUniveralAccess": True}, attacker.page)
    for address in ("file:///etc/passwd", f"file://{arena.stack.data}/projects/{NEIGHBOUR}/profile/Local State", "chrome://version"):
        code = f"fetch({address!r}).then(r=>r.text()).then(t=>'READ '+t,e=>'refused')"
        params = {"expression": code, "awaitPromise": True, "returnByValue": True, "contextId": world["executionContextId"]}
        said = (await attacker.call("Runtime.evaluate", params, attacker.page))["result"].get("value", "")
        assert not str(said).startswith("READ"), said[:200]


def navigates(address: str) -> Run:
    """A page's script leads nowhere that is closed to it."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        await attacker.eval(f"void window.open({address!r}); void setTimeout(()=>location={address!r})")
        await asyncio.sleep(0.2)
        infos = await attacker.truth.targets()
        try:
            assert not [info for info in infos if info["url"].startswith(("file:", "chrome:", "devtools:", "view-source:"))], infos
        finally:
            for info in infos:
                if info["targetId"] != attacker.target:
                    await attacker.answer("Target.closeTarget", {"targetId": info["targetId"]})
            await attacker.go(arena.own)

    return run


for _address in ("file:///etc/passwd", "chrome://settings", "view-source:file:///etc/passwd", "devtools://devtools/bundled/inspector.html"):
    add(f"from a page: to {_address}", navigates(_address))


def redirects(address: str) -> Run:
    """A server's redirect leads nowhere that is closed to an address."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        await attacker.answer("Page.navigate", {"url": f"{arena.pages.base}/to?url={address}"}, attacker.page)
        shown = (await attacker.call("Target.getTargetInfo", {}, attacker.page))["targetInfo"]["url"]
        text = str(await attacker.eval("document.body?document.body.innerText:''"))
        await attacker.go(arena.own)
        assert not shown.startswith(("file:", "chrome://s")) and "root:" not in text, (shown, text[:100])

    return run


for _address in ("file:///etc/passwd", "chrome://settings"):
    add(f"a redirect to {_address}", redirects(_address))


@attempt("a faked redirect to a file")
async def _faked_redirect(arena: Arena, attacker: Attacker) -> None:
    await attacker.call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}, attacker.page)
    await attacker.truth.raw(
        f'{{"id":9,"method":"Page.navigate","params":{{"url":"{arena.pages.base}/who"}},"sessionId":"{attacker.page}"}}',
    )
    paused = await attacker.truth.event(lambda row: row.get("method") == "Fetch.requestPaused")
    headers = [{"name": "Location", "value": "file:///etc/passwd"}]
    fulfil = {"requestId": paused["params"]["requestId"], "responseCode": 302, "responseHeaders": headers}
    await attacker.answer("Fetch.fulfillRequest", fulfil, attacker.page)
    await attacker.call("Fetch.disable", {}, attacker.page)
    shown = (await attacker.call("Target.getTargetInfo", {}, attacker.page))["targetInfo"]["url"]
    await attacker.go(arena.own)
    assert not shown.startswith("file:"), shown


@attempt("a request that is led to a file")
async def _led(arena: Arena, attacker: Attacker) -> None:
    await attacker.call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}, attacker.page)
    await attacker.truth.raw(
        f'{{"id":9,"method":"Runtime.evaluate","params":{{"expression":"fetch(\'/who\').then(r=>r.text()).then(t=>got=t)"}},"sessionId":"{attacker.page}"}}',
    )
    paused = await attacker.truth.event(lambda row: row.get("method") == "Fetch.requestPaused")
    try:
        await attacker.refused("Fetch.continueRequest", {"requestId": paused["params"]["requestId"], "url": "file:///etc/passwd"}, attacker.page)
    finally:
        await attacker.call("Fetch.disable", {}, attacker.page)


@attempt("ports that browsers listen on")
async def _ports(arena: Arena, attacker: Attacker) -> None:
    supervisor = arena.stack.children["supervisor"].pid
    mine = {row.pid for row in proc.descendants([supervisor])}
    inodes: set[str] = set()
    for pid in mine:
        try:
            inodes |= {link[8:-1] for link in proc.descriptors(pid) if link.startswith("socket:[")}
        except OSError:
            continue
    listening = [
        line.split()[1]
        for name in ("tcp", "tcp6")
        for line in proc.read_text(f"/proc/net/{name}").splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[9] in inodes
    ]
    assert not listening, listening
    assert not [row for row in proc.descendants([supervisor]) if "--remote-debugging-port" in row.cmdline]


@attempt("the supervisor's socket and the pipes are for their owner alone")
async def _socket_mode(arena: Arena, attacker: Attacker) -> None:
    sock = arena.stack.data / "run" / "supervisor.sock"
    assert sock.stat().st_mode & 0o077 == 0
    assert arena.stack.data.stat().st_mode & 0o066 == 0 and os.stat(arena.stack.secret_file).st_mode & 0o077 == 0


# -- raw HTTP


async def spoken(arena: Arena, data: bytes, seconds: float = 1.5) -> bytes:
    """What the gateway answers to raw bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", arena.stack.port, family=socket.AF_INET)
    writer.write(data)
    got = b""
    try:
        async with asyncio.timeout(seconds):
            while piece := await reader.read(65536):
                got += piece
    except (TimeoutError, ConnectionError):
        pass
    writer.close()
    return got


def first_status(answer: bytes) -> int:
    """The status of the first answer, 400 when the connection was closed without any."""
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/") else 400


STOP = f"POST /t/{token(PROJECT)}/stop HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
PUT = f"PUT /t/{token(PROJECT)}/uploads/smuggled.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = f"0\r\n\r\n{STOP}"
SMUGGLED: dict[str, str] = {
    "a length and chunks": f"{PUT}Content-Length: {len(CHUNKED)}\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKED}",
    "chunks and a length": f"{PUT}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n{CHUNKED}",
    "two lengths": f"{PUT}Content-Length: 0\r\nContent-Length: {len(STOP)}\r\n\r\n{STOP}",
    "two lengths in one": f"{PUT}Content-Length: 0, {len(STOP)}\r\n\r\n{STOP}",
    "a length with a sign": f"{PUT}Content-Length: +{len(STOP)}\r\n\r\n{STOP}",
    "a length in hexadecimal": f"{PUT}Content-Length: 0x{len(STOP):x}\r\n\r\n{STOP}",
    "a negative length": f"{PUT}Content-Length: -1\r\n\r\n{STOP}",
    "another coding": f"{PUT}Transfer-Encoding: xchunked\r\nContent-Length: {len(STOP)}\r\n\r\n{STOP}",
    "a coding twice": f"{PUT}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{CHUNKED}",
    "a blank before the colon": f"{PUT}Content-Length : {len(STOP)}\r\n\r\n{STOP}",
    "a folded header": f"{PUT}Transfer-Encoding:\r\n chunked\r\nContent-Length: {len(STOP)}\r\n\r\n{STOP}",
    "a chunk of a strange size": f"{PUT}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n{STOP}",
    "a NUL in a header": f"{PUT}X: \0\r\nContent-Length: {len(STOP)}\r\n\r\n{STOP}",
}


def smuggles(text: str) -> Run:
    """What is hidden in a body is not taken for a request."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        got = await spoken(arena, text.encode("latin-1"))
        stopped = [part for part in got.split(b"HTTP/1.1 ")[1:] if b'"state"' in part]
        assert not stopped, got[:600]
        assert arena.stack.status(PROJECT)["state"] == "up"

    return run


for _name, _lines in SMUGGLED.items():
    add(f"smuggled with {_name}", smuggles(_lines))

ODD: dict[str, str] = {
    "two Hosts": f"GET /t/{token(PROJECT)}/status HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    "a whole address": f"GET http://evil.example/t/{token(PROJECT)}/status HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    "no Host": f"GET /t/{token(PROJECT)}/status HTTP/1.1\r\nConnection: close\r\n\r\n",
    "an upgrade by POST": f"POST /t/{token(PROJECT)}/devtools/browser HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "CONNECT": "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a path without a token": "GET /json/version HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    "a path with slashes": f"GET //t/{token(PROJECT)}/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    "a header without end": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + "x" * 100000 + "\r\n\r\n",
}


def odd(text: str) -> Run:
    """The request is refused."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        got = await spoken(arena, text.encode("latin-1"))
        assert first_status(got) >= 400 or not got, got[:300]

    return run


for _name, _lines in ODD.items():
    add(f"HTTP with {_name}", odd(_lines))


@attempt("metrics name nobody")
async def _metrics(arena: Arena, attacker: Attacker) -> None:
    body = request(arena.stack.url + "/metrics").body.decode()
    assert not any(word in body for word in (PROJECT, NEIGHBOUR, "victim", token(PROJECT)))
