"""Signed links for people: what each opens, until when, and that it opens once.

A token is sealed with a key of its own, which no agent host is ever given: the projects' secret would let every launcher
make links. Who holds a token of one purpose cannot use it for another. Links that are sent around open once; what they are
exchanged for is a cookie, which opens the same until it expires or its handoff ends.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import os
import secrets
import struct
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...datadir import read_json, write_json
from ...errors import ConfigError, TelebrowserError
from ...tokens import read_private_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

log = logging.getLogger(__name__)

KEY_FILE = "people.key"
KEY_BYTES = 32
NONCE_BYTES = 12
MAX_TOKEN = 512
LOGIN_SECONDS = 600.0
OPERATOR_SECONDS = 12 * 3600.0
_HEAD = struct.Struct(">d")


class Purpose(StrEnum):
    """What a token is for."""

    HANDOFF = "handoff"
    """A link to the page of one handoff; opens once. Subject: the handoff's id."""
    PAGE = "page"
    """The cookie that such a link is exchanged for."""
    LOGIN = "login"
    """An operator's link to the dashboard; opens once. Subject: who asked for it."""
    OPERATOR = "operator"
    """The cookie that such a link is exchanged for."""


ONCE = {Purpose.HANDOFF: Purpose.PAGE, Purpose.LOGIN: Purpose.OPERATOR}


class Claim(NamedTuple):
    """What a token says. ``who`` tells one holder from another; ``expires`` is in seconds since the epoch."""

    purpose: Purpose
    subject: str
    expires: float
    who: str


class Links:
    """Makes and checks tokens. ``folders`` are tried in turn for the key, which is made at the first use.

    ``ledger`` remembers which links have been opened, also over a restart.
    """

    def __init__(self, folders: tuple[Path, ...], ledger: Path, *, wall: Callable[[], float] = time.time) -> None:
        self._folders = folders
        self._ledger_file = ledger
        self._wall = wall
        self._cipher: ChaCha20Poly1305 | None = None
        self._key = b""
        self._opened: dict[str, float] | None = None

    def issue(self, purpose: Purpose, subject: str, expires: float) -> str:
        """A token, fit for an address or a cookie. Raises `ConfigError` when there is no key and none can be made."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = self._sealer().encrypt(nonce, _HEAD.pack(expires) + subject.encode(), purpose.encode())
        return base64.urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def verify(self, token: str, purpose: Purpose) -> Claim:
        """What the token says. It is not used up by this. Raises `TelebrowserError` FORBIDDEN, alike for every reason."""
        claim = self._read(token, purpose)
        if claim is None or claim.expires <= self._wall() or claim.who in self._ledger():
            raise forbidden()
        return claim

    def redeem(self, token: str, purpose: Purpose, *, seconds: float | None = None) -> str:
        """Exchange a link that opens once for its cookie, good for ``seconds`` (None: as long as the link was). Raises like `verify`."""
        claim = self.verify(token, purpose)
        expires = claim.expires if seconds is None else self._wall() + seconds
        opened = {who: until for who, until in self._ledger().items() if until > self._wall()} | {claim.who: claim.expires}
        try:
            write_json(self._ledger_file, opened)
        except OSError as error:
            # What cannot be remembered as opened could be opened again.
            raise TelebrowserError("INTERNAL", f"The link cannot be opened: {error.strerror}", "See gateway.log.") from None
        self._opened = opened
        return self.issue(ONCE[purpose], claim.subject, expires)

    def form_token(self, cookie: str) -> str:
        """What a form of the page with this cookie must send back, so that no other site's form can do it."""
        self._sealer()
        return hmac.digest(self._key, b"form:" + cookie.encode(), "sha256").hex()

    def check_form(self, cookie: str, given: str) -> None:
        """Raises `TelebrowserError` FORBIDDEN unless ``given`` is the cookie's `form_token`."""
        if not hmac.compare_digest(self.form_token(cookie).encode(), given.encode()):
            raise forbidden()

    def _read(self, token: str, purpose: Purpose) -> Claim | None:
        if not token.isascii() or len(token) > MAX_TOKEN:
            return None
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        # A second spelling of the same bytes would be a second link.
        if base64.urlsafe_b64encode(raw).decode().rstrip("=") != token or len(raw) <= NONCE_BYTES:
            return None
        from cryptography.exceptions import InvalidTag

        nonce = raw[:NONCE_BYTES]
        try:
            opened = self._sealer().decrypt(nonce, raw[NONCE_BYTES:], purpose.encode())
        except InvalidTag:
            return None
        (expires,) = _HEAD.unpack(opened[: _HEAD.size])
        return Claim(purpose, opened[_HEAD.size :].decode(), expires, nonce.hex())

    def _ledger(self) -> dict[str, float]:
        if self._opened is None:
            known = read_json(self._ledger_file) or {}
            self._opened = {who: float(until) for who, until in known.items() if isinstance(until, int | float)}
        return self._opened

    def _sealer(self) -> ChaCha20Poly1305:
        if self._cipher is None:
            # Thirty milliseconds that the gateway's start need not wait for.
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

            self._key = _key(self._folders)
            self._cipher = ChaCha20Poly1305(self._key)
        return self._cipher


def forbidden() -> TelebrowserError:
    """The one answer for a link that is forged, expired, revoked or opened before."""
    return TelebrowserError("FORBIDDEN", "This link is not valid, or no longer", "Ask for a new one: `telebrowser open`.")


def _key(folders: tuple[Path, ...]) -> bytes:
    """The key in the first folder that has one; else a new one in the first that takes it. Raises `ConfigError`."""
    for folder in folders:
        if os.path.lexists(folder / KEY_FILE):
            return _read_key(folder / KEY_FILE)
    trouble = "there is no folder for it"
    for folder in folders:
        try:
            return _make_key(folder / KEY_FILE)
        except OSError as error:
            trouble = f"{folder}: {error.strerror}"
    raise ConfigError(f"the key of the links for people cannot be made: {trouble}")


def _read_key(path: Path) -> bytes:
    key = read_private_file(str(path), "key of the links for people").strip()
    try:
        raw = bytes.fromhex(key.decode())
    except ValueError:
        raw = b""
    if len(raw) != KEY_BYTES:
        raise ConfigError(f"{path} holds no key: it must have {KEY_BYTES * 2} hexadecimal digits; remove it to have a new one made")
    return raw


def _make_key(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES).hex().encode() + b"\n")
        # Linked rather than renamed: of two that make one at the same time, the first one's stays.
        try:
            os.link(temporary, path)
        except FileExistsError:
            log.debug("another program made the key at the same time")
    finally:
        temporary.unlink()
    return _read_key(path)
