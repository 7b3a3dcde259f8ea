"""What the verbs that talk to the gateway share: options, settings, address, request, output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .. import config
from ..launcher import address as addresses
from .options import Arguments, Option
from .project import here

PROJECT = Option("project", "project to use instead of this directory's", "NAME")
URL = Option("url", "address of the gateway (TELEBROWSER_URL)", "URL")
CONFIG_DIR = Option("config-dir", "folder of url, secret and tokens (TELEBROWSER_CONFIG_DIR)", "DIR")
JSON = Option("json", "print JSON")
GATEWAY_OPTIONS = (PROJECT, URL, CONFIG_DIR)
DATA_OPTIONS = (*GATEWAY_OPTIONS, JSON)


def settings_of(arguments: Arguments, *parts: str) -> config.Settings:
    """The settings of ``parts`` (default: the launcher's), with the options that were given."""
    return config.load(*(parts or (config.LAUNCHER,)), options=option_texts(arguments))


def option_texts(arguments: Arguments) -> Mapping[str, str]:
    """The options that are settings, under the names that `config.load` takes."""
    fields = {name.replace("-", "_"): value for name, value in arguments.values.items()}
    return {name: value for name, value in fields.items() if name in config.BY_FIELD and name != "project"}


def address_of(arguments: Arguments) -> addresses.Address:
    """The gateway and the token of this process's project. Raises `ConfigError`."""
    return addresses.find(settings_of(arguments), here(arguments))


def show(arguments: Arguments, data: Mapping[str, Any], text: str) -> None:
    """Print ``data`` when ``--json`` was given, else ``text``."""
    print(json.dumps(data, indent=2, ensure_ascii=False) if arguments.json else text)


def plain(value: object) -> str:
    """A value of an answer for a terminal: control characters cannot act on it."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))
