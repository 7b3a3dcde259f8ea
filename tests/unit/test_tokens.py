"""Project → token and back, secret files, and rotation."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import threading
from pathlib import Path

import pytest

from telebrowser import tokens
from telebrowser.errors import EXIT_CONFIG, ConfigError
from telebrowser.tokens import SecretStore, derive, ensure_secret, read_secret_file, verify

ONE = b"one secret of enough length"
TWO = b"another secret, as long"


def write(path: Path, secret: bytes, mode: int = 0o600) -> Path:
    """A secret file, replaced as a rotation does it."""
    temporary = path.with_name("new")
    temporary.write_bytes(secret)
    temporary.chmod(mode)
    temporary.rename(path)
    return path


def test_a_token_is_the_project_and_its_hmac() -> None:
    assert derive(ONE, "shop") == "shop." + hmac.new(ONE, b"shop", hashlib.sha256).hexdigest()


@pytest.mark.parametrize("name", ["", ".x", "a/b", "x" * 65, "ü"])
def test_only_valid_projects_have_tokens(name: str) -> None:
    with pytest.raises(ValueError, match="project name"):
        derive(ONE, name)


def test_a_token_opens_its_project_under_each_secret() -> None:
    assert verify(derive(ONE, "my.shop"), [ONE]) == "my.shop"
    assert verify(derive(TWO, "my.shop"), [ONE, TWO]) == "my.shop"
    assert verify(derive(TWO, "my.shop"), [ONE]) is None
    assert verify(derive(ONE, "my.shop"), []) is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "shop",
        "shop.",
        "shop." + "0" * 64,
        "shop." + "0" * 63,
        "shop." + "ü" * 64,
        "." + "0" * 64,
        "scratch." + "0" * 64,
        "a/b." + "0" * 64,
        "x" * 100_000,
        "x" * 100_000 + "." + "0" * 64,
        derive(ONE, "shop")[:-1],
        derive(ONE, "shop") + "0",
        derive(ONE, "shop").upper(),
        derive(ONE, "shop").replace("shop", "other"),
        " " + derive(ONE, "shop"),
        "shop\n" + derive(ONE, "shop")[4:],
        "\ud800." + "0" * 64,
    ],
)
def test_every_other_token_opens_nothing(token: str) -> None:
    assert verify(token, [ONE, TWO]) is None


def test_a_malformed_token_costs_the_same_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a timed test: it counts what takes the time."""
    counted: list[str] = []
    digest = tokens._digest
    monkeypatch.setattr(tokens, "_digest", lambda secret, project: counted.append(project) or digest(secret, project))
    for token in (derive(ONE, "shop"), "shop." + "0" * 64, "", "a/b", "x" * 9999):
        counted.clear()
        verify(token, [ONE, TWO, ONE])
        assert len(counted) == 3, token


def test_reading_a_secret(tmp_path: Path) -> None:
    assert read_secret_file(str(write(tmp_path / "s", ONE + b"\n"))) == ONE
    assert read_secret_file(str(write(tmp_path / "s", ONE + b"\r\n"))) == ONE
    link = tmp_path / "link"
    link.symlink_to("s")
    assert read_secret_file(str(link)) == ONE


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601, 0o620])
def test_a_secret_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path / "s", ONE, mode)
    with pytest.raises(ConfigError, match=f"mode 0{mode:o}.*chmod 600 {path}") as caught:
        read_secret_file(str(path))
    assert caught.value.exit_code == EXIT_CONFIG and "\n" not in str(caught.value) and ONE.decode() not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n", b"tiny", b"fifteen bytes!!", b"x" * 5000])
def test_an_empty_short_or_huge_secret_is_refused(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "s", content)
    with pytest.raises(ConfigError, match=str(path)) as caught:
        read_secret_file(str(path))
    assert content.strip() == b"" or content.decode().strip() not in str(caught.value)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, problem in (("pipe", "not a regular file"), (".", "not a regular file"), ("missing", "No such file")):
        with pytest.raises(ConfigError, match=problem):
            read_secret_file(str(tmp_path / name))


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "telebrowser"
    path = Path(ensure_secret(str(folder)))
    content = path.read_bytes()
    assert path == folder / "secret" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(bytes.fromhex(content.decode())) == 32
    assert ensure_secret(str(folder)) == str(path) and path.read_bytes() == content
    assert os.listdir(folder) == ["secret"]


def test_many_at_once_agree_on_one_secret(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)
    seen: list[bytes] = []

    def make() -> None:
        barrier.wait()
        seen.append(Path(ensure_secret(str(tmp_path))).read_bytes())

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 1 and os.listdir(tmp_path) == ["secret"]


def test_a_secret_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot make a secret"):
        ensure_secret(str(tmp_path / "file" / "x"))


class Clocks:
    """Times that a test moves."""

    def __init__(self) -> None:
        self.monotonic, self.wall = 0.0, 1_000_000.0

    def pass_by(self, seconds: float) -> None:
        self.monotonic += seconds
        self.wall += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def store(folder: Path, clocks: Clocks, grace: float = 100) -> SecretStore:
    """A store that looks at the test's clocks."""
    return SecretStore(str(folder), grace, monotonic=lambda: clocks.monotonic, wall=lambda: clocks.wall)


def test_a_rotation_is_seen_after_a_second(tmp_path: Path, clocks: Clocks) -> None:
    write(tmp_path / "secret", ONE)
    secrets = store(tmp_path, clocks)
    assert secrets.current() == [ONE]
    write(tmp_path / "secret", TWO)
    clocks.pass_by(0.5)
    assert secrets.current() == [ONE], "the files are looked at once a second"
    clocks.pass_by(0.5)
    assert secrets.current() == [TWO] and secrets.problem is None


def test_the_previous_secret_is_good_for_its_grace(tmp_path: Path, clocks: Clocks) -> None:
    write(tmp_path / "secret", TWO)
    os.utime(write(tmp_path / "secret.previous", ONE), (clocks.wall, clocks.wall))
    secrets = store(tmp_path, clocks)
    assert secrets.current() == [TWO, ONE]
    clocks.pass_by(99)
    assert secrets.current() == [TWO, ONE]
    clocks.pass_by(1)
    assert secrets.current() == [TWO]


def test_a_previous_secret_that_is_removed_ends_at_once(tmp_path: Path, clocks: Clocks) -> None:
    write(tmp_path / "secret", TWO)
    os.utime(write(tmp_path / "secret.previous", ONE), (clocks.wall, clocks.wall))
    secrets = store(tmp_path, clocks)
    assert secrets.current() == [TWO, ONE]
    (tmp_path / "secret.previous").unlink()
    clocks.pass_by(1)
    assert secrets.current() == [TWO]


def test_a_previous_secret_that_others_can_read_is_not_accepted(tmp_path: Path, clocks: Clocks) -> None:
    write(tmp_path / "secret", TWO)
    os.utime(write(tmp_path / "secret.previous", ONE, 0o644), (clocks.wall, clocks.wall))
    secrets = store(tmp_path, clocks)
    assert secrets.current() == [TWO] and "secret.previous" in (secrets.problem or "")


def test_the_first_look_must_succeed(tmp_path: Path, clocks: Clocks) -> None:
    secrets = store(tmp_path, clocks)
    with pytest.raises(ConfigError, match="No such file"):
        secrets.current()
    write(tmp_path / "secret", ONE)
    assert secrets.current() == [ONE]


def test_a_slip_later_keeps_the_last_good_secret(tmp_path: Path, clocks: Clocks) -> None:
    write(tmp_path / "secret", ONE)
    secrets = store(tmp_path, clocks)
    secrets.current()
    (tmp_path / "secret").chmod(0o644)
    clocks.pass_by(1)
    assert secrets.current() == [ONE] and "mode 0644" in (secrets.problem or "")
    (tmp_path / "secret").chmod(0o600)
    clocks.pass_by(1)
    assert secrets.current() == [ONE] and secrets.problem is None
