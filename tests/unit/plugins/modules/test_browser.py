# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.modules import browser

SECRET = b"s" * 32
SHOP = tokens.derive(SECRET, "shop")


@pytest.fixture
def gateway(answers):
    """A gateway whose state a test sets."""
    for verb in ("start", "stop"):
        answers.replies["POST", verb] = 200, {"state": "up"}
    return answers


@pytest.mark.parametrize(
    "before, state, verb",
    [
        ("up", "started", None),
        ("stopped", "started", "start"),
        ("failed", "started", "start"),
        ("stopping", "started", "start"),
        ("up", "stopped", "stop"),
        ("starting", "stopped", "stop"),
        ("stopping", "stopped", "stop"),
        ("stopped", "stopped", None),
        ("failed", "stopped", None),
    ],
)
@pytest.mark.parametrize("check", [False, True])
def test_the_gateway_is_asked_when_something_has_to_change(run_module, gateway, before, state, verb, check):
    gateway.replies["GET", "status"] = 200, {"state": before}
    result = run_module(browser.main, url=gateway.url, project="shop", token=SHOP, state=state, check_mode=check)
    assert result["changed"] is (verb is not None)
    assert result["browser_state"] == before
    assert result["began"] <= result["ended"]
    asked = [path for method, path in gateway.asked if method == "POST"]
    assert asked == ([] if verb is None or check else ["/t/%s/%s" % (SHOP, verb)])


def test_the_token_comes_from_the_secret(run_module, gateway, tmp_path):
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "secret").chmod(0o600)
    gateway.replies["GET", "status"] = 200, {"state": "up"}
    run_module(browser.main, url=gateway.url, project="shop", secrets_directory=str(tmp_path))
    assert ("GET", "/t/%s/status" % SHOP) in gateway.asked


def test_a_token_of_another_project_is_refused(run_module, gateway):
    result = run_module(browser.main, url=gateway.url, project="blog", token=SHOP)
    assert result["msg"] == "the token is one of the project shop, not of blog"
    assert gateway.asked == []
