"""Files for the agent: within the answer while they are small, else where only the gateway serves them."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from pathlib import Path

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.page.outbox import INLINE_BYTES, NAME, Outgoing, sweep


def test_a_small_file_travels_within_the_answer(tmp_path: Path) -> None:
    outgoing = Outgoing(tmp_path / "outbox")
    for piece in (b"%PDF", b"-1.7"):
        outgoing.write(piece)
    mark = outgoing.mark()
    assert mark == {"data": base64.b64encode(b"%PDF-1.7").decode(), "size": 8, "sha256": hashlib.sha256(b"%PDF-1.7").hexdigest()}
    assert not (tmp_path / "outbox").exists()


def test_a_large_file_lies_in_the_outbox(tmp_path: Path) -> None:
    data = os.urandom(INLINE_BYTES + 1)
    outgoing = Outgoing(tmp_path / "outbox")
    for at in range(0, len(data), 70_000):
        outgoing.write(data[at : at + 70_000])
    mark = outgoing.mark()
    assert NAME.fullmatch(mark["outbox"]) and mark["size"] == len(data) and mark["sha256"] == hashlib.sha256(data).hexdigest()
    assert os.listdir(tmp_path / "outbox") == [mark["outbox"]] and (tmp_path / "outbox" / mark["outbox"]).read_bytes() == data
    assert (tmp_path / "outbox" / mark["outbox"]).stat().st_mode & 0o777 == 0o600


def test_what_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    outgoing = Outgoing(tmp_path / "outbox")
    outgoing.write(bytes(INLINE_BYTES + 1))
    outgoing.close()
    outgoing.close()
    assert os.listdir(tmp_path / "outbox") == []


def test_a_folder_that_cannot_be_made_has_a_code(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file in its place")
    with pytest.raises(TelebrowserError) as error:
        Outgoing(tmp_path / "outbox").write(bytes(INLINE_BYTES + 1))
    assert error.value.code == "INTERNAL" and str(tmp_path) in error.value.message


def test_files_that_nobody_took_are_swept(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
    os.utime(tmp_path / "old", (1, 1))
    sweep(tmp_path, time.time() - 60)
    assert os.listdir(tmp_path) == ["new"]
