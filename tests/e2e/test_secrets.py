"""Nothing secret is written, said, or passed on where others can read it, at the most talkative log level."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import SECRET, Stack, request, token

PROJECT = "secretive"
TYPED = "typed-pa55word-Zq9"
COOKIE = "cookie-va1ue-Xw7"


async def test_no_secret_anywhere(new_stack: Callable[..., Stack], pages: Pages, home: Path) -> None:
    stack = new_stack().start()
    page = pages.add(
        "secretive.html",
        "<title>s</title><input type=password id=p aria-label=Password value=s3cret-in-page><input id=u>",
        set_cookie=f"sid={COOKIE}; Max-Age=999",
    )
    client = await McpClient.start("mcp", "--project", PROJECT, env=stack.env(LOG_LEVEL="debug"), cwd=home)
    said = []
    try:
        said.append(await client.ok("browser_navigate", url=f"{page}?query-secret=qs5"))
        said.append(await client.ok("browser_type", selector="#p", text=TYPED))
        said.append(await client.ok("browser_type", selector="#u", text=TYPED + "-plain"))
        said.append(await client.ok("browser_snapshot", scope="#p"))
        said.append(await client.call("browser_click", selector="#missing", timeout_ms=200))
        said.append(await client.call("browser_navigate", url="file:///etc/shadow"))
        rows = proc.mentioning(str(stack.root))
        assert len(rows) >= 4, rows
        bearer = token(PROJECT).partition(".")[2]
        for row in rows:
            environment = proc.read_text(f"/proc/{row.pid}/environ")
            for secret in (SECRET, bearer):
                assert secret not in row.cmdline, row
                assert secret not in environment, row
    finally:
        await client.close()
    errors = [request(f"{stack.url}/t/{token(PROJECT)}/nothing"), request(f"{stack.url}/t/{token(PROJECT, 'a wrong secret, long')}/status")]
    assert stack.launcher("status", "--project", PROJECT, "--json").returncode == 0
    assert stack.launcher("stop", "--project", PROJECT).returncode == 0
    stack.stop()
    written = {"answers": " ".join(answer.text for answer in said), "stderr of the launcher": client.stderr}
    written["errors"] = " ".join(reply.body.decode() + str(reply.headers) for reply in errors)
    for path in [*stack.root.glob("*.out"), *(stack.data / "run").rglob("*"), *(stack.data / "audit").rglob("*")]:
        if path.is_file():
            written[str(path)] = path.read_text(errors="replace")
    assert any("audit" in name for name in written), "the audit is written"
    for name, text in written.items():
        for secret in (SECRET, bearer, TYPED, COOKIE, "s3cret-in-page"):
            assert secret not in text, (name, secret)
        assert not re.search(rf"/t/{PROJECT}\.[0-9a-f]", text), name
    for name, text in written.items():
        if "audit" in name or name.endswith((".log", ".out")):
            assert "query-secret" not in text, f"{name}: navigations are recorded by origin only"


def test_secrets_of_the_launcher_are_not_echoed(stack: Stack, home: Path) -> None:
    for arguments in (("status",), ("project",), ("config",), ("config", "--json"), ("doctor",)):
        done = stack.launcher(*arguments, "--project", PROJECT, env={"TELEBROWSER_SECRET": SECRET})
        assert SECRET not in done.stdout + done.stderr, arguments
        assert token(PROJECT).partition(".")[2] not in done.stdout + done.stderr, arguments
