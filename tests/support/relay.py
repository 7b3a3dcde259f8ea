"""A TCP relay that stands for distance: it delays every byte, and counts how often the talk changes its direction."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import NamedTuple

from tests.support.streams import end_all

OUT, BACK = "out", "back"


class Piece(NamedTuple):
    """Bytes on their way: when they are due (loop time), and what they are; empty for the end."""

    due: float
    data: bytes


class Relay:
    """Listens on ``host`` and passes on to 127.0.0.1:``port``, ``delay`` seconds each way, in a thread of its own.

    The first connections are cut off once more than so many bytes of ``cuts`` have come from either side.
    """

    def __init__(self, port: int, delay: float = 0.0, host: str = "127.0.0.1", cuts: tuple[int, ...] = ()) -> None:
        self.delay = delay
        self.cuts = list(cuts)
        self.turns: list[str] = []
        """The direction of the talk, each time that it changed."""
        self.bytes = {OUT: 0, BACK: 0}
        self._target = port
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._accept, host, 0), self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def begin(self) -> None:
        """Count turns and bytes from here on."""
        self.turns.clear()
        self.bytes = {OUT: 0, BACK: 0}

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            limit = self.cuts.pop(0) if self.cuts else None
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            self._writers.append(far_writer)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass(reader, far_writer, OUT, limit))
                    group.create_task(self._pass(far_reader, writer, BACK, limit))
            finally:
                far_writer.close()
        writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str, limit: int | None) -> None:
        passed = 0
        queue: asyncio.Queue[Piece] = asyncio.Queue()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._deliver(queue, writer))
            with contextlib.suppress(OSError):
                while data := await reader.read(1 << 16):
                    if not self.turns or self.turns[-1] != way:
                        self.turns.append(way)
                    self.bytes[way] += len(data)
                    passed += len(data)
                    if limit is not None and passed > limit:
                        break
                    queue.put_nowait(Piece(self._loop.time() + self.delay, data))
            queue.put_nowait(Piece(self._loop.time() + self.delay, b""))

    async def _deliver(self, queue: asyncio.Queue[Piece], writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while (piece := await queue.get()).data:
                await asyncio.sleep(piece.due - self._loop.time())
                writer.write(piece.data)
                await writer.drain()
        writer.close()

    def close(self) -> None:
        """Cut everything off."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await end_all(self._writers)
