"""Frames and their documents, whatever the order in which two processes tell of them."""

from __future__ import annotations

from typing import Any

from telebrowser.page.frames import Frames
from telebrowser.page.inject import WORLD
from tests.unit.cdp.played import Played, connected

PAGE, CHILD = "PAGE", "CHILD"
MAIN, INNER = "M" * 32, "I" * 32


def context(number: int, frame: str) -> dict[str, Any]:
    return {"context": {"id": number, "name": WORLD, "auxData": {"frameId": frame}}}


def opened() -> tuple[Played, Frames]:
    transport, connection = connected()
    frames = Frames(connection.session(PAGE), MAIN, lambda session: None)
    for future in frames.open():
        future.add_done_callback(lambda done: done.cancelled())
    transport.say(method="Runtime.executionContextCreated", params=context(1, MAIN), sessionId=PAGE)
    return transport, frames


def attach_inner(transport: Played) -> None:
    info = {"type": "iframe", "targetId": INNER, "parentFrameId": MAIN}
    transport.say(method="Target.attachedToTarget", params={"sessionId": CHILD, "targetInfo": info}, sessionId=PAGE)


async def test_a_late_word_of_the_old_process_does_not_hide_the_new_document() -> None:
    transport, frames = opened()
    attach_inner(transport)
    transport.say(method="Runtime.executionContextCreated", params=context(7, INNER), sessionId=CHILD)
    transport.say(method="Runtime.executionContextCreated", params=context(4, INNER), sessionId=PAGE)
    transport.say(method="Page.frameDetached", params={"frameId": INNER, "reason": "swap"}, sessionId=PAGE)
    transport.say(method="Runtime.executionContextDestroyed", params={"executionContextId": 4}, sessionId=PAGE)
    document = frames.document(INNER)
    assert document is not None
    assert (document.session.id, document.context_id) == (CHILD, 7)


async def test_a_new_document_of_the_same_process_replaces_the_old() -> None:
    transport, frames = opened()
    old = await frames.main()
    transport.say(method="Runtime.executionContextCreated", params=context(9, MAIN), sessionId=PAGE)
    assert old.gone
    assert (await frames.main()).context_id == 9


async def test_frames_end_with_the_document_that_held_them() -> None:
    transport, frames = opened()
    attach_inner(transport)
    transport.say(method="Runtime.executionContextCreated", params=context(7, INNER), sessionId=CHILD)
    inner = frames.document(INNER)
    frames.left()
    assert inner is not None
    assert inner.gone
    assert not frames.has(INNER)
    assert [document.frame_id for document in frames.all()] == [MAIN]


async def test_the_documents_of_a_detached_process_are_gone() -> None:
    transport, frames = opened()
    attach_inner(transport)
    transport.say(method="Runtime.executionContextCreated", params=context(7, INNER), sessionId=CHILD)
    transport.say(method="Target.detachedFromTarget", params={"sessionId": CHILD}, sessionId=PAGE)
    assert frames.document(INNER) is None
