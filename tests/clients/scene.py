"""The scene of a journey: a project whose window a person looks at, another agent's session, both busy, and a record of what reaches the client."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import signal
import subprocess
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.streams import end_all
from tests.support.truth import Truth

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
JOURNEY_SECONDS = 100

BODY = """<title>{title}</title><script>window.seenByScript = window.early; n = 0; setInterval(() => n++, 20)</script>
<button id=press onclick="this.textContent='pressed'">press</button> <input id=text aria-label=text> <input id=file type=file aria-label=file>
<button id=popup onclick="window.open('/popup-{next}.html')">popup</button>
<a id=blank href="/start.html?blank" target=_blank>blank</a> <a id=ctrl href="/start.html?ctrl">ctrl</a> <a id=download href=/own.txt>download</a>
<button id=dialogs onclick="alert('one'); a = confirm('two'); this.textContent = a + ' ' + prompt('three')">dialogs</button>"""
WORKER = """<title>worker</title><script>navigator.serviceWorker.register('/worker.js')</script>"""
WORKER_JS = """oninstall = () => skipWaiting(); onactivate = event => event.waitUntil(clients.claim());
onfetch = event => { if (event.request.url.endsWith('/from-worker')) event.respondWith(new Response('from the worker')) };"""


class Recorder:
    """A TCP relay before the gateway that keeps every byte on its way to the client.

    The gateway neither compresses nor fragments, so that a word in a message is a word in the record.
    """

    def __init__(self, port: int) -> None:
        self.port = 0
        self.record = bytearray()
        self._gateway = port
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    @contextlib.asynccontextmanager
    async def listen(self, address: str = "127.0.0.1") -> AsyncIterator[Recorder]:
        """Listen on a port of its own."""
        server = await asyncio.start_server(self._accept, address, 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await end_all(self._writers)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, back = await asyncio.open_connection("127.0.0.1", self._gateway)
        self._writers.append(back)
        try:
            await asyncio.gather(self._copy(reader, back, None), self._copy(upstream, writer, self.record))
        finally:
            for one in (writer, back):
                one.close()

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter, record: bytearray | None) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 18):
                if record is not None:
                    record += data
                sink.write(data)
                await sink.drain()
            sink.write_eof()


class Neighbour:
    """A tab that is nothing of the client's: it must go on and stay what it is."""

    def __init__(self, truth: Truth, target: str, name: str, url: str) -> None:
        self.truth, self.target, self.name, self.url = truth, target, name, url
        self.before: dict[str, Any] = {}

    @property
    def marks(self) -> list[str]:
        """What names it on the wire: its target, which is its frame's id too, its address and its title."""
        return [self.target, self.name]

    async def look(self) -> dict[str, Any]:
        """What a page can tell of itself, and its window."""
        what = "({url: location.href, title: document.title, size: [innerWidth, innerHeight], text: text.value})"
        window = await self.truth.call("Browser.getWindowForTarget", {"targetId": self.target})
        return {**await self.truth.eval(self.target, what), "window": window}

    async def stir(self, site: str) -> None:
        """Leave its name where a trace would look: marks, requests, and frames of its own site and of ``site``, which are gone afterwards."""
        frames = "for (const url of urls) { const one = document.createElement('iframe'); one.src = url; await new Promise(done => { one.onload = done;"
        script = f"(async urls => {{ performance.mark('{self.name}'); await fetch('/who?{self.name}'); {frames} document.body.append(one) }}); one.remove() }}"
        urls = json.dumps([f"/start.html?{self.name}", f"{site}/start.html?{self.name}"])
        await self.truth.eval(self.target, f"{script} }})({urls})", 30)

    async def work(self) -> None:
        """Be busy: script and pictures, until cancelled."""
        session = await self.truth.attach(self.target)
        await self.truth.call("Page.enable", {}, session)
        while True:
            for _ in range(8):
                await self.truth.call("Runtime.evaluate", {"expression": "n", "returnByValue": True}, session, 60)
                await asyncio.sleep(0.05)
            await self.truth.call("Page.captureScreenshot", {"format": "jpeg", "quality": 20}, session, 60)


class Scene:
    """Use `Scene.open`; then `run` a client or give it `ws` and `http`; `check` at the end."""

    def __init__(self, stack: Stack, pages: Pages, project: str, recorder: Recorder) -> None:
        self.stack, self.pages, self.project, self.recorder = stack, pages, project, recorder
        self.session = "client"
        self.person: Neighbour
        self.other: Neighbour
        self.pid = 0
        self.known: set[str] = set()
        self._work: list[asyncio.Task[None]] = []
        self.home = stack.root / project
        self.home.mkdir(exist_ok=True)
        files = stack.data / "projects" / project
        self.downloads, self.uploads = files / "downloads", files / "uploads"

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, stack: Stack, pages: Pages, address: str = "127.0.0.1") -> AsyncIterator[Scene]:
        """The person looks at the window's first tab, the other agent has a tab, and both are busy. Clients come to ``address``."""
        project = "j" + uuid.uuid4().hex[:8]
        start = pages.add("start.html", BODY.format(title="start", next=1))
        for number in (1, 2):
            pages.add(f"popup-{number}.html", BODY.format(title=f"popup {number}", next=number + 1))
        pages.add("frames.html", f"<title>frames</title><iframe src='{pages.other}/start.html?inside' width=600 height=300></iframe>")
        pages.add("worker.html", WORKER)
        pages.add("worker.js", WORKER_JS, "text/javascript")
        pages.add("own.txt", "downloaded text", "application/octet-stream")
        async with Recorder(stack.port).listen(address) as recorder:
            scene = cls(stack, pages, project, recorder)
            unscoped = await Truth.connect(stack.ws(project))
            agent: Truth | None = None
            try:
                (first,) = await unscoped.targets()
                scene.person = await scene._neighbour(unscoped, first["targetId"], "person")
                agent = await Truth.connect(stack.ws(project, "other"))
                (tab,) = await agent.targets()
                scene.other = await scene._neighbour(agent, tab["targetId"], "other")
                scene.known = {info["targetId"] for info in await unscoped.targets()}
                scene.pid = stack.browser_pid(project)
                assert await unscoped.eval(scene.person.target, "document.visibilityState") == "visible"
                scene._work = [asyncio.create_task(one.work()) for one in (scene.person, scene.other)]
                assert start.startswith(pages.base)
                yield scene
            finally:
                for task in scene._work:
                    task.cancel()
                await asyncio.gather(*scene._work, return_exceptions=True)
                await unscoped.close()
                if agent is not None:
                    await agent.close()
                await asyncio.to_thread(stack.http, "POST", "stop", project, b"")

    async def _neighbour(self, truth: Truth, target: str, kind: str) -> Neighbour:
        name = f"{kind}-{uuid.uuid4().hex[:12]}"
        url = self.pages.add(f"{name}.html", BODY.format(title=name, next=1))
        session = await truth.attach(target)
        await truth.call("Page.navigate", {"url": url}, session)
        await truth.detach(session)
        assert await truth.wait(target, "document.readyState + document.title", "complete" + name) == "complete" + name
        one = Neighbour(truth, target, name, url)
        await truth.eval(target, f"text.value = '{name} typed'")
        one.before = await one.look()
        return one

    # what a client is told

    @property
    def ws(self) -> str:
        """The session's WebSocket address, through the recorder."""
        return self._through(self.stack.ws(self.project, self.session))

    @property
    def http(self) -> str:
        """What a client that asks for ``json/version`` is given."""
        return self._through(self.stack.path(f"s/{self.session}", self.project))

    def _through(self, url: str) -> str:
        return url.replace(f":{self.stack.port}/", f":{self.recorder.port}/")

    def env(self) -> dict[str, str]:
        """The environment of a client: a home of its own, no browser of its own."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.stack.temp),
            "CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS": "1",
            "CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1",
        }

    def upload(self, name: str, data: bytes) -> str:
        """Put a file among the project's uploads; gives its path."""
        reply = self.stack.http("PUT", f"uploads/{name}", self.project, data)
        assert reply.status == 201, reply
        return str(reply.json["path"])

    async def run(self, script: str) -> dict[str, Any]:
        """Run a journey to its end; gives its report, which must name no failed step."""
        place = {
            "ws": self.ws,
            "http": self.http,
            "start": f"{self.pages.base}/start.html",
            "frames": f"{self.pages.base}/frames.html",
            "worker": f"{self.pages.base}/worker.html",
            "cookies": f"{self.pages.base}/who",
            "other": self.pages.other,
            "upload": await asyncio.to_thread(self.upload, "up.txt", b"uploaded text"),
            "downloads": str(self.downloads),
            "home": str(self.home),
        }
        output, steps = self.home / f"{script}.out", self.home / f"{script}.err"
        ended = await asyncio.to_thread(self._node, script, place, output, steps)
        print(steps.read_text())
        lines = output.read_text().strip().splitlines()
        assert lines, f"{script} ended with {ended} and no report: {steps.read_text()[-3000:]}"
        report: dict[str, Any] = json.loads(lines[-1])
        assert not report["failed"], "\n".join(f"{name}: {why}" for name, why in report["failed"].items())
        return report

    def _node(self, script: str, place: dict[str, str], output: Path, steps: Path) -> int:
        """Run a script to its end, or to `JOURNEY_SECONDS`; gives its exit status."""
        with (
            output.open("wb") as out,
            steps.open("wb") as err,
            subprocess.Popen(
                ["node", str(HERE / script)],
                env={**self.env(), "JOURNEY": json.dumps(place)},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            ) as process,
        ):
            try:
                return process.wait(JOURNEY_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return process.wait()

    # what must be so at the end

    async def check(self, selected: bool = True) -> None:
        """Nobody else's tab changed, the browser runs, and nothing of others was on the client's wire.

        ``selected``: the window shows what it showed, which is not so once the client asked for another tab in front.
        """
        for task in self._work:
            assert not task.done(), f"a neighbour could not work: {task}"
        for one in (self.person, self.other):
            now = await one.look()
            assert now == one.before, f"{now} was {one.before}"
            assert await one.truth.eval(one.target, "new Promise(done => { const from = n; setInterval(() => n > from && done(true), 10) })") is True
        if selected:
            seen = await self.person.truth.wait(self.person.target, "document.visibilityState", "visible")
            assert seen == "visible", "the person's tab is not selected any more"
        assert self.stack.browser_pid(self.project) == self.pid and self.stack.status(self.project)["state"] == "up"
        record = bytes(self.recorder.record)
        assert b'"id":' in record, "the client was connected through the recorder"
        for one in (self.person, self.other):
            for mark in one.marks:
                assert mark.encode() not in record, f"{mark} of {one.name} reached the client: {record[max(0, record.find(mark.encode()) - 300) :][:400]!r}"

    async def gone(self) -> None:
        """The client's tabs close after the grace time, and those of others stay."""
        left = await self.person.truth.until_targets(lambda infos: {info["targetId"] for info in infos} == self.known)
        assert {info["targetId"] for info in left} == self.known


def events(scene: Scene, name: str) -> list[dict[str, Any]]:
    """The events of a trace that a client saved; nothing in it is of others."""
    raw = (scene.home / name).read_bytes()
    raw = gzip.decompress(raw) if name.endswith(".gz") else raw
    for one in (scene.person, scene.other):
        for mark in one.marks:
            assert mark.encode() not in raw, raw[max(0, raw.find(mark.encode()) - 400) :][:800]
    found: list[dict[str, Any]] = json.loads(raw)["traceEvents"]
    return found


async def stir(scene: Scene, pages: Pages) -> None:
    """The others do what a trace would show, in processes of their own and in those that their frames share with the client's pages."""
    for one in (scene.person, scene.other):
        await one.stir(pages.other)
