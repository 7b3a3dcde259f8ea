"""Links: each opens what it is for, until its time, once; everything else gets one and the same answer."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telebrowser.errors import ConfigError, TelebrowserError
from telebrowser.gateway.handoff.links import KEY_FILE, Links, Purpose


class Clock:
    """A wall clock for tests."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def make(folder: Path, clock: Clock | None = None) -> Links:
    return Links((folder,), folder / "opened.json", wall=clock or Clock())


def refusal(links: Links, token: str, purpose: Purpose) -> str:
    with pytest.raises(TelebrowserError) as error:
        links.verify(token, purpose)
    assert error.value.code == "FORBIDDEN"
    return error.value.text()


def test_a_link_opens_once_and_its_cookie_until_the_end(tmp_path: Path) -> None:
    clock = Clock()
    links = make(tmp_path, clock)
    token = links.issue(Purpose.HANDOFF, "h1", clock.now + 60)
    assert links.verify(token, Purpose.HANDOFF).subject == links.verify(token, Purpose.HANDOFF).subject == "h1"
    cookie = links.redeem(token, Purpose.HANDOFF)
    assert (tmp_path / "opened.json").exists()
    for _ in range(2):
        claim = links.verify(cookie, Purpose.PAGE)
        assert (claim.subject, claim.expires) == ("h1", clock.now + 60)
    refusal(links, token, Purpose.HANDOFF)
    refusal(make(tmp_path, clock), token, Purpose.HANDOFF)
    assert make(tmp_path, clock).verify(cookie, Purpose.PAGE).who == claim.who, "a restart keeps the key"
    clock.now += 60
    refusal(links, cookie, Purpose.PAGE)


def test_every_refusal_is_the_same(tmp_path: Path) -> None:
    clock = Clock()
    links = make(tmp_path, clock)
    good = links.issue(Purpose.HANDOFF, "h1", clock.now + 60)
    (tmp_path / "other").mkdir()
    forged = make(tmp_path / "other", clock).issue(Purpose.HANDOFF, "h1", clock.now + 60)
    used = links.issue(Purpose.HANDOFF, "h1", clock.now + 60)
    links.redeem(used, Purpose.HANDOFF)
    late = links.issue(Purpose.HANDOFF, "h1", clock.now)
    answers = {refusal(links, token, Purpose.HANDOFF) for token in (forged, used, late, "", "x", good[:-2], good + "A", good + "=", "ü", "A" * 5000)}
    answers |= {refusal(links, good, purpose) for purpose in (Purpose.PAGE, Purpose.LOGIN, Purpose.OPERATOR)}
    assert len(answers) == 1


@given(st.data())
def test_no_changed_link_opens(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    links = make(tmp_path_factory.mktemp("links"))
    token = links.issue(Purpose.LOGIN, "operator", 2_000_000.0)
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    refusal(links, base64.urlsafe_b64encode(raw).decode().rstrip("="), Purpose.LOGIN)


def test_a_link_says_nothing_about_what_it_opens(tmp_path: Path) -> None:
    token = make(tmp_path).issue(Purpose.HANDOFF, "hfeedfacefeedface", 2_000_000.0)
    assert b"feedface" not in base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def test_a_disk_that_cannot_remember_opens_nothing(tmp_path: Path) -> None:
    links = Links((tmp_path,), tmp_path / "absent" / "opened.json", wall=Clock())
    token = links.issue(Purpose.HANDOFF, "h1", 2_000_000.0)
    with pytest.raises(TelebrowserError) as error:
        links.redeem(token, Purpose.HANDOFF)
    assert error.value.code == "INTERNAL"


def test_the_ledger_forgets_what_has_expired(tmp_path: Path) -> None:
    clock = Clock()
    links = make(tmp_path, clock)
    for _ in range(3):
        links.redeem(links.issue(Purpose.HANDOFF, "h1", clock.now + 10), Purpose.HANDOFF)
        clock.now += 20
    assert (tmp_path / "opened.json").read_text().count(":") == 1


def test_the_key_is_private_its_own_and_made_once(tmp_path: Path) -> None:
    links = make(tmp_path)
    token = links.issue(Purpose.LOGIN, "operator", 2_000_000.0)
    path = tmp_path / KEY_FILE
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_text().strip()) == 64
    assert make(tmp_path).verify(token, Purpose.LOGIN).subject == "operator"
    assert [name for name in os.listdir(tmp_path)] == [KEY_FILE]


def test_where_the_first_folder_takes_no_key_the_second_does(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "second").mkdir()
    links = Links((tmp_path / "file" / "first", tmp_path / "second"), tmp_path / "opened.json", wall=Clock())
    links.issue(Purpose.LOGIN, "operator", 2_000_000.0)
    assert (tmp_path / "second" / KEY_FILE).exists()


@pytest.mark.parametrize("content", ["", "zz" * 32, "ab" * 16])
def test_a_key_that_is_none_is_refused_and_named(tmp_path: Path, content: str) -> None:
    (tmp_path / KEY_FILE).write_text(content)
    (tmp_path / KEY_FILE).chmod(0o600)
    with pytest.raises(ConfigError, match=KEY_FILE):
        make(tmp_path).issue(Purpose.LOGIN, "operator", 2_000_000.0)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    make(tmp_path).issue(Purpose.LOGIN, "operator", 2_000_000.0)
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        make(tmp_path).issue(Purpose.LOGIN, "operator", 2_000_000.0)


def test_a_form_must_come_from_its_own_page(tmp_path: Path) -> None:
    links = make(tmp_path)
    one, two = (links.issue(Purpose.PAGE, "h1", 2_000_000.0) for _ in range(2))
    links.check_form(one, links.form_token(one))
    for given_token in (links.form_token(two), "", "ü"):
        with pytest.raises(TelebrowserError):
            links.check_form(one, given_token)
