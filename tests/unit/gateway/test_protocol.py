"""The description of CDP names what a client may call, and nothing else."""

from __future__ import annotations

import json

from telebrowser.gateway.domains import DENIED_DOMAINS
from telebrowser.gateway.methods import Verdict, rule
from telebrowser.gateway.protocol import Protocol, describe


async def test_only_what_may_be_called() -> None:
    described = json.loads(await Protocol().text())
    named = {f"{domain['domain']}.{command['name']}" for domain in described["domains"] for command in domain["commands"]}
    assert {"Page.navigate", "Runtime.evaluate", "Target.createTarget", "Browser.getVersion", "Storage.getCookies"} <= named
    assert not named & {"Browser.crash", "Target.exposeDevToolsProtocol", "Storage.clearCookies", "Memory.prepareForLeakDetection"}
    assert described["version"] == {"major": "1", "minor": "3"}
    assert not {domain["domain"] for domain in described["domains"]} & {*DENIED_DOMAINS}
    open_ = (Verdict.ALLOW, Verdict.OWN, Verdict.REWRITE, Verdict.EMULATE)
    assert all(rule(name, True).verdict in open_ or rule(name, False).verdict in open_ for name in named)


async def test_it_is_made_once() -> None:
    protocol = Protocol()
    assert await protocol.text() is await protocol.text()
    assert describe() == await protocol.text()
