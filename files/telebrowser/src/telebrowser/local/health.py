"""Is the stack ready? Asked by its parent and by `telebrowser status` and `up`. Standard library only."""

from __future__ import annotations

import asyncio
import json

from ..datadir import DataDir

ANSWER_SECONDS = 3.0
MAX_ANSWER = 64 << 10


def reachable_host(bind: str) -> str:
    """The address under which this machine reaches a server bound to ``bind``."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(bind, bind)


def base_url(bind: str, port: int) -> str:
    """The address of the gateway."""
    host = reachable_host(bind)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def is_ready(bind: str, port: int, data: DataDir) -> bool:
    """Whether the gateway answers ``/healthz``, and the supervisor listens and is connected."""
    if not data.socket.exists():
        return False
    writer = None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(reachable_host(bind), port)
            writer.write(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read(MAX_ANSWER)
            while chunk := await reader.read(MAX_ANSWER):
                answer += chunk
    except (OSError, TimeoutError):
        return False
    finally:
        if writer is not None:
            writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0] + b" ":
        return False
    try:
        status = json.loads(body)
    except ValueError:
        return False
    return isinstance(status, dict) and status.get("supervisor", True) is True
