# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens

SECRET = b"0123456789abcdef0123456789abcdef"
# Written down once, by openssl: printf shop | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
SHOP = "shop.9d3526670e9bc489f394e013e15f532b1c7d09270cc6dd8c5fa73b8b01db8b75"


@pytest.mark.parametrize(
    "name, expected",
    [
        ("a", True),
        ("shop", True),
        ("0", True),
        ("A.b_c-d", True),
        ("x" * 64, True),
        ("", False),
        ("x" * 65, False),
        (".hidden", False),
        ("-option", False),
        ("_x", False),
        ("..", False),
        ("a/b", False),
        ("a b", False),
        ("a\n", False),
        ("caf\u00e9", False),
        ("\u0661", False),
    ],
)
def test_which_names_are_projects(name, expected):
    assert tokens.is_valid(name) is expected


def test_a_token_is_the_name_and_a_digest_of_it():
    token = tokens.derive(SECRET, "shop")
    assert token == SHOP
    assert tokens.derive(SECRET, "shop") == token
    assert tokens.derive(SECRET, "shop2") != token
    assert tokens.derive(SECRET + b"x", "shop") != token


@pytest.mark.parametrize("name", ["", "..", "a/b", "x" * 65])
def test_no_token_for_what_is_not_a_project(name):
    with pytest.raises(tokens.TokenError, match="is not a project name"):
        tokens.derive(SECRET, name)


@pytest.mark.parametrize(
    "secret, expected",
    [(b"x" * 16, b"x" * 16), (b"x" * 16 + b"\n", b"x" * 16), (b"x" * 16 + b"\r\n", b"x" * 16), (b"x" * 4096, b"x" * 4096)],
)
def test_what_can_be_a_secret(secret, expected):
    assert tokens.check_secret(secret, "it") == expected


@pytest.mark.parametrize(
    "secret, message",
    [(b"", "it holds no bytes"), (b"\n", "it holds no bytes"), (b"x" * 15, "it holds 15 bytes"), (b"x" * 4097, "it is larger than 4096 bytes")],
)
def test_what_cannot_be_a_secret(secret, message):
    with pytest.raises(tokens.TokenError, match=message) as error:
        tokens.check_secret(secret, "it")
    assert "xxxx" not in str(error.value)


@pytest.mark.parametrize("token", ["shop." + "a" * 64, "a.b." + "0" * 64])
def test_the_project_of_a_token(token):
    assert tokens.project_of(token) == token[:-65]


@pytest.mark.parametrize("token", ["", "shop", "shop.", "." + "a" * 64, "shop." + "a" * 63, "shop." + "A" * 64, "shop." + "g" * 64, "a/b." + "a" * 64])
def test_what_is_not_a_token_is_not_repeated(token):
    with pytest.raises(tokens.TokenError) as error:
        tokens.project_of(token)
    assert not token or token not in str(error.value)


def test_a_fingerprint_is_short_and_tells_two_apart():
    # printf 0123456789abcdef0123456789abcdef | sha256sum
    assert tokens.fingerprint(SECRET) == "3eb1bd439947"
    assert tokens.fingerprint(SECRET) != tokens.fingerprint(SECRET + b"x")
