"""The frames of one tab: which exist, which document each shows, and which CDP session reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..cdp.connection import Session
from .document import Document, DocumentGone
from .inject import WORLD, source


class Frames:
    """Follows frames and execution contexts over the page session and its out-of-process iframes.

    ``on_session`` is called for each session, the page's first, so that the owner can listen to it.
    """

    def __init__(self, session: Session, main_frame: str, on_session: Callable[[Session], None]) -> None:
        self.page = session
        self.main_frame = main_frame
        self._on_session = on_session
        # A frame that moves to another process has for a moment a document in each, and their events come in any order.
        self._documents: dict[str, dict[str, Document]] = {}
        self._parents: dict[str, str] = {main_frame: ""}
        self._owners: dict[str, tuple[Document, int]] = {}
        self._changed = asyncio.Event()

    def open(self, session: Session | None = None) -> list[asyncio.Future[dict[str, Any]]]:
        """Listen to a session and switch its domains on; the commands are sent, not awaited."""
        session = session or self.page
        session.on("Runtime.executionContextCreated", lambda params: self._created(session, params["context"]))
        session.on("Runtime.executionContextDestroyed", lambda params: self._destroyed(session, params["executionContextId"]))
        session.on("Runtime.executionContextsCleared", lambda _params: self._cleared(session))
        session.on("Page.frameAttached", lambda params: self._attached(params["frameId"], params["parentFrameId"]))
        session.on("Page.frameDetached", lambda params: self._detached(params["frameId"], params.get("reason", "")))
        session.on("Target.attachedToTarget", self._session_attached)
        self._on_session(session)
        return [
            session.start("Page.enable"),
            session.start("Runtime.enable"),
            session.start("Page.addScriptToEvaluateOnNewDocument", source=source(), worldName=WORLD, runImmediately=True),
            session.start("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True, filter=[{"type": "iframe"}]),
            session.start("Page.getFrameTree"),
        ]

    def learn(self, tree: dict[str, Any]) -> None:
        """Take in a frame tree answer."""
        frame = tree["frame"]
        self._parents.setdefault(frame["id"], frame.get("parentId", ""))
        for child in tree.get("childFrames", ()):
            self.learn(child)

    def _session_attached(self, params: dict[str, Any]) -> None:
        info = params["targetInfo"]
        if info["type"] != "iframe":
            return
        session = self.page.connection.session(params["sessionId"])
        self._parents.setdefault(info["targetId"], info.get("parentFrameId", self.main_frame))
        for future in self.open(session):
            future.add_done_callback(self._child_answer)

    def _child_answer(self, future: asyncio.Future[dict[str, Any]]) -> None:
        if future.cancelled() or future.exception() is not None:
            return
        answer = future.result()
        if "frameTree" in answer:
            self.learn(answer["frameTree"])

    def _created(self, session: Session, context: dict[str, Any]) -> None:
        if context.get("name") != WORLD:
            return
        frame_id = context.get("auxData", {}).get("frameId", "")
        documents = self._documents.setdefault(frame_id, {})
        former = documents.pop(session.id, None)
        if former is not None:
            former.gone = True
        documents[session.id] = Document(session, context["id"], frame_id)
        self._changed.set()

    def _destroyed(self, session: Session, context_id: int) -> None:
        for documents in self._documents.values():
            document = documents.get(session.id)
            if document is not None and document.context_id == context_id:
                document.gone = True
                del documents[session.id]

    def _cleared(self, session: Session) -> None:
        for documents in self._documents.values():
            document = documents.pop(session.id, None)
            if document is not None:
                document.gone = True

    def _attached(self, frame_id: str, parent_id: str) -> None:
        self._parents[frame_id] = parent_id

    def _detached(self, frame_id: str, reason: str) -> None:
        if reason == "swap":
            return
        self._parents.pop(frame_id, None)
        self._owners.pop(frame_id, None)
        self._forget(frame_id)

    def _forget(self, frame_id: str) -> None:
        for document in self._documents.pop(frame_id, {}).values():
            document.gone = True

    def has(self, frame_id: str) -> bool:
        """Whether the frame belongs to this tab."""
        return frame_id in self._parents

    def left(self) -> None:
        """The main frame shows a new document: none of the frames in the former one exists any more."""
        for frame_id in [each for each in self._documents if each != self.main_frame]:
            self._forget(frame_id)
        self._parents = {self.main_frame: ""}
        self._owners.clear()

    def all(self) -> list[Document]:
        """Every live document, the main frame's first."""
        documents = [document for frame_id in self._documents if (document := self.document(frame_id)) is not None]
        return sorted(documents, key=lambda document: document.frame_id != self.main_frame)

    async def main(self, timeout: float = 10.0) -> Document:
        """The main frame's document; waits for one while a new page starts."""
        async with asyncio.timeout(timeout):
            while True:
                document = self.document(self.main_frame)
                if document is not None:
                    return document
                self._changed.clear()
                await self._changed.wait()

    def document(self, frame_id: str) -> Document | None:
        """The live document of a frame, if it has one yet."""
        live = [document for document in self._documents.get(frame_id, {}).values() if not document.gone and not document.session.detached]
        return live[-1] if live else None

    async def inner(self, document: Document, number: int) -> Document | None:
        """The document that the iframe element with ref ``number`` shows."""
        for frame_id, (owner, owned) in self._owners.items():
            if owner is document and owned == number:
                return self.document(frame_id)
        object_id = await document.object_for("elementFor", number)
        if object_id is None:
            return None
        node = (await document.session.call("DOM.describeNode", objectId=object_id, timeout=5.0))["node"]
        document.release()
        frame_id = node.get("frameId") or node.get("contentDocument", {}).get("frameId")
        if not frame_id:
            return None
        self._owners[frame_id] = (document, number)
        return self.document(frame_id)

    async def owner(self, document: Document, next_ref: int) -> tuple[Document, int, int] | None:
        """The parent document of a frame, its iframe element's ref there, and the next free ref.

        None for the main frame. Raises `DocumentGone` when the frame is no longer in its parent.
        """
        if document.frame_id == self.main_frame:
            return None
        known = self._owners.get(document.frame_id)
        if known is not None and not known[0].gone:
            return known[0], known[1], next_ref
        parent = self.document(self._parents.get(document.frame_id, ""))
        if parent is None:
            raise DocumentGone
        backend = (await parent.session.call("DOM.getFrameOwner", frameId=document.frame_id, timeout=5.0))["backendNodeId"]
        resolved = await parent.session.call("DOM.resolveNode", backendNodeId=backend, executionContextId=parent.context_id, timeout=5.0)
        added = await parent.call_on("(element, next) => __telebrowser.addElement(element, next)", [resolved["object"]["objectId"]], next_ref)
        self._owners[document.frame_id] = (parent, added["number"])
        return parent, added["number"], added["next"]
