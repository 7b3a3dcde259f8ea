"""A document: one loaded page of one frame, seen from our isolated world in it."""

from __future__ import annotations

from typing import Any

from ..cdp.connection import CdpError, Session, SessionGone

GONE = (
    "Cannot find context",
    "context was destroyed",
    "Cannot find execution context",
    "uniqueContextId not found",
    "Inspected target navigated",
    "Session with given id not found",
)


GROUP = "telebrowser"


class DocumentGone(Exception):
    """The document was replaced or its frame removed while, or before, it was asked."""


class ScriptFailed(Exception):
    """The page-side part of a step threw; the message is the page's."""


class Document:
    """Calls into ``__telebrowser`` in one execution context."""

    def __init__(self, session: Session, context_id: int, frame_id: str) -> None:
        self.session = session
        self.context_id = context_id
        self.frame_id = frame_id
        self.gone = False
        self.size: int | None = None
        """How many elements it held when they were last counted; None before."""
        self._root: str | None = None

    async def call(self, function: str, *args: Any, timeout: float = 30.0) -> Any:
        """The value of ``__telebrowser.function(*args)``; arguments travel as values, never as source.

        Raises `DocumentGone`, `ScriptFailed`, TimeoutError or ConnectionLost.
        """
        return await self._run("Runtime.callFunctionOn", timeout, **self._invoke(function, args))

    async def call_on(self, declaration: str, object_ids: list[str], *args: Any, timeout: float = 30.0) -> Any:
        """Like `call`, with remote objects of this context as the first arguments."""
        arguments = [{"objectId": object_id} for object_id in object_ids] + [{"value": arg} for arg in args]
        return await self._run("Runtime.callFunctionOn", timeout, functionDeclaration=declaration, executionContextId=self.context_id, arguments=arguments)

    async def evaluate(self, expression: str, timeout: float = 30.0) -> Any:
        """The value of a fixed expression, with the command line API (``getEventListeners``) in reach."""
        return await self._run("Runtime.evaluate", timeout, expression=expression, contextId=self.context_id, includeCommandLineAPI=True)

    async def objects(self, function: str, *args: Any, timeout: float = 5.0) -> list[str]:
        """The remote object ids of the elements in the array that ``__telebrowser.function(*args)`` returns."""
        array = await self.object_for(function, *args, timeout=timeout)
        if array is None:
            return []
        listed = await self._guard(self.session.call("Runtime.getProperties", timeout=timeout, objectId=array, ownProperties=True))
        return [item["value"]["objectId"] for item in listed["result"] if item["name"].isdigit() and "objectId" in item.get("value", {})]

    async def object_for(self, function: str, *args: Any, timeout: float = 5.0) -> str | None:
        """The remote object id of the one thing that ``__telebrowser.function(*args)`` returns."""
        result = await self._raw("Runtime.callFunctionOn", timeout, **self._invoke(function, args), objectGroup=GROUP)
        return result.get("objectId")

    async def root_object(self, timeout: float = 5.0) -> str:
        """The remote object id of the document node itself; asked for once."""
        if self._root is None:
            self._root = (await self._raw("Runtime.evaluate", timeout, expression="document", contextId=self.context_id))["objectId"]
        return self._root

    def release(self) -> None:
        """Drop the remote objects that `objects` and `object_for` held."""
        if not self.gone:
            self.session.forget("Runtime.releaseObjectGroup", objectGroup=GROUP)

    def _invoke(self, function: str, args: tuple[Any, ...]) -> dict[str, Any]:
        return {
            "functionDeclaration": f"(...a) => __telebrowser.{function}(...a)",
            "executionContextId": self.context_id,
            "arguments": [{"value": arg} for arg in args],
        }

    async def _run(self, method: str, timeout: float, **params: Any) -> Any:
        result = await self._raw(method, timeout, returnByValue=True, awaitPromise=True, **params)
        return result.get("value")

    async def _raw(self, method: str, timeout: float, **params: Any) -> dict[str, Any]:
        answer = await self._guard(self.session.call(method, timeout=timeout, **params))
        details = answer.get("exceptionDetails")
        if details is not None:
            exception = details.get("exception", {})
            raise ScriptFailed(str(exception.get("description") or exception.get("value") or details.get("text", "")).split("\n")[0])
        result: dict[str, Any] = answer["result"]
        return result

    async def _guard(self, awaitable: Any) -> dict[str, Any]:
        if self.gone:
            if hasattr(awaitable, "close"):
                awaitable.close()
            raise DocumentGone
        try:
            answer: dict[str, Any] = await awaitable
            return answer
        except SessionGone:
            self.gone = True
            raise DocumentGone from None
        except CdpError as error:
            if any(text in error.message for text in GONE):
                self.gone = True
                raise DocumentGone from None
            raise
