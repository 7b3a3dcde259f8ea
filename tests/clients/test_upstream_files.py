"""Files of the agent's machine through the upload tools of other servers, beside ours: with a disk that is shared, and without."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hosts import Host
from tests.support.pages import Pages
from tests.support.stack import Stack

from .scene import Scene
from .servers import Launched, LaunchedChromeDevtools, LaunchedPlaywrightMcp, running

SIZE = 1_500_000
DIGEST = """() => Promise.all([...file.files].map(async one => one.name + ' ' + [...new Uint8Array(await crypto.subtle.digest('SHA-256',
 await one.arrayBuffer()))].map(x => x.toString(16).padStart(2, '0')).join('')))"""


@pytest.fixture(params=["shared disk", "other machine"])
def host(request: pytest.FixtureRequest, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host | None]:
    """The machine of the agent: this one, or one that sees nothing of the stack's data."""
    if request.param == "shared disk":
        yield None
        return
    machine = Host(3, [stack.data])
    monkeypatch.setattr(Launched, "host", machine)
    yield machine
    machine.close()


def prepare(folder: Path) -> dict[str, str]:
    """Two files, one of them deeper, and a link that leads out; gives what the page must say of each."""
    (folder / "deeper").mkdir()
    (folder / "link.bin").symlink_to("/etc/hostname")
    said = {}
    for name in ("one file.bin", "deeper/two.bin"):
        data = hashlib.shake_256(name.encode()).digest(SIZE)
        (folder / name).write_bytes(data)
        said[name] = f"{Path(name).name} {hashlib.sha256(data).hexdigest()}"
    return said


def look_at_the_uploads(scene: Scene, host: Host | None, count: int) -> None:
    """On a shared disk a file gets a second name, else it is sent; each once, and what was refused not at all."""
    sent = [path for path in scene.uploads.glob("*/*") if path.is_file()]
    assert len(sent) == count and {os.stat(path).st_nlink > 1 for path in sent} == {host is None}, sent


async def test_chrome_devtools(stack: Stack, pages: Pages, host: Host | None) -> None:
    async with running(LaunchedChromeDevtools, stack, pages, address="0.0.0.0") as (cd, scene):
        said = prepare(cd.folder)
        await cd("new_page", url=f"{pages.base}/start.html?own")
        page = await cd.page("start.html?own")
        uid = cd.ref(await cd("take_snapshot", pageId=page), "file")
        for name in said:
            for path in (name, str(cd.folder / name)):
                await cd("upload_file", uid=uid, filePaths=[path], pageId=page)
                assert said[name] in (await cd("evaluate_script", function=DIGEST, pageId=page)).text
        for path in ("link.bin", "../start", "/etc/hostname", str(stack.secret_file), str(scene.downloads / "x")):
            assert "[UNSAFE_PATH]" in await cd.refused("upload_file", uid=uid, filePaths=[path], pageId=page)
        assert "[NOT_FOUND]" in await cd.refused("upload_file", uid=uid, filePaths=["none.bin"], pageId=page)
        assert said["deeper/two.bin"] in (await cd("evaluate_script", function=DIGEST, pageId=page)).text, "what was refused changed nothing"
        await asyncio.to_thread(look_at_the_uploads, scene, host, 4)


async def test_playwright(stack: Stack, pages: Pages, host: Host | None) -> None:
    async with running(LaunchedPlaywrightMcp, stack, pages, address="0.0.0.0") as (pw, scene):
        said = prepare(pw.folder)
        await pw("browser_navigate", url=f"{pages.base}/start.html?own")

        async def choose() -> None:
            await pw("browser_click", target=pw.ref(await pw("browser_snapshot"), "file"))

        for name in said:
            for path in (name, str(pw.folder / name)):
                await choose()
                await pw("browser_file_upload", paths=[path])
                assert said[name] in (await pw("browser_evaluate", function=DIGEST)).text
        await choose()
        for path in ("link.bin", "../start", "/etc/hostname", str(stack.secret_file)):
            assert "[UNSAFE_PATH]" in await pw.refused("browser_file_upload", paths=[path])
        assert "[NOT_FOUND]" in await pw.refused("browser_file_upload", paths=["none.bin"])
        await pw("browser_file_upload", paths=["one file.bin"])
        assert said["one file.bin"] in (await pw("browser_evaluate", function=DIGEST)).text, "the chooser is still open for a good path"
        await asyncio.to_thread(look_at_the_uploads, scene, host, 5)
