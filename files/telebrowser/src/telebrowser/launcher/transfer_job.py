"""What a transfer does with files once it is known which: send, fetch, and spare both where the disk is shared."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from .. import beneath
from ..errors import TelebrowserError
from ..handover import PASSED, PROOF, UPLOAD, Shared
from . import transfer_http
from .address import Finder
from .transfer_paths import Roots, Source, Target, refusal

MAX_PROOF = 256


class Depot(Protocol):
    """Where files go to and come from. All raise `TelebrowserError` or `transfer_http.Cancelled`."""

    def put(self, source: Source) -> str:
        """Bring a file to the engine; the reference that names it there."""

    def fetch(self, mark: Mapping[str, Any], target: Target) -> None:
        """Bring the file that an answer's mark names to its place."""

    def name(self, meanings: Mapping[str, str]) -> None:
        """Tell the gateway which file each of these paths means to the session's browser."""


def paths(roots: Roots, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """Absolute path → reference, as a tool that knows paths only will write the path: with links in the root itself followed or not."""
    meanings: dict[str, str] = {}
    for name, reference in after.items():
        given, told = (value if isinstance(value, list) else [value] for value in (before[name], reference))
        for path, meaning in zip(given, told, strict=True):
            if path != meaning:
                root, parts = roots.find(path)
                meanings |= {os.path.join(spelt, *parts): meaning for spelt in (root, os.path.realpath(root))}
    return meanings


def references(roots: Roots, values: Mapping[str, Any], limit: int, depot: Depot) -> dict[str, Any]:
    """The arguments with a reference for each path; all paths are checked before the first file is sent. Raises `TelebrowserError`."""
    with contextlib.ExitStack() as stack:
        sources: dict[str, Source] = {}
        for path in (path for value in values.values() for path in (value if isinstance(value, list) else [value])):
            if path.startswith(PASSED) or path in sources:
                continue
            source = roots.source(path)
            stack.callback(os.close, source.descriptor)
            if source.size > limit:
                raise TelebrowserError("TOO_LARGE", f"{path[:200]!r} has {source.size} bytes; the limit is {limit}", "Use a smaller file.")
            sources[path] = source
        named = {path: depot.put(source) for path, source in sources.items()}
    return {name: [named.get(path, path) for path in value] if isinstance(value, list) else named.get(value, value) for name, value in values.items()}


class GatewayDepot:
    """Files through the gateway, or by the disk where both sides share it."""

    def __init__(self, find: Finder, session: str, shared: Shared | None, stopped: Callable[[], bool]) -> None:
        self._find, self._session, self._shared, self._stopped = find, session, shared, stopped

    def name(self, meanings: Mapping[str, str]) -> None:
        """See `Depot`."""
        transfer_http.post(self._channel(), f"s/{self._session}/files", json.dumps(meanings).encode())

    def put(self, source: Source) -> str:
        """See `Depot`."""
        folder = secrets.token_hex(8)
        if not self._link(source, folder):
            transfer_http.put(self._channel(), source.descriptor, source.size, folder, source.name)
        return f"{UPLOAD}{folder}/{source.name}"

    def fetch(self, mark: Mapping[str, Any], target: Target) -> None:
        """See `Depot`."""
        with target.open() as arrival:
            try:
                self._receive(mark, arrival, target)
            except OSError as error:
                raise refusal(target.shown, error, "cannot be written") from None
            target.publish(arrival)
        if "outbox" in mark:
            transfer_http.delete(self._channel(), f"outbox/{mark['outbox']}")

    def _receive(self, mark: Mapping[str, Any], arrival: beneath.Arrival, target: Target) -> None:
        if "data" in mark:
            write_data(mark, arrival)
            return
        kind = "outbox" if "outbox" in mark else "downloads"
        name = str(mark.get("outbox") or mark.get("download"))
        if not self._copy(kind, name, arrival):
            size, digest = mark.get("size"), mark.get("sha256")
            transfer_http.get(self._channel(), f"{kind}/{quote(name, safe='')}", arrival, size, digest, f"The file for {target.shown!r}")

    def _channel(self) -> transfer_http.Channel:
        return transfer_http.Channel(self._find, self._stopped)

    # The shared disk

    def _folder(self) -> int | None:
        """A descriptor of the project's folder at the gateway when it is on this very disk, which the proof in it shows."""
        if self._shared is None:
            return None
        try:
            folder = beneath.open_folder(self._shared.folder)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            proof = beneath.open_file(folder, ("uploads", PROOF))
            try:
                if hashlib.sha256(os.read(proof, MAX_PROOF)).hexdigest() == self._shared.proof:
                    return folder
            finally:
                os.close(proof)
        os.close(folder)
        return None

    def _link(self, source: Source, name: str) -> bool:
        """Give the file a second name in the uploads, so that nothing is copied; whether that could be done.

        Only a file of the user to whom the uploads belong: the browser reads it as that user, and it must be able to.
        """
        folder = self._folder()
        if folder is None:
            return False
        try:
            with contextlib.suppress(OSError):
                uploads = beneath.open_folder(folder, ("uploads",))
                try:
                    if os.fstat(uploads).st_uid == os.fstat(source.descriptor).st_uid == os.geteuid():
                        return _link_into(uploads, source, name)
                finally:
                    os.close(uploads)
        finally:
            os.close(folder)
        return False

    def _copy(self, kind: str, name: str, arrival: beneath.Arrival) -> bool:
        """Copy a file of the gateway's within this disk; whether that could be done."""
        folder = self._folder()
        if folder is None:
            return False
        try:
            source = beneath.open_file(folder, (kind, name))
        except OSError:
            return False
        finally:
            os.close(folder)
        try:
            beneath.copy(source, arrival)
        finally:
            os.close(source)
        return True


def _link_into(uploads: int, source: Source, name: str) -> bool:
    os.mkdir(name, 0o700, dir_fd=uploads)
    below = beneath.open_folder(uploads, (name,))
    try:
        # By its descriptor: what was checked is what gets the name.
        os.link(f"/proc/self/fd/{source.descriptor}", source.name, dst_dir_fd=below, follow_symlinks=True)
        return True
    except OSError:
        os.rmdir(name, dir_fd=uploads)
        raise
    finally:
        os.close(below)


def write_data(mark: Mapping[str, Any], arrival: beneath.Arrival) -> None:
    """Write a file that came within the answer. Raises `TelebrowserError` when it is damaged."""
    data = base64.b64decode(str(mark["data"]))
    if hashlib.sha256(data).hexdigest() != mark.get("sha256"):
        raise TelebrowserError("INTERNAL", "The file came with a wrong checksum and was thrown away", "Call again.")
    arrival.write(data)
