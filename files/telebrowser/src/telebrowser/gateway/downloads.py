"""Downloads: one setting for the whole browser, owned by the gateway; events go to whose tab began them.

Chromium overwrites a file of the same name (measured), so it saves under the download's guid in a folder of
its own, and the file gets its name, a free one, when it is complete.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PARTIAL = ".partial"
UNFINISHED = ".crdownload"
MAX_NAME = 200
_GUID = re.compile(r"[0-9A-Fa-f-]{36}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]")


def safe_file_name(name: str, fallback: str = "download") -> str:
    """``name`` as one plain file name: no folders, no leading dots, at most `MAX_NAME` bytes, its ending kept."""
    plain = _UNSAFE.sub("_", name).strip().lstrip(".").strip() or fallback
    stem, ending = os.path.splitext(plain)
    ending = ending if len(os.fsencode(ending)) <= 40 else ""
    room = MAX_NAME - len(os.fsencode(ending))
    return os.fsencode(stem if ending else plain)[:room].decode("utf-8", "ignore") + ending


def place(source: Path, folder: Path, name: str) -> Path:
    """Give a file a free name in ``folder`` (``a.txt``, ``a (1).txt``, …) and never replace another. Raises OSError."""
    stem, ending = os.path.splitext(name)
    number = 0
    while True:
        target = folder / (name if number == 0 else f"{stem} ({number}){ending}")
        try:
            os.link(source, target)
        except FileExistsError:
            number += 1
            continue
        source.unlink()
        return target


class Downloads:
    """The downloads of one browser. ``named`` is False where Chromium saves by itself (a foreign browser)."""

    def __init__(self, folder: Path, *, named: bool = True) -> None:
        self.folder = folder
        self.partial = folder / PARTIAL
        self._named = named
        self._names: dict[str, str] = {}
        self._owners: dict[str, str | None] = {}

    def behavior(self) -> dict[str, Any]:
        """Parameters of Browser.setDownloadBehavior."""
        if not self._named:
            return {"behavior": "default", "eventsEnabled": True}
        return {"behavior": "allowAndName", "downloadPath": str(self.partial.resolve()), "eventsEnabled": True}

    def prepare(self, names: Mapping[str, str], *, fresh: bool) -> None:
        """Create the folders and bring in what was completed while nobody listened.

        ``names`` are those of the previous gateway (`state`); ``fresh`` says that the browser has just started, so
        that nothing is being written. Raises OSError.
        """
        if not self._named:
            return
        self.partial.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            # The browser may run as a user of its own.
            owner = self.folder.stat()
            os.chown(self.partial, owner.st_uid, owner.st_gid)
        self._names = dict(names)
        for path in list(self.partial.iterdir()):
            if path.name.endswith(UNFINISHED):
                if fresh:
                    path.unlink(missing_ok=True)
            elif _GUID.fullmatch(path.name):
                self._finish(path.name)

    def state(self) -> dict[str, str]:
        """Names of downloads in progress, for the next gateway."""
        return dict(self._names)

    def belongs(self, guid: str, session: str | None) -> bool:
        """Whether a tab of ``session`` began the download; an unscoped client (None) may touch every one."""
        return guid in self._owners and (session is None or self._owners[guid] == session)

    def began(self, params: Mapping[str, Any], owner: str | None) -> None:
        """Browser.downloadWillBegin."""
        guid = str(params["guid"])
        self._owners[guid] = owner
        self._names[guid] = safe_file_name(str(params.get("suggestedFilename", "")))

    def progress(self, params: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """Browser.downloadProgress: the session to tell, and the parameters with where the file really lies."""
        guid, told = str(params["guid"]), dict(params)
        owner = self._owners.get(guid)
        if params.get("state") == "completed":
            if self._named:
                told["filePath"] = str(self._finish(guid) or params.get("filePath", ""))
            self._owners.pop(guid, None)
        elif params.get("state") == "canceled":
            self._names.pop(guid, None)
            self._owners.pop(guid, None)
            for name in (guid, guid + UNFINISHED):
                with contextlib.suppress(OSError):
                    (self.partial / name).unlink()
        return owner, told

    def _finish(self, guid: str) -> Path | None:
        name = self._names.pop(guid, f"download-{guid[:8]}")
        source = self.partial / guid
        try:
            return place(source, self.folder, name)
        except FileNotFoundError:
            return None
        except OSError:
            # Left under its guid: complete, and brought in at the next start.
            return source
