"""Giving files to a page: the references that stand for them, the input that takes them, and what the page received."""

from __future__ import annotations

import asyncio
import mimetypes
import os
from pathlib import Path
from typing import Any, NamedTuple

from .. import beneath
from ..cdp.connection import CdpError, Session
from ..errors import TelebrowserError
from ..handover import AGENT, LOCAL, MARK, UPLOAD
from ..listing import iso
from .deadline import Deadline
from .document import Document, DocumentGone
from .effects import Watch, conclude, describe
from .engine import Engine
from .pointer import click_element
from .provider import BrowserProvider
from .tab import Tab
from .target import Element, find, raise_for

DOWNLOAD = "download:"
CHOOSER_WAIT = 2.0
NO_LAUNCHER = "Paths are read by `telebrowser mcp` on the agent's machine; over HTTP, PUT the file to uploads/NAME and name upload:NAME, or download:NAME."
NO_PLACE = "Leave path out and fetch the file from downloads/NAME, or use `telebrowser mcp`, which writes it on the agent's machine."


class Given(NamedTuple):
    """A file for the page: where the browser finds it, and its size in bytes."""

    path: Path
    size: int


class Input(NamedTuple):
    """A file input: the session and document that it belongs to, the object that stands for it there, and its ref or selector, if it has one."""

    session: Session
    document: Document
    object_id: str
    given: dict[str, str]


async def upload(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Give files to a file input; the answer names what the page received.

    Raises ``ELEMENT_NOT_FOUND``, ``ELEMENT_DISABLED``, ``ELEMENT_NOT_TYPEABLE``, ``INVALID_ARGS``, ``UNSAFE_PATH``, ``NOT_FOUND``, and what a click
    raises.
    """
    files = [await asyncio.to_thread(resolve, engine.provider, reference) for reference in args["paths"]]
    async with tab.lock.hold():
        with tab.watch() as watch:
            chosen = await _input(engine, tab, args, watch, deadline)
            try:
                return await _give(tab, chosen, files, watch, deadline)
            except DocumentGone:
                raise TelebrowserError("REF_STALE", "The document was replaced while the file was given; nothing is known of it") from None
            finally:
                chosen.document.release()


def resolve(provider: BrowserProvider, reference: str) -> Given:
    """The file that a reference names. Raises ``UNSAFE_PATH`` or ``NOT_FOUND``."""
    if reference.startswith(LOCAL):
        path = provider.local_file(reference.removeprefix(LOCAL))
        return Given(path, path.stat().st_size)
    for start, folder in ((UPLOAD, provider.uploads_dir), (DOWNLOAD, provider.downloads_dir)):
        if reference.startswith(start):
            return _below(folder, reference.removeprefix(start), reference)
    raise TelebrowserError("UNSAFE_PATH", f"{reference[:200]!r} is a path, and this connection has no launcher that could send its file", NO_LAUNCHER)


def _below(folder: Path, name: str, reference: str) -> Given:
    parts = beneath.plain_parts(name)
    if parts is None or len(parts) > 2 or parts[0].startswith("."):
        raise TelebrowserError("UNSAFE_PATH", f"{reference[:200]!r} is not the name of a file")
    try:
        descriptor = beneath.open_file(folder.parent, (folder.name, *parts))
    except OSError:
        raise TelebrowserError("NOT_FOUND", f"There is no file {reference[:200]!r}", "See browser_downloads, or send it again.") from None
    try:
        return Given(folder.joinpath(*parts), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def place(args: dict[str, Any]) -> str | None:
    """The path on the agent's machine that a call asks for, as the agent gave it. Raises ``UNSAFE_PATH`` where nobody could bring it there."""
    path: str | None = args.get("path")
    if path is None:
        return None
    if not path.startswith(AGENT):
        raise TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} is a path, and this connection has no launcher that could write it", NO_PLACE)
    return path.removeprefix(AGENT)


def deliver(provider: BrowserProvider, args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the answer says of a download that goes to the agent's machine, and its ``_meta``. Raises ``INVALID_ARGS``, ``UNSAFE_PATH``, ``NOT_FOUND``."""
    name, path = args.get("name"), place(args)
    if name is None or path is None:
        raise TelebrowserError("INVALID_ARGS", "name and path go together: which file, and where to")
    if "/" in name:
        raise TelebrowserError("UNSAFE_PATH", f"{name[:200]!r} is not the name of a download")
    given = _below(provider.downloads_dir, name, DOWNLOAD + name)
    row = {"name": name, "size": given.size, "modified": iso(given.path.stat().st_mtime)}
    told = {"directory": str(provider.downloads_dir), "files": [row], "total": 1, "truncated": False, "path": path}
    return told, {MARK: {"download": name, "size": given.size}}


# Which input


async def _input(engine: Engine, tab: Tab, args: dict[str, Any], watch: Watch, deadline: Deadline) -> Input:
    if args.get("ref") is None and args.get("selector") is None:
        return await _chooser(tab, deadline) if tab.chooser is not None else await _only(tab, deadline)
    element = await find(engine, tab, args, deadline)
    target = await element.document.call("fileTarget", element.number, timeout=deadline.left())
    if "error" in target:
        raise_for(target, element, engine)
    if target["found"] and (object_id := await element.document.object_for("fileInputOf", element.number, timeout=deadline.left())) is not None:
        return Input(element.document.session, element.document, object_id, element.given)
    return await _opened(engine, tab, element, args, watch, deadline)


async def _opened(engine: Engine, tab: Tab, element: Element, args: dict[str, Any], watch: Watch, deadline: Deadline) -> Input:
    """Click what opens a file chooser, and take the input for which it is."""
    await click_element(engine, tab, element, args, watch, deadline)
    if not await watch.until(lambda: bool(watch.choosers), deadline.left(CHOOSER_WAIT)):
        raise TelebrowserError(
            "ELEMENT_NOT_FOUND",
            f"{element.shown} is no file input; it was clicked, and the page opened no file chooser",
            "Target the file input, its label, or what opens the chooser.",
        )
    return (await _chooser(tab, deadline))._replace(given=element.given)


async def _chooser(tab: Tab, deadline: Deadline) -> Input:
    """The input of the chooser that the page wanted to open."""
    chooser, tab.chooser = tab.chooser, None
    assert chooser is not None
    document = tab.frames.document(chooser.frame)
    if chooser.input is None or document is None:
        raise TelebrowserError("ELEMENT_NOT_FOUND", "The page asked for a file in a way that takes none from outside", "Ask a person by browser_handoff.")
    try:
        found = await chooser.session.call(
            "DOM.resolveNode", backendNodeId=chooser.input, executionContextId=document.context_id, objectGroup="telebrowser", timeout=deadline.left()
        )
    except CdpError:
        raise TelebrowserError("ELEMENT_NOT_FOUND", "The input for which the page opened its file chooser is gone", "Click what opens it again.") from None
    return Input(chooser.session, document, found["object"]["objectId"], {})


async def _only(tab: Tab, deadline: Deadline) -> Input:
    """The only file input of the page."""
    found: list[Document] = []
    for document in tab.frames.all():
        try:
            found += [document] * int(await document.call("fileInputs", timeout=deadline.left()))
        except DocumentGone:
            continue
    if len(found) != 1:
        raise TelebrowserError(
            "INVALID_ARGS", f"The page has {len(found) or 'no'} file inputs and no open file chooser", "Pass ref or selector of the input or of what opens it."
        )
    object_id = await found[0].object_for("onlyFileInput", timeout=deadline.left())
    if object_id is None:
        raise TelebrowserError("REF_STALE", "The page's file input was removed")
    return Input(found[0].session, found[0], object_id, {})


# Giving


async def _give(tab: Tab, chosen: Input, files: list[Given], watch: Watch, deadline: Deadline) -> dict[str, Any]:
    shown = next(iter(chosen.given.values()), "the file input")
    armed = await chosen.document.call_on("(input) => __telebrowser.armUpload(input)", [chosen.object_id], timeout=deadline.left())
    if armed.get("error") == "disabled":
        raise TelebrowserError("ELEMENT_DISABLED", f"{shown} ({armed['what']}) is disabled")
    if armed.get("error"):
        # Chromium ends the page's process when anything else is given files.
        raise TelebrowserError("ELEMENT_NOT_TYPEABLE", f"{shown} ({armed['what']}) is no file input", "Target the file input or what opens its chooser.")
    if len(files) > 1 and not armed["multiple"]:
        raise TelebrowserError("INVALID_ARGS", f"{shown} ({armed['what']}) takes one file, not {len(files)}", "Pass one path.")
    paths = [str(file.path) for file in files]
    await chosen.session.call("DOM.setFileInputFiles", files=paths, objectId=chosen.object_id, timeout=deadline.left())
    try:
        seen = await chosen.document.call("finishUpload", timeout=deadline.left())
    except DocumentGone:
        # The page left because it got the files; what it got cannot be read any more.
        seen = None
    await conclude(tab, watch, deadline)
    told: dict[str, Any] = {"uploaded": _checked(seen, files, shown), **chosen.given, "input": armed["what"]}
    effects = describe(tab, watch)
    effects.pop("file_chooser", None)
    notes = _notes(seen, armed["accept"], files)
    return {**told, **effects, **({"note": "; ".join(notes)} if notes else {})}


def _checked(seen: dict[str, Any] | None, files: list[Given], shown: str) -> list[dict[str, Any]]:
    """What the page received, when that is what was given. Raises ``ELEMENT_NOT_TYPEABLE``."""
    wanted = [{"name": file.path.name, "size": file.size} for file in files]
    if seen is None:
        return wanted
    got: list[dict[str, Any]] = seen["seen"] or seen["holds"]
    if got != wanted:
        names = ", ".join(f"{file['name']} ({file['size']} bytes)" for file in got) or "nothing"
        raise TelebrowserError("ELEMENT_NOT_TYPEABLE", f"{shown} received {names} instead", "Look at the page, then try again.")
    return got


def _notes(seen: dict[str, Any] | None, accept: str, files: list[Given]) -> list[str]:
    notes = []
    if seen is None:
        notes.append("the page went elsewhere when it got the files")
    elif seen["seen"] and not seen["holds"]:
        notes.append("the page took the files and emptied the input")
    if accept and not all(_accepted(file.path.name, accept) for file in files):
        notes.append(f"the input asks for {accept[:100]}")
    return notes


def _accepted(name: str, accept: str) -> bool:
    """Whether a name fits an ``accept`` attribute, as far as names tell."""
    kind = mimetypes.guess_type(name)[0] or ""
    for word in (word.strip().lower() for word in accept.split(",")):
        if (word.startswith(".") and name.lower().endswith(word)) or word in (kind, "*/*") or (word.endswith("/*") and kind.startswith(word[:-1])):
            return True
    return False
