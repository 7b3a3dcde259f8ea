"""What a VNC client says: all of it reaches the display for who controls, nothing that acts for who watches, and nothing unknown for anybody."""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telebrowser.gateway.view.rfb import LENGTHS, MAX_CUT_TEXT, BadMessage, ClientMessages

GREETING = b"RFB 003.008\n\1\0"
GREETED = b"RFB 003.008\n\1\1"
SEEING = {
    "pixel format": b"\0\0\0\0" + b"\x20\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0",
    "encodings": struct.pack(">BxH3i", 2, 3, 7, -239, -313),
    "request": struct.pack(">BB4H", 3, 1, 0, 0, 800, 600),
    "continuous": struct.pack(">BB4H", 150, 1, 0, 0, 800, 600),
    "fence": struct.pack(">BxxxIB", 248, 1, 3) + b"abc",
}
ACTING = {
    "key": struct.pack(">BBxxI", 4, 1, 0x61),
    "pointer": struct.pack(">BBHH", 5, 1, 10, 20),
    "clipboard": struct.pack(">Bxxxi", 6, 5) + b"hello",
    "extended clipboard": struct.pack(">Bxxxi", 6, -4) + b"\1\0\0\1",
    "size": struct.pack(">BxHHBx", 251, 800, 600, 1) + b"\0" * 16,
    "extended key": struct.pack(">BBHII", 255, 0, 1, 0x61, 30),
}
MESSAGES = {**SEEING, **ACTING}


def feed(data: bytes, *, may_act: bool, cuts: tuple[int, ...] = ()) -> bytes:
    """All that is passed on of ``data``, which arrives in pieces."""
    messages = ClientMessages(may_act=may_act)
    edges = [0, *sorted(cuts), len(data)]
    return b"".join(messages.feed(data[start:end]) for start, end in itertools.pairwise(edges))


@pytest.mark.parametrize("name", MESSAGES)
def test_who_controls_says_everything(name: str) -> None:
    assert feed(GREETING + MESSAGES[name] * 2, may_act=True) == GREETED + MESSAGES[name] * 2


@pytest.mark.parametrize("name", MESSAGES)
def test_who_watches_says_only_what_does_not_act(name: str) -> None:
    after = SEEING["request"]
    assert feed(GREETING + MESSAGES[name] + after, may_act=False) == GREETED + (MESSAGES[name] if name in SEEING else b"") + after


@pytest.mark.parametrize("may_act", [True, False])
@pytest.mark.parametrize("kind", [number for number in range(256) if number not in LENGTHS])
def test_what_is_unknown_ends_the_connection(kind: int, may_act: bool) -> None:
    messages = ClientMessages(may_act=may_act)
    messages.feed(GREETING)
    with pytest.raises(BadMessage):
        messages.feed(bytes([kind]) + b"\0" * 40)


@pytest.mark.parametrize(
    "said",
    [
        b"RFB 003.003\n\1\1",
        b"GET / HTTP/1.1\r\n\r\n",
        b"RFB 003.008\n\2\1",
        GREETING + b"\xff\1" + b"\0" * 20,
        GREETING + struct.pack(">BxH", 2, 1025),
        GREETING + struct.pack(">Bxxxi", 6, MAX_CUT_TEXT + 1),
        GREETING + struct.pack(">Bxxxi", 6, -(1 << 31)),
        GREETING + struct.pack(">BxxxIB", 248, 0, 65),
    ],
)
def test_what_is_too_much_or_another_protocol_ends_the_connection(said: bytes) -> None:
    with pytest.raises(BadMessage):
        feed(said, may_act=True)


def test_pointer_events_keep_one_length() -> None:
    """The extension that makes them longer is not agreed on, whatever the client wants."""
    wanted = struct.pack(">BxH3i", 2, 3, 7, -316, -313)
    assert feed(GREETING + wanted, may_act=True) == GREETED + struct.pack(">BxH2i", 2, 2, 7, -313)


@given(names=st.lists(st.sampled_from(sorted(MESSAGES)), max_size=8), may_act=st.booleans(), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_where_it_is_cut_changes_nothing(names: list[str], may_act: bool, cuts: list[int]) -> None:
    data = GREETING + b"".join(MESSAGES[name] for name in names)
    expected = GREETED + b"".join(MESSAGES[name] for name in names if may_act or name in SEEING)
    assert feed(data, may_act=may_act, cuts=tuple(min(cut, len(data)) for cut in cuts)) == expected
    assert feed(data, may_act=may_act, cuts=tuple(range(len(data)))) == expected


@given(rubbish=st.binary(max_size=300), cuts=st.lists(st.integers(0, 300), max_size=6))
def test_rubbish_passes_no_act_of_a_watcher(rubbish: bytes, cuts: list[int]) -> None:
    """Whatever a watcher sends, what is passed on reads as messages that do not act."""
    messages, passed = ClientMessages(may_act=False), b""
    edges = [0, *sorted(min(cut, len(rubbish)) for cut in cuts), len(rubbish)]
    messages.feed(GREETING)
    try:
        for start, end in itertools.pairwise(edges):
            passed += messages.feed(rubbish[start:end])
    except BadMessage:
        pass
    while passed:
        needed, length_of = LENGTHS[passed[0]]
        assert passed[0] in (0, 2, 3, 150, 248)
        if len(passed) < needed:
            break
        passed = passed[length_of(passed) :]
