"""Every name that reaches the file system: uploads, downloads, file inputs, drag data, sessions, suggested names."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import quote

from tests.security.arena import NEIGHBOUR, PROJECT, VICTIM, Arena, Attacker
from tests.support.stack import Reply, request, token

from .registry import Run, add, attempt

SECRET = "cookies of the neighbour"


def folder(arena: Arena, project: str = PROJECT) -> Path:
    """A project's folder."""
    return arena.stack.data / "projects" / project


def planted(arena: Arena) -> Path:
    """A file of the neighbour that must stay unread."""
    path = folder(arena, NEIGHBOUR) / "profile" / "planted"
    path.write_text(SECRET)
    return path


NAMES = [
    "..%2f..%2fbeta%2fprofile%2fplanted",
    "../../beta/profile/planted",
    "%2e%2e%2f%2e%2e%2fbeta%2fprofile%2fplanted",
    "..%5c..%5cbeta%5cprofile%5cplanted",
    "..%252f..%252fbeta%252fprofile%252fplanted",
    "%2fetc%2fpasswd",
    "....%2f%2f....%2f%2fbeta%2fprofile%2fplanted",
    ".partial",
    ".",
    "..",
    "%00",
    "link-to-neighbour",
    "link-to-folder%2fplanted",
]


def downloads(name: str) -> Run:
    """A name of a download leads nowhere else."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        secret = planted(arena)
        links = {"link-to-neighbour": secret, "link-to-folder": secret.parent}
        for link, where in links.items():
            if not (path := folder(arena) / "downloads" / link).is_symlink():
                path.symlink_to(where)
        reply = _asked(arena, "GET", f"downloads/{name}")
        listed = arena.stack.http("GET", "downloads", PROJECT)
        for link in links:
            (folder(arena) / "downloads" / link).unlink()
        assert reply.status >= 400 and SECRET.encode() not in reply.body and b"root:" not in reply.body, reply
        assert b"link-to" not in listed.body

    return run


def _asked(arena: Arena, method: str, path: str, body: bytes | None = None) -> Reply:
    return request(f"{arena.stack.url}/t/{token(PROJECT)}/{path}", method, body)


for _name in NAMES:
    add(f"downloads/{_name}", downloads(_name))


def uploads(name: str) -> Run:
    """A name of an upload writes nowhere else."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        before = _everything(arena)
        reply = _asked(arena, "PUT", f"uploads/{name}", b"written")
        after = _everything(arena)
        assert reply.status >= 400 and after == before, (reply, after ^ before)

    return run


def _everything(arena: Arena) -> set[str]:
    return {
        os.path.join(where, name)
        for project in (PROJECT, NEIGHBOUR)
        for where, _, names in os.walk(folder(arena, project))
        if "profile" not in where
        for name in names
    }


for _name in (
    "..%2fx",
    "..%2f..%2fbeta%2fuploads%2fx",
    "%2ftmp%2fx",
    ".hidden",
    "..",
    "a%00b",
    "a%0ab",
    "a%2fb",
    "a%5cb",
    "x" * 300,
    "%E2%80%AEgpj.exe",
    "",
):
    add(f"uploads/{_name[:40]}", uploads(_name))


def folders(value: str) -> Run:
    """A folder of an upload lies nowhere else."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        before = _everything(arena)
        for method in ("PUT", "HEAD"):
            reply = _asked(arena, method, f"uploads/x.txt?folder={value}", b"written" if method == "PUT" else None)
            assert reply.status >= 400, reply
        assert (after := _everything(arena)) == before, after ^ before

    return run


for _folder in (
    "..",
    "..%2f..%2fbeta%2fuploads",
    "%2e%2e",
    "0123456789ABCDEF",
    "0" * 15,
    "0" * 17,
    "",
    "0123456789abcde%2f",
    "0123456789abcdef%00",
):
    add(f"a folder of uploads: {_folder}", folders(_folder))


def outbox(name: str) -> Run:
    """What a tool made for an agent is its project's alone, and nothing else is served there."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        secret = planted(arena)
        theirs = folder(arena, NEIGHBOUR) / "outbox" / ("a" * 32)
        own = folder(arena) / "outbox" / ("b" * 32)
        for path in (theirs, own):
            path.parent.mkdir(exist_ok=True)
        theirs.write_text(SECRET)
        if not own.is_symlink():
            own.symlink_to(secret)
        for method in ("GET", "HEAD", "DELETE"):
            reply = _asked(arena, method, f"outbox/{name}")
            assert reply.status >= 400 or (method == "DELETE" and reply.status == 204), reply
            assert SECRET.encode() not in reply.body and b"root:" not in reply.body, reply
        assert theirs.read_text() == SECRET and secret.read_text() == SECRET
        own.unlink(missing_ok=True)
        theirs.unlink()

    return run


for _name in ("a" * 32, "b" * 32, "..%2f..%2fbeta%2foutbox%2f" + "a" * 32, "..%2fdownloads%2fx", "%2fetc%2fpasswd", "..", ""):
    add(f"outbox/{_name}", outbox(_name))


@attempt("an upload over a link")
async def _over_link(arena: Arena, attacker: Attacker) -> None:
    secret = planted(arena)
    link = folder(arena) / "uploads" / "over.txt"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(secret)
    arena.stack.http("PUT", "uploads/over.txt", PROJECT, b"written")
    assert secret.read_text() == SECRET
    link.unlink()


PATHS = ["profile", "/etc/passwd", "symlink", "up", "proc", "relative", "url", "folder", "neighbour", "nul"]


def file_input(kind: str, drag: bool) -> Run:
    """A page gets no file but those of its project's folders."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        secret = planted(arena)
        ups = folder(arena) / "uploads"
        ups.mkdir(exist_ok=True)
        link = ups / "in.txt"
        if not link.is_symlink():
            link.symlink_to(secret)
        path = {
            "profile": str(folder(arena) / "profile" / "Local State"),
            "/etc/passwd": "/etc/passwd",
            "symlink": str(link),
            "up": f"{ups}/../../{NEIGHBOUR}/profile/planted",
            "proc": f"/proc/self/root{secret}",
            "relative": "../" * 20 + str(secret)[1:],
            "url": f"file://{secret}",
            "folder": str(ups),
            "neighbour": str(secret),
            "nul": f"{ups}/a\0b",
        }[kind]
        try:
            if drag:
                data = {"items": [], "files": [path], "dragOperationsMask": 1}
                await attacker.refused("Input.dispatchDragEvent", {"type": "drop", "x": 20, "y": 120, "data": data}, attacker.page)
            else:
                handle = (await attacker.call("Runtime.evaluate", {"expression": "document.querySelector('#file')"}, attacker.page))["result"]["objectId"]
                await attacker.refused("DOM.setFileInputFiles", {"files": [path], "objectId": handle}, attacker.page)
        finally:
            link.unlink(missing_ok=True)
        assert await attacker.eval("document.querySelector('#file').files.length") == 0

    return run


for _kind in PATHS:
    add(f"a file input: {_kind}", file_input(_kind, False))
for _kind in PATHS[:5]:
    add(f"a dropped file: {_kind}", file_input(_kind, True))


def dropped(mime: str, data: str) -> Run:
    """A dropped address of a file opens nothing."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        item = {"mimeType": mime, "data": data}
        event = {"type": "drop", "x": 20, "y": 120, "data": {"items": [item], "dragOperationsMask": 1}}
        await attacker.refused("Input.dispatchDragEvent", event, attacker.page)

    return run


for _mime, _data in (("text/uri-list", "file:///etc/passwd"), ("TEXT/URI-LIST", "# list\r\nfile:///etc/passwd"), ("text/x-moz-url", "chrome://quit\nquit")):
    add(f"a dropped address {_mime} {_data[:6]!r}", dropped(_mime, _data))

for _url in ("file:///etc/passwd", "chrome://version", "view-source:http://a/"):

    def _load(url: str) -> Run:
        async def run(arena: Arena, attacker: Attacker) -> None:
            await attacker.refused("Network.loadNetworkResource", {"url": url, "options": {"disableCache": True, "includeCredentials": True}}, attacker.page)

        return run

    add(f"a resource {_url}", _load(_url))

SUGGESTED = [
    "../../escaped.txt",
    "/etc/cron.d/escaped",
    "..",
    ".bashrc",
    "a/b/escaped.txt",
    "..\\escaped.txt",
    "x" * 300 + ".txt",
    "-rf.txt",
    "%2e%2e%2fescaped",
]


def suggested(name: str) -> Run:
    """A server's name for a file makes one plain file in the project's downloads."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        root = folder(arena) / "downloads"
        before = _everything(arena)
        await attacker.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": "/etc", "eventsEnabled": True})
        url = arena.pages.add(f"dl-{abs(hash(name))}", b"data", "application/octet-stream", content_disposition=f'attachment; filename="{name}"')
        await attacker.eval(f"void (a=>{{a.href={url!r};document.body.append(a);a.click()}})(document.createElement('a'))")
        done = await attacker.truth.event(lambda row: row.get("method") == "Browser.downloadProgress" and row["params"]["state"] != "inProgress", 8)
        new = _everything(arena) - before
        assert done["params"]["state"] == "completed", done
        assert len(new) == 1 and os.path.dirname(next(iter(new))) == str(root), new
        assert not os.path.basename(next(iter(new))).startswith("."), new
        os.unlink(next(iter(new)))

    return run


for _name in SUGGESTED:
    add(f"a download named {_name[:30]!r}", suggested(_name))


@attempt("a download diverted for everybody")
async def _diverted(arena: Arena, attacker: Attacker) -> None:
    for session in ("", attacker.page):
        await attacker.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": "/tmp/diverted"}, session)
    await attacker.call("Page.setDownloadBehavior", {"behavior": "deny"}, attacker.page)
    await _victim_download(arena, "diverted")


@attempt("downloads of the victim are told to nobody else")
async def _untold(arena: Arena, attacker: Attacker) -> None:
    await attacker.call("Browser.setDownloadBehavior", {"behavior": "default", "eventsEnabled": True})
    await attacker.call("Page.enable", {}, attacker.page)
    guid = await _victim_download(arena, "untold")
    assert not [frame for frame in attacker.frames if guid in frame or "download" in frame.split('"params"')[0]]
    await attacker.refused("Browser.cancelDownload", {"guid": guid})


async def _victim_download(arena: Arena, name: str) -> str:
    """The victim downloads a file, which must lie in the project's folder; gives its guid."""
    victim = arena.victim
    root = folder(arena) / "downloads"
    await victim.truth.call("Browser.setDownloadBehavior", {"behavior": "default", "eventsEnabled": True})
    link = "document.createElement('a')"
    click = f"a.href='data:application/octet-stream,{name}';a.download='{name}.bin';document.body.append(a);a.click();a.remove()"
    code = f"void (a=>{{{click}}})({link})"
    await victim.truth.call("Runtime.evaluate", {"expression": code, "userGesture": True}, victim.session)
    done = await victim.truth.event(lambda row: row.get("method") == "Browser.downloadProgress" and row["params"]["state"] != "inProgress", 8)
    victim.truth.events.clear()
    assert done["params"]["state"] == "completed" and (root / f"{name}.bin").read_text() == name, (done, os.listdir(root))
    (root / f"{name}.bin").unlink()
    return str(done["params"]["guid"])


SESSIONS = ["..", "..%2f..", "a%2fb", "a%00", "%2e", "x" * 65, "%C3%A9", "a%20b", "a.b", "s%0a"]


def session_name(name: str) -> Run:
    """A name that is none opens no session and makes no file."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        for path in ("json/list", "json/version"):
            reply = _asked(arena, "GET", f"s/{name}/{path}")
            assert reply.status in (400, 404), reply
        names = {row["session"] for row in arena.stack.status(PROJECT)["sessions"]}
        assert names <= {"mallory", VICTIM, "race", "race2"}, names

    return run


for _name in SESSIONS:
    add(f"a session named {_name[:30]}", session_name(_name))


@attempt("a project named by its token alone")
async def _project_name(arena: Arena, attacker: Attacker) -> None:
    for name in ("../beta", "beta/../alpha", ".", "..", "", "a b", "x" * 80):
        reply = await asyncio.to_thread(request, f"{arena.stack.url}/t/{quote(token(name), safe='')}/status")
        assert reply.status == 403, (name, reply)
