"""The modules derive tokens by code of their own, since it must run on Python 3.8. It is the same code in all that it does."""

from __future__ import annotations

import importlib.util
import random
import sys
from types import ModuleType
from typing import Any

import pytest

from .support import TOP, load

sys.path.insert(0, str(TOP / "files" / "telebrowser" / "src"))

from telebrowser import config, project, tokens
from telebrowser.errors import ConfigError
from telebrowser.launcher import address


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"module_utils{name}", TOP / "plugins" / "module_utils" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ours = _load("_tokens")
SECRET = b"5ec7e75ec7e75ec7e75ec7e75ec7e75e"
ALPHABET = "aZ09._-/ \\\n\0é١中"


def names() -> list[str]:
    """Names of all kinds, the same in every run."""
    source = random.Random(1)
    picked = ["".join(source.choice(ALPHABET) for _ in range(source.randint(0, 70))) for _ in range(3000)]
    plain = ["".join(source.choice("aZ09._-") for _ in range(source.randint(1, 70))) for _ in range(3000)]
    return [*picked, *plain, "", "scratch", "x" * 64, "x" * 65, "..", "."]


def test_the_same_names_are_projects() -> None:
    found = {name: (ours.is_valid(name), project.is_valid(name)) for name in names()}
    assert [name for name, (left, right) in found.items() if left != right] == []
    assert {left for left, _ in found.values()} == {True, False}


def test_the_same_tokens() -> None:
    valid = [name for name in names() if project.is_valid(name)]
    assert len(valid) > 500
    for name in valid:
        token = ours.derive(SECRET, name)
        assert token == tokens.derive(SECRET, name)
        assert tokens.verify(token, [SECRET]) == name == ours.project_of(token)


@pytest.mark.parametrize("name", ["", "..", "a/b", "x" * 65, "é"])
def test_neither_derives_for_what_is_no_project(name: str) -> None:
    with pytest.raises(ours.TokenError):
        ours.derive(SECRET, name)
    with pytest.raises(ValueError, match="not a project name"):
        tokens.derive(SECRET, name)


@pytest.mark.parametrize("secret", [b"", b"\n", b"x" * 15, b"x" * 16, b"x" * 16 + b"\r\n", b"x" * 4096, b"x" * 4097, b" " * 16])
def test_the_same_secrets(secret: bytes) -> None:
    def answer(check: Any, error: type[Exception]) -> Any:
        try:
            return check(secret, "it")
        except error as found:
            return str(found)

    assert answer(ours.check_secret, ours.TokenError) == answer(tokens.check_secret, ConfigError)


def test_the_same_names_and_numbers() -> None:
    assert project.SCRATCH == ours.SCRATCH
    assert (ours.MIN_SECRET_BYTES, ours.MAX_SECRET_BYTES, ours.DIGEST_LENGTH) == (tokens.MIN_SECRET_BYTES, tokens.MAX_SECRET_BYTES, tokens.DIGEST_LENGTH)
    source = (TOP / "plugins" / "modules" / "secret.py").read_text(encoding="utf-8")
    grace = config.BY_FIELD["secret_grace"]
    assert f'SECRET = "{tokens.SECRET}"\nPREVIOUS = "{tokens.PREVIOUS}"\nMAX_GRACE = {grace.high}\n' in source
    assert f'"grace": {{"type": "int", "default": {grace.default}}}' in source


def test_the_same_address() -> None:
    fragment = (TOP / "plugins" / "doc_fragments" / "gateway.py").read_text(encoding="utf-8")
    assert f"default: {address.DEFAULT_URL}\n" in fragment
    assert load(TOP / "galaxy.yml")["name"] == "telebrowser"
