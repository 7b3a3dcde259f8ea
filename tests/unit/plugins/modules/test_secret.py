# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import stat

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.modules import secret
from ansible_collections.telebrowser.telebrowser.plugins.modules.secret import KEEP, MAKE, REMOVE, ROTATE, Found, Plan

OLD, NEW, GIVEN = b"o" * 32, b"n" * 32, b"g" * 32
NOW = 1_000_000.0
DAY = 86400
PARAMS = {"state": "present", "value": None, "grace": DAY, "max_age": None, "force": False, "keep_previous": True}
FRESH = Found(NEW, NOW - 10)
IN_GRACE = Found(NEW, NOW - 10, OLD, NOW - 10)
EXPIRED = Found(NEW, NOW - DAY - 10, OLD, NOW - DAY - 10)
HALF = Found(NEW, NOW - 10, NEW, NOW - 1)


@pytest.mark.parametrize(
    "params, found, action, drop",
    [
        # present
        ({}, Found(), MAKE, False),
        ({}, FRESH, KEEP, False),
        ({}, IN_GRACE, KEEP, False),
        ({}, EXPIRED, KEEP, True),
        ({"keep_previous": False}, IN_GRACE, KEEP, True),
        ({"value": "g" * 32}, Found(), MAKE, False),
        ({"value": "n" * 32}, IN_GRACE, KEEP, False),
        ({"value": "g" * 32}, FRESH, ROTATE, False),
        ({"value": "g" * 32}, EXPIRED, ROTATE, True),
        ({"value": "g" * 32, "force": True}, IN_GRACE, ROTATE, False),
        ({"value": "g" * 32, "keep_previous": False}, IN_GRACE, ROTATE, True),
        # rotated
        ({"state": "rotated"}, Found(), MAKE, False),
        ({"state": "rotated"}, FRESH, ROTATE, False),
        ({"state": "rotated"}, IN_GRACE, KEEP, False),
        ({"state": "rotated"}, EXPIRED, ROTATE, True),
        ({"state": "rotated"}, HALF, ROTATE, False),
        ({"state": "rotated", "force": True}, IN_GRACE, ROTATE, False),
        ({"state": "rotated", "max_age": 60}, FRESH, KEEP, False),
        ({"state": "rotated", "max_age": 10}, FRESH, ROTATE, False),
        ({"state": "rotated", "max_age": 60, "force": True}, FRESH, ROTATE, False),
        ({"state": "rotated", "max_age": DAY}, EXPIRED, ROTATE, True),
        ({"state": "rotated", "max_age": 5}, IN_GRACE, KEEP, False),
        ({"state": "rotated", "keep_previous": False}, IN_GRACE, ROTATE, True),
        ({"state": "rotated", "keep_previous": False, "max_age": 60}, IN_GRACE, KEEP, True),
        ({"state": "rotated", "value": "g" * 32}, FRESH, ROTATE, False),
        ({"state": "rotated", "value": "n" * 32}, FRESH, KEEP, False),
        # A clock that was set back must not end a grace.
        ({"state": "rotated", "max_age": 60}, Found(NEW, NOW + 500), KEEP, False),
        ({"state": "rotated"}, Found(NEW, NOW + 500, OLD, NOW + 500), KEEP, False),
        # absent
        ({"state": "absent"}, Found(), KEEP, False),
        ({"state": "absent"}, FRESH, REMOVE, False),
        ({"state": "absent"}, IN_GRACE, REMOVE, False),
        ({"state": "absent"}, Found(None, 0.0, OLD, NOW), REMOVE, False),
    ],
)
def test_what_is_done_with_what_is_found(params, found, action, drop):
    plan = secret.decide({**PARAMS, **params}, found, NOW)
    assert (plan.action, plan.drop_previous) == (action, drop)
    assert plan.reason


def test_a_given_secret_does_not_cut_off_agents_by_the_way():
    with pytest.raises(tokens.TokenError, match="the previous secret is accepted until .*; its agents would be cut off: wait, or set force"):
        secret.decide({**PARAMS, "value": "g" * 32}, IN_GRACE, NOW)


@pytest.mark.parametrize(
    "plan, params, expected",
    [
        (Plan(KEEP, ""), {}, (NEW, OLD)),
        (Plan(KEEP, "", True), {}, (NEW, None)),
        (Plan(MAKE, ""), {}, (None, OLD)),
        (Plan(ROTATE, ""), {}, (None, NEW)),
        (Plan(ROTATE, "", True), {"value": "g" * 32}, (GIVEN, NEW)),
        (Plan(ROTATE, ""), {"keep_previous": False}, (None, None)),
        (Plan(REMOVE, ""), {}, (None, None)),
    ],
)
def test_what_check_mode_foresees(plan, params, expected):
    after = secret.foreseen(plan, IN_GRACE, {**PARAMS, **params})
    assert (after.secret, after.previous) == expected


@pytest.mark.parametrize(
    "params, message",
    [
        ({"grace": -1}, "grace must be from 0 to 2592000 seconds; it is -1"),
        ({"grace": 2592001}, "grace must be"),
        ({"max_age": -1}, "max_age must not be negative"),
        ({"value": "short"}, "value holds 5 bytes; a secret needs at least 16"),
        ({"value": "g" * 32 + "\n"}, "value ends in a newline"),
    ],
)
def test_values_out_of_range(params, message):
    with pytest.raises(tokens.TokenError, match=message):
        secret.check({**PARAMS, **params})


# -- the module as it runs


@pytest.fixture
def folder(tmp_path):
    """Where the secrets go; not made yet."""
    return tmp_path / "secrets"


@pytest.fixture
def run(run_module, folder):
    """The module on the folder; no result may hold a secret of the folder."""

    def go(**params):
        before = contents(folder)
        result = run_module(secret.main, secrets_directory=str(folder), **params)
        text = json.dumps(result)
        for content in [*before.values(), *contents(folder).values()]:
            assert content not in text
        return result

    return go


def contents(folder):
    """The secrets on disk, by file."""
    return {path.name: path.read_text().strip() for path in folder.iterdir()} if folder.exists() else {}


def backdate(path, seconds):
    """Make a file older."""
    info = path.stat()
    os.utime(str(path), (info.st_atime - seconds, info.st_mtime - seconds))


def test_a_first_secret(run, folder):
    foreseen = run(check_mode=True)
    assert foreseen["changed"] and foreseen["fingerprint"] is None and not folder.exists()
    made = run()
    assert made["changed"] and not made["rotated"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [(path.name, stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()] == [("secret", 0o600)]
    content = contents(folder)["secret"]
    assert len(content) == 64
    assert made["fingerprint"] == tokens.fingerprint(content.encode())
    again = run()
    assert not again["changed"] and again["fingerprint"] == made["fingerprint"]
    assert not run(check_mode=True)["changed"]


def test_a_rotation_and_the_run_after_it(run, folder):
    first = run()
    assert run(state="rotated", check_mode=True)["rotated"]
    assert contents(folder).keys() == {"secret"}
    second = run(state="rotated")
    assert second["changed"] and second["rotated"] and second["previous_until"]
    assert second["previous_fingerprint"] == first["fingerprint"] != second["fingerprint"]
    third = run(state="rotated")
    assert not third["changed"] and "accepted until" in third["reason"]
    assert (third["fingerprint"], third["previous_fingerprint"]) == (second["fingerprint"], second["previous_fingerprint"])
    backdate(folder / "secret.previous", DAY)
    assert run(check_mode=True)["changed"]
    assert run()["previous_fingerprint"] is None
    assert contents(folder).keys() == {"secret"}
    assert run(state="rotated")["rotated"]


def test_a_leak(run, folder):
    run()
    run(state="rotated")
    result = run(state="rotated", force=True, keep_previous=False)
    assert result["rotated"] and contents(folder).keys() == {"secret"} and result["previous_until"] is None


def test_a_secret_of_the_operators_own(run, folder):
    assert run(value="g" * 32)["fingerprint"] == tokens.fingerprint(GIVEN)
    assert not run(value="g" * 32)["changed"]
    assert run(value="h" * 32)["rotated"]
    failed = run(value="i" * 32)
    assert failed["failed"] and "its agents would be cut off" in failed["msg"]
    assert contents(folder) == {"secret": "h" * 32, "secret.previous": "g" * 32}


def test_absent(run, folder):
    assert not run(state="absent")["changed"]
    run()
    run(state="rotated")
    assert run(state="absent", check_mode=True)["changed"] and folder.exists()
    assert run(state="absent")["changed"] and not folder.exists()
    assert not run(state="absent")["changed"]


def test_what_else_is_in_the_folder_stays(run, folder):
    run()
    (folder / "url").write_text("http://127.0.0.1:5858")
    assert run(state="absent")["changed"]
    assert os.listdir(str(folder)) == ["url"]


def test_modes_are_mended(run, folder):
    made = run()
    (folder / "secret").chmod(0o644)
    folder.chmod(0o755)
    foreseen = run(check_mode=True)
    assert foreseen["changed"] and "permissions of secret" in foreseen["diff"]["before"]
    mended = run()
    assert mended["changed"] and mended["fingerprint"] == made["fingerprint"]
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not run()["changed"]


@pytest.mark.parametrize(
    "break_it, message",
    [
        (lambda folder: (folder / "secret").write_text("short"), "holds 5 bytes; a secret needs at least 16"),
        (lambda folder: (folder / "secret").write_text("x" * 5000), "larger than 4096 bytes"),
        (lambda folder: replace(folder / "secret", lambda path: path.symlink_to("/etc/hostname")), "is a link; put the file itself there"),
        (lambda folder: replace(folder / "secret", os.mkfifo), "is not a regular file"),
        (lambda folder: replace(folder / "secret", os.mkdir), "is not a regular file"),
    ],
)
@pytest.mark.parametrize("state", ["present", "rotated"])
def test_what_lies_in_the_place_of_a_secret(run, run_module, folder, break_it, message, state):
    run()
    break_it(folder)
    before = os.listdir(str(folder))
    failed = run_module(secret.main, secrets_directory=str(folder), state=state)
    assert failed["failed"] and message in failed["msg"]
    assert os.listdir(str(folder)) == before


@pytest.mark.parametrize("make", [lambda path: path.write_text("short"), lambda path: path.symlink_to("/etc/hostname"), os.mkfifo])
@pytest.mark.parametrize("name", ["secret", "secret.previous"])
def test_absent_removes_what_is_no_secret_too(run_module, folder, make, name):
    folder.mkdir()
    make(folder / name)
    removed = run_module(secret.main, secrets_directory=str(folder), state="absent")
    assert removed["changed"] and not folder.exists()


def replace(path, make):
    """Put something else in the place of a file."""
    path.unlink()
    make(path)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"owner": "no-such-user"}, "there is no user 'no-such-user' on this host"),
        ({"grace": -5}, "grace must be"),
        ({"state": "gone"}, "value of state must be one of"),
    ],
)
def test_wrong_parameters_are_one_line(run, params, message):
    failed = run(**params)
    assert failed["failed"] and message in failed["msg"] and "\n" not in failed["msg"]


def test_a_parent_that_is_not_there(run_module, tmp_path):
    failed = run_module(secret.main, secrets_directory=str(tmp_path / "none" / "secrets"))
    assert failed["failed"] and "its parent must be there" in failed["msg"]
