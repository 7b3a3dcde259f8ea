# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.modules import profile

TOKENS = {name: tokens.derive(b"s" * 32, name) for name in ("shop", "scratch")}
STOPPED = {"state": "stopped", "sessions": [], "hold_until": None}
IDLE = {"state": "up", "sessions": [], "hold_until": None}
BUSY = {"state": "up", "sessions": [{"session": "a", "tabs": 1, "connections": 1}], "hold_until": None}
HELD = {"state": "up", "sessions": [], "hold_until": "2026-12-01T00:00:00+00:00"}
GONE = ["projects/shop/downloads", "projects/shop/home", "projects/shop/profile", "projects/shop"]


@pytest.fixture
def data(tmp_path):
    """A data directory with two projects."""
    root = tmp_path / "data"
    for project in ("shop", "blog"):
        for name in ("profile/Default", "home/.cache", "downloads"):
            (root / "projects" / project / name).mkdir(parents=True)
        (root / "projects" / project / "profile" / "Default" / "Cookies").write_text("cookies")
        (root / "projects" / project / "downloads" / "file").write_text("download")
    for name in ("want", "up", "sessions"):
        (root / "run" / name).mkdir(parents=True)
    return root


@pytest.fixture
def run(run_module, data, answers):
    """The module on that directory, with the gateway of the test."""

    def go(**params):
        given = {"data_directory": str(data), "project": "shop", "url": answers.url, "timeout": 5}
        given.update(params)
        given.setdefault("token", TOKENS[given["project"]])
        result = run_module(profile.main, **given)
        assert all(token not in str(result) for token in TOKENS.values())
        return result

    return go


def tell(answers, status, data=None):
    """The gateway's answers; a wipe deletes as the real one does."""
    answers.replies["GET", "status"] = 200, lambda: now["status"]
    now = {"status": status}

    def wipe():
        now["status"] = dict(status, state="stopped", sessions=[])
        if data is not None:
            for name in ("profile/Default/Cookies",):
                (data / "projects" / "shop" / name).unlink()
        return now["status"]

    answers.replies["POST", "wipe"] = 200, wipe
    return now


def left(data, project="shop"):
    """What a project still has."""
    folder = data / "projects" / project
    return sorted(os.listdir(str(folder))) if folder.exists() else None


@pytest.mark.parametrize("status, stopped", [(STOPPED, False), (IDLE, True), ({"state": "failed", "sessions": []}, False)])
def test_wiped_through_the_gateway(run, data, answers, status, stopped):
    tell(answers, status, data)
    foreseen = run(check_mode=True)
    assert foreseen["changed"] and left(data) == ["downloads", "home", "profile"]
    assert ("POST", "/t/%s/wipe" % TOKENS["shop"]) not in answers.asked
    result = run()
    assert result["changed"] and result["stopped"] is stopped and result["browser_state"] == status["state"]
    assert result["removed"] == foreseen["removed"] == ["projects/shop/home", "projects/shop/profile"]
    assert left(data) == ["downloads"] and left(data, "blog") == ["downloads", "home", "profile"]
    assert ("POST", "/t/%s/wipe" % TOKENS["shop"]) in answers.asked
    again = run()
    assert not again["changed"] and again["removed"] == []


def test_absent_takes_the_rest_too(run, data, answers):
    tell(answers, IDLE)
    for name in ("want/shop", "sessions/shop.json", "chromium-shop.log", "want/blog"):
        (data / "run" / name).write_text("")
    foreseen = run(state="absent", check_mode=True)
    result = run(state="absent")
    assert result["removed"] == foreseen["removed"] == GONE + ["run/chromium-shop.log", "run/sessions/shop.json", "run/want/shop"]
    assert left(data) is None and left(data, "blog") is not None
    assert (data / "run" / "want" / "blog").exists()
    assert not run(state="absent")["changed"]


@pytest.mark.parametrize(
    "status, reason",
    [
        (BUSY, "1 session of agents"),
        (HELD, "a hold until 2026-12-01T00:00:00+00:00"),
        (dict(IDLE, handoffs=[{"state": "open"}]), "1 open handoff to a person"),
    ],
)
@pytest.mark.parametrize("check_mode", [True, False])
def test_refused_while_somebody_works(run, data, answers, status, reason, check_mode):
    tell(answers, status)
    failed = run(check_mode=check_mode)
    assert failed["failed"]
    assert failed["msg"] == "the browser of shop is in use: %s; wait for the end, or set force" % reason
    assert left(data) == ["downloads", "home", "profile"]
    assert [method for method, path in answers.asked] == ["GET"]
    forced = run(force=True, check_mode=check_mode)
    assert forced["changed"] and forced["ended"] == [reason]
    assert left(data) == (["downloads", "home", "profile"] if check_mode else ["downloads"])


def test_scratch_is_the_default(run_module, data, answers):
    tell(answers, STOPPED)
    result = run_module(profile.main, data_directory=str(data), url=answers.url, token=TOKENS["scratch"])
    assert result["project"] == "scratch" and not result["changed"]


def test_an_agent_that_starts_it_again_is_told(run, data, answers):
    now = tell(answers, IDLE)
    answers.replies["POST", "wipe"] = 200, lambda: now["status"]
    failed = run()
    assert failed["failed"] and "was started again after its files were deleted" in failed["msg"]


@pytest.mark.parametrize("sign", ["run/up/shop", "run/want/shop", "projects/shop/profile/SingletonLock"])
def test_without_a_gateway_signs_of_a_browser_stop_it(run, data, nobody, sign):
    path = data / sign
    path.symlink_to("host-1") if "Singleton" in sign else path.write_text("")
    failed = run(url=nobody)
    assert failed["failed"] and sign in failed["msg"] and "may mean that a browser runs" in failed["msg"]
    assert left(data) == ["downloads", "home", "profile"]
    assert run(url=nobody, force=True)["removed"] == ["projects/shop/home", "projects/shop/profile"]
    assert left(data) == ["downloads"]


def test_without_a_gateway_and_without_signs_the_files_go(run, data, nobody):
    result = run(url=nobody, state="absent")
    assert result["changed"] and result["browser_state"] is None and left(data) is None
    assert not run(url=nobody, state="absent")["changed"]


def test_a_gateway_without_supervisor_is_as_none(run, data, answers):
    tell(answers, STOPPED)
    answers.replies["POST", "wipe"] = 503, {"error": {"code": "BROWSER_UNAVAILABLE", "message": "The supervisor is not running"}}
    (data / "run" / "up" / "shop").write_text("{}")
    failed = run()
    assert failed["failed"] and "has no supervisor" in failed["msg"] and left(data) == ["downloads", "home", "profile"]
    (data / "run" / "up" / "shop").unlink()
    assert run()["changed"] and left(data) == ["downloads"]


def test_another_answer_is_a_failure(run, data, answers):
    tell(answers, IDLE)
    answers.replies["POST", "wipe"] = 500, {"error": {"code": "INTERNAL", "message": "The profile was not wiped: x"}}
    failed = run()
    assert failed["failed"] and "refused: INTERNAL: The profile was not wiped: x" in failed["msg"]
    answers.replies["GET", "status"] = 403, {}
    assert "does not accept the token" in run()["msg"]
    assert left(data) == ["downloads", "home", "profile"]


def test_a_wipe_that_failed_half_way_is_finished_when_the_browser_has_stopped(run, data, answers):
    now = tell(answers, IDLE)

    def wipe():
        now["status"] = STOPPED
        return {"error": {"code": "INTERNAL", "message": "The profile was not wiped: Device or resource busy: home"}}

    answers.replies["POST", "wipe"] = 500, wipe
    assert run()["removed"] == ["projects/shop/home", "projects/shop/profile"] and left(data) == ["downloads"]


# -- what a browser may have planted


def outside(tmp_path):
    """A folder with a file that must stay."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("stays")
    return folder


@pytest.mark.parametrize("state", ["wiped", "absent"])
@pytest.mark.parametrize("link", ["projects/shop/profile/Default/link", "projects/shop/profile", "projects/shop/home", "projects/shop/tmp"])
def test_planted_links_are_removed_and_lead_nowhere(run, data, nobody, tmp_path, state, link):
    target = outside(tmp_path)
    path = data / link
    if path.exists():
        path.rename(tmp_path / "moved")
    path.symlink_to(target)
    assert run(url=nobody, state=state)["changed"]
    assert (target / "file").read_text() == "stays" and os.listdir(str(target)) == ["file"]
    assert not path.is_symlink()


@pytest.mark.parametrize("state", ["wiped", "absent"])
@pytest.mark.parametrize("link", ["projects", "projects/shop", "run"])
def test_a_folder_of_the_stack_that_is_a_link_is_refused(run, data, nobody, tmp_path, state, link):
    (data / link).rename(tmp_path / "moved")
    (data / link).symlink_to(tmp_path / "moved")
    failed = run(url=nobody, state=state)
    assert failed["failed"] and "is a link or a file where a folder must be; nothing was changed" in failed["msg"]
    assert (tmp_path / "moved").exists()


def test_links_in_run_lead_nowhere(run, data, nobody, tmp_path):
    target = outside(tmp_path)
    (target / "shop").write_text("stays")
    (data / "run" / "want").rmdir()
    (data / "run" / "want").symlink_to(target)
    assert run(url=nobody, state="absent", force=True)["changed"]
    assert (target / "shop").read_text() == "stays"


@pytest.mark.parametrize("project", ["..", "../../etc", "a/b", "", ".hidden"])
def test_names_that_lead_out_are_no_projects(run_module, data, nobody, project):
    failed = run_module(profile.main, data_directory=str(data), project=project, url=nobody, token=TOKENS["shop"])
    assert failed["failed"] and "is not a project name" in failed["msg"]


def test_the_data_directory_may_be_reached_by_a_link(run, data, nobody, tmp_path):
    (tmp_path / "link").symlink_to(data)
    assert run(url=nobody, data_directory=str(tmp_path / "link"))["changed"]
    assert left(data) == ["downloads"]


def test_no_data_directory_is_a_warning(run, nobody, tmp_path, monkeypatch):
    warnings = []
    monkeypatch.setattr(profile.AnsibleModule, "warn", lambda module, text: warnings.append(text))
    result = run(url=nobody, data_directory=str(tmp_path / "none"))
    assert not result["changed"] and warnings == ["there is no data directory %s; nothing to do" % (tmp_path / "none")]


@pytest.mark.parametrize(
    "params, message",
    [
        ({"token": TOKENS["scratch"]}, "the token is one of the project scratch, not of shop"),
        ({"url": "nonsense"}, "'nonsense' is not the address of a gateway"),
    ],
)
def test_wrong_parameters_are_one_line(run, params, message):
    failed = run(**params)
    assert failed["failed"] and message in failed["msg"] and "\n" not in failed["msg"]
