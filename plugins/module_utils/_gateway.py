# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway's HTTP paths, as the modules use them. **Private** to the collection."""

from __future__ import annotations

import json
import socket
from typing import Any, Dict, List, Optional
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from ansible.module_utils.urls import open_url

MAX_ANSWER = 1 << 22

# As the documentation fragment `gateway` describes them.
GATEWAY_OPTIONS: Dict[str, Dict[str, Any]] = {
    "url": {"type": "str", "default": "http://127.0.0.1:5858"},
    "timeout": {"type": "int", "default": 90},
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
}


class GatewayError(Exception):
    """One line for the operator; it never holds a token, so never the address that was asked for."""


class Unreachable(GatewayError):
    """Nothing listens there, or the connection broke: no gateway runs at this address."""


class Refused(GatewayError):
    """The gateway answered with an error; ``status`` is that of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Gateway:
    """The gateway at ``url``."""

    def __init__(self, url: str, timeout: float, validate_certs: bool = True, ca_path: Optional[str] = None) -> None:
        self.url = check_url(url)
        self.timeout = timeout
        self.validate_certs = validate_certs
        self.ca_path = ca_path

    @classmethod
    def of(cls, params: Dict[str, Any]) -> Gateway:
        """The one that a module's parameters of `GATEWAY_OPTIONS` name. Raises `GatewayError`."""
        return cls(params["url"], params["timeout"], params["validate_certs"], params["ca_path"])

    def health(self) -> Dict[str, Any]:
        """The answer of ``/healthz``; no token is needed."""
        return self._call("GET", "/healthz")

    def status(self, token: str) -> Dict[str, Any]:
        """The status document of the token's project."""
        return self._call("GET", "/t/%s/status" % token)

    def wipe(self, token: str) -> Dict[str, Any]:
        """Stop the browser and delete what it kept. While that lasts, the gateway does not start it."""
        return self._call("POST", "/t/%s/wipe" % token)

    def start(self, token: str) -> Dict[str, Any]:
        """Start the browser and wait until it answers, also after crashes."""
        return self._call("POST", "/t/%s/start" % token)

    def stop(self, token: str) -> Dict[str, Any]:
        """Stop the browser and wait for its end."""
        return self._call("POST", "/t/%s/stop" % token)

    def _call(self, method: str, path: str) -> Dict[str, Any]:
        try:
            # Neither a proxy nor the target of a redirect may see the token in the address.
            answer = open_url(
                self.url + path,
                method=method,
                timeout=self.timeout,
                use_proxy=False,
                follow_redirects="none",
                validate_certs=self.validate_certs,
                ca_path=self.ca_path,
                http_agent="telebrowser-ansible",
            )
            body = answer.read(MAX_ANSWER)
        except HTTPError as error:
            raise Refused(explain(error.code, _read(error), self.url), error.code) from None
        except (URLError, OSError, EOFError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, (socket.timeout, TimeoutError)):
                raise GatewayError("the gateway at %s did not answer within %d s; see its log" % (self.url, self.timeout)) from None
            text = getattr(reason, "strerror", None) or type(reason).__name__
            raise Unreachable("the gateway at %s does not answer (%s); start it, or correct the address" % (self.url, text)) from None
        except Exception as error:  # open_url has errors of its own, of TLS for one, that share no base
            raise GatewayError("the gateway at %s cannot be used: %s" % (self.url, type(error).__name__)) from None
        try:
            value = json.loads(body.decode("utf-8"))
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise GatewayError("what answers at %s is not telebrowser's gateway; correct the address" % self.url)
        return value


def _read(error: HTTPError) -> bytes:
    try:
        return error.read(MAX_ANSWER)
    except (OSError, ValueError, AttributeError):
        return b""


def check_url(url: str) -> str:
    """``url`` without a trailing slash. Raises `GatewayError` when it is not the address of a gateway."""
    problem = "%r is not the address of a gateway; it looks like http://127.0.0.1:5858" % url
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        raise GatewayError(problem) from None
    if not usable:
        raise GatewayError(problem)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise GatewayError("the address of a gateway has no user name, query or fragment")
    return url.rstrip("/")


def explain(status: int, body: bytes, url: str) -> str:
    """An error answer as one line."""
    if status == 403:
        return "the gateway at %s does not accept the token: its secret is another one, or the grace of a rotation is over" % url
    try:
        error = json.loads(body.decode("utf-8"))["error"]
        message = "%s: %s" % (error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        return "what answers at %s is not telebrowser's gateway (HTTP %d); correct the address" % (url, status)
    return "the gateway at %s refused: %s" % (url, " ".join(message.split()))


def reasons_to_wait(status: Dict[str, Any]) -> List[str]:
    """Why a browser must not be stopped now: what agents and people do with it."""
    reasons = []
    sessions = status.get("sessions") or []
    if sessions:
        reasons.append("%d session%s of agents" % (len(sessions), "" if len(sessions) == 1 else "s"))
    if status.get("hold_until"):
        reasons.append("a hold until %s" % status["hold_until"])
    handoffs = [entry for entry in status.get("handoffs") or [] if not isinstance(entry, dict) or entry.get("state", "open") == "open"]
    if handoffs:
        reasons.append("%d open handoff%s to a person" % (len(handoffs), "" if len(handoffs) == 1 else "s"))
    return reasons
