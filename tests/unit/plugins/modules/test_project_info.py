# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.modules import project_info

SECRET = b"s" * 32
SHOP = tokens.derive(SECRET, "shop")
UP = {"project": "shop", "state": "up", "pid": 7, "sessions": [{"session": "a", "tabs": 1, "connections": 1}], "version": "0.2.0", "view_url": None}


@pytest.fixture
def data(tmp_path):
    """A data directory: shop has a profile, blog has none, the rest is no project."""
    for name in ("projects/shop/profile", "projects/blog/downloads", "projects/.hidden"):
        (tmp_path / "data" / name).mkdir(parents=True)
    (tmp_path / "data" / "projects" / "evil").symlink_to(tmp_path)
    return tmp_path / "data"


@pytest.fixture
def secrets(tmp_path):
    """A folder with a secret."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "secret").write_bytes(SECRET)
    (tmp_path / "secrets" / "secret").chmod(0o600)
    return tmp_path / "secrets"


@pytest.fixture
def gateway(answers):
    """A gateway that knows one state for all."""
    answers.replies["GET", "healthz"] = 200, {"status": "ok", "version": "0.2.0", "supervisor": True}
    answers.replies["GET", "status"] = 200, UP
    return answers


def test_all_projects_of_the_data_directory(run_module, gateway, data, secrets):
    result = run_module(project_info.main, url=gateway.url, data_directory=str(data), secrets_directory=str(secrets))
    assert not result["changed"]
    assert result["gateway"] == {"url": gateway.url, "reachable": True, "problem": None, "version": "0.2.0", "supervisor": True}
    assert [(project["project"], project["has_profile"]) for project in result["projects"]] == [("blog", False), ("evil", False), ("shop", True)]
    shop = result["projects"][-1]
    assert shop["state"] == "up" and shop["sessions"] == UP["sessions"] and shop["version"] == "0.2.0"
    assert "pid" not in shop
    assert ("GET", "/t/%s/status" % SHOP) in gateway.asked


def test_named_projects_in_their_order(run_module, gateway, secrets):
    result = run_module(project_info.main, url=gateway.url, projects=["shop", "a"], secrets_directory=str(secrets))
    assert [(project["project"], project["has_profile"]) for project in result["projects"]] == [("shop", None), ("a", None)]


def test_projects_of_tokens(run_module, gateway, data):
    result = run_module(project_info.main, url=gateway.url, tokens=[SHOP], data_directory=str(data))
    assert [project["project"] for project in result["projects"]] == ["shop"]
    assert SHOP not in str(result)


def test_nobody_there_is_an_answer(run_module, nobody, data, secrets):
    result = run_module(project_info.main, url=nobody, data_directory=str(data), projects=["shop"], secrets_directory=str(secrets))
    assert not result["gateway"]["reachable"] and "does not answer" in result["gateway"]["problem"]
    assert result["projects"] == [{"project": "shop", "has_profile": True, "state": "unknown"}]


def test_no_data_directory_has_no_projects(run_module, nobody, tmp_path, secrets):
    assert run_module(project_info.main, url=nobody, data_directory=str(tmp_path / "none"), secrets_directory=str(secrets))["projects"] == []


@pytest.mark.parametrize(
    "params, message",
    [
        ({"projects": ["shop"]}, "one of the following is required: secrets_directory, tokens"),
        ({"secrets_directory": "/x"}, "one of the following is required: projects, data_directory, tokens"),
        ({"tokens": [SHOP], "projects": ["blog"]}, "no token was given for blog"),
        ({"tokens": ["nonsense"]}, "the token is not of the form"),
        ({"projects": ["shop"], "secrets_directory": "/nowhere"}, "there is no folder /nowhere"),
        ({"projects": ["../x"], "secrets_directory": None}, "'../x' is not a project name"),
    ],
)
def test_wrong_parameters_are_one_line(run_module, gateway, secrets, params, message):
    if "secrets_directory" in params and params["secrets_directory"] is None:
        params = dict(params, secrets_directory=str(secrets))
    failed = run_module(project_info.main, url=gateway.url, **params)
    assert failed["failed"] and message in failed["msg"] and "\n" not in failed["msg"]


def test_a_token_that_is_not_accepted_is_a_failure(run_module, gateway):
    gateway.replies["GET", "status"] = 403, {}
    failed = run_module(project_info.main, url=gateway.url, tokens=[SHOP])
    assert failed["failed"] and "does not accept the token" in failed["msg"] and SHOP not in str(failed)
