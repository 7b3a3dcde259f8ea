"""Address and token: where they come from, and where the token must not go."""

from __future__ import annotations

from pathlib import Path

import pytest

from telebrowser import config, tokens
from telebrowser.cli.up import other_address
from telebrowser.errors import EXIT_CONFIG, EXIT_USAGE, ConfigError, ExitError
from telebrowser.launcher.address import Address, check_session, find, forbidden_text, parse_url, unreachable

SECRET = "a secret for these tests"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration folder with a secret."""
    path = tmp_path / "config"
    path.mkdir()
    private(path / "secret", SECRET + "\n")
    return path


def private(path: Path, text: str) -> None:
    """A file that only its owner may read."""
    path.write_text(text)
    path.chmod(0o600)


def settings(folder: Path, **environ: str) -> config.Settings:
    """The launcher's settings with this folder."""
    return config.load(config.LAUNCHER, environ={"TELEBROWSER_CONFIG_DIR": str(folder), **environ})


def test_the_default_address_and_the_secret_file(folder: Path) -> None:
    address = find(settings(folder), "shop")
    assert address.shown == "http://127.0.0.1:5858"
    assert address.token == tokens.derive(SECRET.encode(), "shop")
    assert address.ws("s/x/mcp") == f"ws://127.0.0.1:5858/t/{address.token}/s/x/mcp"
    assert address.http() == f"http://127.0.0.1:5858/t/{address.token}"


def test_the_variable_wins_over_the_file_and_that_over_the_default(folder: Path) -> None:
    (folder / "url").write_text("\n")
    assert find(settings(folder), "p").port == 5858
    (folder / "url").write_text("  https://browsers.example/base/ \nsecond line\n")
    address = find(settings(folder), "p")
    assert address.shown == "https://browsers.example:443/base" and address.ws("x").startswith("wss://browsers.example:443/base/t/p.")
    assert find(settings(folder, TELEBROWSER_URL="http://[::1]:80"), "p").shown == "http://[::1]:80"


@pytest.mark.parametrize(
    "url",
    ["", "x", "127.0.0.1:5858", "ftp://x", "http://", "http://x:99999", "http://x:y", "http://user:pass@x", "http://x/?a=1", "http://x/#a", "http://[::1"],
)
def test_a_malformed_address_is_one_line_that_says_where_it_came_from(url: str) -> None:
    with pytest.raises(ConfigError, match="from the file") as caught:
        parse_url(url, "the file")
    assert "pass" not in str(caught.value) and caught.value.exit_code == EXIT_CONFIG


def test_the_secret_variable_wins_over_the_file(folder: Path) -> None:
    other = "another secret, as long"
    assert find(settings(folder, TELEBROWSER_SECRET=other), "p").token == tokens.derive(other.encode(), "p")
    with pytest.raises(ConfigError, match="TELEBROWSER_SECRET") as caught:
        find(settings(folder, TELEBROWSER_SECRET="tiny"), "p")
    assert "tiny" not in str(caught.value)


def test_only_tokens_instead_of_the_secret(folder: Path) -> None:
    (folder / "secret").unlink()
    token = tokens.derive(SECRET.encode(), "shop")
    private(folder / "tokens", f"{tokens.derive(SECRET.encode(), 'other')}\n{token}\n")
    assert find(settings(folder), "shop").token == token
    with pytest.raises(ConfigError, match="no token for the project third"):
        find(settings(folder), "third")
    (folder / "tokens").chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        find(settings(folder), "shop")


def test_no_secret_at_all_says_what_to_do(folder: Path) -> None:
    (folder / "secret").unlink()
    with pytest.raises(ConfigError, match=r"TELEBROWSER_SECRET.*telebrowser up"):
        find(settings(folder), "p")


def test_a_secret_that_others_can_read_is_refused(folder: Path) -> None:
    (folder / "secret").chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        find(settings(folder), "p")


def test_messages_do_not_hold_the_token() -> None:
    address = Address(False, "gw", 1, "", "shop", "shop.secretdigest")
    for text in (address.shown, str(unreachable(address, "refused")), forbidden_text(address)):
        assert "secretdigest" not in text and "gw:1" in text


@pytest.mark.parametrize("name", ["a", "A_b-9", "x" * 64])
def test_good_sessions(name: str) -> None:
    assert check_session(name) == name


@pytest.mark.parametrize("name", ["", "a.b", "a/b", "ü", "x" * 65, "a b"])
def test_bad_sessions(name: str) -> None:
    with pytest.raises(ExitError) as caught:
        check_session(name)
    assert caught.value.exit_code == EXIT_USAGE


def test_a_stack_on_another_port_is_noted(folder: Path) -> None:
    assert other_address(settings(folder), "http://127.0.0.1:5858") is None
    assert other_address(settings(folder), None) is None
    note = other_address(settings(folder), "http://127.0.0.1:6000")
    assert note and "TELEBROWSER_URL=http://127.0.0.1:6000" in note and str(folder / "url") in note
    (folder / "url").write_text("http://127.0.0.1:6000")
    assert other_address(settings(folder), "http://127.0.0.1:6000") is None
