# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import stat

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.modules import project_token

SECRET = "s" * 32
SHOP = tokens.derive(SECRET.encode(), "shop")
BLOG = tokens.derive(SECRET.encode(), "blog")
OLD = tokens.derive(b"o" * 32, "shop")


@pytest.fixture
def secrets(tmp_path):
    """A folder with a secret."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "secret").write_text(SECRET + "\n")
    (folder / "secret").chmod(0o600)
    return folder


@pytest.fixture
def dest(tmp_path):
    """The launcher's file of tokens; not made yet."""
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "tokens"


@pytest.mark.parametrize(
    "lines, token, expected",
    [
        ([], SHOP, [SHOP]),
        ([], None, []),
        ([BLOG], SHOP, [BLOG, SHOP]),
        ([OLD, BLOG], SHOP, [SHOP, BLOG]),
        ([OLD, BLOG, SHOP], SHOP, [SHOP, BLOG]),
        ([SHOP, BLOG], SHOP, [SHOP, BLOG]),
        ([OLD, BLOG], None, [BLOG]),
        (["", "junk", BLOG], SHOP, ["", "junk", BLOG, SHOP]),
        (["  " + OLD + " "], SHOP, [SHOP]),
        ([tokens.derive(SECRET.encode(), "shop.x")], None, [tokens.derive(SECRET.encode(), "shop.x")]),
    ],
)
def test_lines_of_a_file_of_tokens(lines, token, expected):
    assert project_token.lines_with(lines, "shop", token) == expected


def test_a_diff_shows_fingerprints():
    shown = project_token.fingerprints([SHOP, "", "junk"])
    assert shown == ["shop %s" % tokens.fingerprint(SHOP.encode()), "(not a token)"]


def test_derived_from_the_folder_from_the_secret_and_given(run_module, secrets):
    for params in ({"secrets_directory": str(secrets)}, {"secret": SECRET}, {"token": SHOP}):
        result = run_module(project_token.main, project="shop", **params)
        assert not result["changed"] and result["fingerprint"] == tokens.fingerprint(SHOP.encode())
        assert SHOP not in json.dumps(result) and SECRET not in json.dumps(result)
    assert run_module(project_token.main, project="shop", secrets_directory=str(secrets), return_token=True)["token"] == SHOP


def test_a_line_comes_changes_and_goes(run_module, secrets, dest):
    def run(**params):
        result = run_module(project_token.main, dest=str(dest), **params)
        assert SHOP not in json.dumps(result) and OLD not in json.dumps(result)
        return result

    assert run(project="shop", token=OLD, check_mode=True)["changed"] and not dest.exists()
    assert run(project="shop", token=OLD)["changed"]
    assert stat.S_IMODE(dest.stat().st_mode) == 0o600
    assert run(project="blog", secrets_directory=str(secrets))["changed"]
    assert run(project="shop", secrets_directory=str(secrets))["changed"]
    assert dest.read_text() == "%s\n%s\n" % (SHOP, BLOG)
    assert not run(project="shop", secrets_directory=str(secrets))["changed"]
    dest.chmod(0o644)
    assert run(project="shop", secrets_directory=str(secrets))["changed"]
    assert stat.S_IMODE(dest.stat().st_mode) == 0o600
    assert run(project="shop", state="absent")["changed"]
    assert dest.read_text() == BLOG + "\n"
    assert not run(project="shop", state="absent")["changed"]


def test_a_link_in_its_place_is_an_error(run_module, dest, tmp_path):
    dest.symlink_to(tmp_path / "elsewhere")
    failed = run_module(project_token.main, project="shop", token=SHOP, dest=str(dest))
    assert failed["failed"] and "is a link" in failed["msg"]
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "params, message",
    [
        ({"project": "../x", "secret": SECRET}, "'../x' is not a project name"),
        ({"project": "blog", "token": SHOP}, "the token is one of the project shop, not of blog"),
        ({"project": "shop", "token": "shop.123"}, "the token is not of the form"),
        ({"project": "shop", "secret": "short"}, "secret holds 5 bytes"),
        ({"project": "shop", "secrets_directory": "/nowhere"}, "there is no folder /nowhere; make the secret with telebrowser.telebrowser.secret first"),
        ({"project": "shop", "token": SHOP, "dest": "/nowhere/tokens"}, "there is no folder /nowhere; make it first"),
        ({"project": "shop", "token": SHOP, "secret": SECRET}, "mutually exclusive"),
        ({"project": "shop"}, "state is present but any of the following are missing"),
        ({"project": "shop", "state": "absent"}, "state is absent but all of the following are missing: dest"),
    ],
)
def test_wrong_parameters_are_one_line_without_secrets(run_module, params, message):
    failed = run_module(project_token.main, **params)
    assert failed["failed"] and message in failed["msg"] and "\n" not in failed["msg"]
    assert SHOP not in failed["msg"] and SECRET not in failed["msg"]


def test_a_secret_that_others_can_read_is_refused(run_module, secrets):
    (secrets / "secret").chmod(0o640)
    failed = run_module(project_token.main, project="shop", secrets_directory=str(secrets))
    assert failed["failed"] and "can be used by others (mode 0640); run: chmod 600" in failed["msg"]
