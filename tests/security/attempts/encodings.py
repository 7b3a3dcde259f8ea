"""Calls written in ways that a careless reader takes for something else."""

from __future__ import annotations

import json

from tests.security.arena import Arena, Attacker
from tests.support.truth import Truth

from .registry import Run, add, attempt

RAW: dict[str, str | bytes] = {
    "an escaped key": '{"id":5,"m\\u0065thod":"SystemInfo.getProcessInfo"}',
    "an escaped method": '{"id":5,"method":"SystemInfo.getPro\\u0063essInfo"}',
    "an escaped session": '{"id":5,"method":"SystemInfo.getProcessInfo","s\\u0065ssionId":""}',
    "all keys escaped": '{"\\u0069\\u0064":5,"\\u006dethod":"SystemInfo.getInfo"}',
    "another order": '{"params":{},"sessionId":"","method":"SystemInfo.getInfo","id":5}',
    "an empty session": '{"id":5,"method":"SystemInfo.getInfo","sessionId":""}',
    "no params": '{"id":5,"method":"SystemInfo.getInfo"}',
    "blanks everywhere": ' \n\t{ "id" : 5 , "method" :\r\n "SystemInfo.getProcessInfo" } \n',
    "a zero with an exponent": '{"id":5e0,"method":"SystemInfo.getInfo"}',
    "a large id": '{"id":2147483647,"method":"SystemInfo.getInfo"}',
    "an extra root's worth of keys": '{"id":5,"method":"SystemInfo.getProcessInfo","params":{"sessionId":"x","method":"Page.enable","id":1}}',
    "the method twice, the harmless one first": '{"id":5,"method":"Browser.getVersion","method":"SystemInfo.getProcessInfo"}',
    "the method twice, the harmless one last": '{"id":5,"method":"SystemInfo.getProcessInfo","method":"Browser.getVersion"}',
    "the method twice, once escaped": '{"id":5,"method":"Browser.getVersion","m\\u0065thod":"SystemInfo.getProcessInfo"}',
    "params twice": '{"id":5,"method":"Target.createTarget","params":{"url":"about:blank"},"params":{"url":"chrome://version"}}',
    "the address twice": '{"id":5,"method":"Target.createTarget","params":{"url":"about:blank","url":"chrome://version"}}',
    "the address twice, once escaped": '{"id":5,"method":"Target.createTarget","params":{"url":"about:blank","\\u0075rl":"chrome://version"}}',
    "an escaped address": '{"id":5,"method":"Target.createTarget","params":{"url":"\\u0063hrome://version"}}',
    "an address with a line end": '{"id":5,"method":"Target.createTarget","params":{"url":"chr\\nome://version"}}',
    "a NUL and a second message": b'{"id":5,"method":"Browser.getVersion"}\0{"id":6,"method":"SystemInfo.getProcessInfo"}',
    "a NUL inside params": b'{"id":5,"method":"Browser.getVersion","params":{"a":"\0{\\"id\\":6,\\"method\\":\\"SystemInfo.getProcessInfo\\"}\0"}}',
    "an escaped NUL": '{"id":5,"method":"Browser.getVersion","params":{"a":"\\u0000{\\"id\\":6,\\"method\\":\\"SystemInfo.getProcessInfo\\"}\\u0000"}}',
    "two messages in one": '{"id":5,"method":"Browser.getVersion"}{"id":6,"method":"SystemInfo.getProcessInfo"}',
    "two lines in one": '{"id":5,"method":"Browser.getVersion"}\n{"id":6,"method":"SystemInfo.getProcessInfo"}',
    "a list of calls": '[{"id":5,"method":"SystemInfo.getProcessInfo"}]',
    "a string of a call": json.dumps('{"id":5,"method":"SystemInfo.getProcessInfo"}'),
    "a call in a string of a call": json.dumps(
        {"id": 5, "method": "Target.sendMessageToTarget", "params": {"message": '{"id":6,"method":"SystemInfo.getProcessInfo"}'}}
    ),
    "a comment": '{"id":5,/* harmless */"method":"SystemInfo.getProcessInfo"}',
    "a byte order mark": b'\xef\xbb\xbf{"id":5,"method":"SystemInfo.getProcessInfo"}',
    "UTF-16": '{"id":5,"method":"SystemInfo.getProcessInfo"}'.encode("utf-16"),
    "bytes that are no text": b'{"id":5,"method":"SystemInfo.getProcessInfo","params":{"a":"\xff\xfe"}}',
    "half a surrogate": '{"id":5,"method":"SystemInfo.getProcessInfo\\ud800"}',
    "deep nesting": '{"id":5,"method":"SystemInfo.getProcessInfo","params":{"a":' + "[" * 5000 + "]" * 5000 + "}}",
    "an unknown key": '{"id":5,"method":"SystemInfo.getInfo","extra":1}',
    "a negative id": '{"id":-5,"method":"SystemInfo.getInfo"}',
    "an id of 2 to the 31": '{"id":2147483648,"method":"SystemInfo.getInfo"}',
    "an id of 2 to the 64": '{"id":18446744073709551616,"method":"SystemInfo.getInfo"}',
    "a fraction for an id": '{"id":5.5,"method":"SystemInfo.getInfo"}',
    "a string for an id": '{"id":"5","method":"SystemInfo.getInfo"}',
    "true for an id": '{"id":true,"method":"SystemInfo.getInfo"}',
    "null for an id": '{"id":null,"method":"SystemInfo.getInfo"}',
    "no id": '{"method":"SystemInfo.getInfo"}',
    "null for a session": '{"id":5,"method":"SystemInfo.getInfo","sessionId":null}',
    "a number for a session": '{"id":5,"method":"SystemInfo.getInfo","sessionId":0}',
    "a blank for a session": '{"id":5,"method":"SystemInfo.getInfo","sessionId":" "}',
    "a list for params": '{"id":5,"method":"SystemInfo.getInfo","params":[]}',
    "a method with a blank": '{"id":5,"method":"SystemInfo.getProcessInfo "}',
    "a method with a NUL": '{"id":5,"method":"SystemInfo.getProcessInfo\\u0000"}',
    "a method in capitals": '{"id":5,"method":"systeminfo.GetInfo"}',
    "a method of many letters": json.dumps({"id": 5, "method": "Memory." + "x" * 100000}),
    "a quote in a method": json.dumps({"id": 5, "method": 'Page.enable","method":"SystemInfo.getProcessInfo'}),
    "a quote in a session": json.dumps({"id": 5, "method": "Browser.getVersion", "sessionId": '","method":"SystemInfo.getProcessInfo'}),
}

GIVEN_ANYWAY = ("an escaped NUL", "the method twice, the harmless one last")
"""Harmless calls whose answer is the client's right."""


def sends(name: str, text: str | bytes) -> Run:
    """The text gets an error, and nothing happens."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        ident = 2147483647 if "large" in name else 5
        answer = await attacker.raw(text, ident)
        assert "error" in answer or name in GIVEN_ANYWAY, f"{name}: {str(answer)[:300]}"

    return run


for _name, _text in RAW.items():
    add(f"written with {_name}", sends(_name, _text))


@attempt("a reply that is somebody else's by its id")
async def _foreign_reply(arena: Arena, attacker: Attacker) -> None:
    """Ids are each client's own: equal ones in flight do not get mixed up."""
    victim = arena.victim
    slow = {"expression": f"new Promise(done=>setTimeout(()=>done('{victim.mark}'),200))", "awaitPromise": True}
    text = json.dumps({"id": 77, "method": "Runtime.evaluate", "params": slow, "sessionId": victim.session})
    await victim.truth.raw(text)
    answer = await attacker.raw('{"id":77,"method":"Browser.getVersion"}', 77)
    assert "product" in answer["result"]
    assert isinstance(victim.truth, Truth)
