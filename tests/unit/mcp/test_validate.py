"""Arguments: an error names what is wrong and never repeats a secret text."""

from __future__ import annotations

from typing import Any

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.mcp.tools import BY_NAME
from telebrowser.mcp.validate import validated


def test_nulls_count_as_absent() -> None:
    assert validated(BY_NAME["browser_click"], {"ref": "e1", "selector": None}) == {"ref": "e1"}


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        ("browser_click", {"reff": "e1"}, "no argument reff; it takes ref"),
        ("browser_navigate", {}, "needs url"),
        ("browser_click", {"ref": 3}, "ref: 3 is not of type 'string'"),
        ("browser_click", {"ref": "e1", "timeout_ms": 0}, "timeout_ms"),
        ("browser_screenshot", {"quality": 101}, "quality"),
        ("browser_scroll", {"direction": "sideways"}, "direction"),
        ("browser_snapshot", {"max_items": 201}, "max_items"),
    ],
)
def test_the_message_names_the_argument(tool: str, args: dict[str, Any], said: str) -> None:
    with pytest.raises(TelebrowserError) as caught:
        validated(BY_NAME[tool], args)
    assert caught.value.code == "INVALID_ARGS"
    assert said in caught.value.message


@pytest.mark.parametrize("value", [123456789, ["hunter2-secret"], {"a": "hunter2-secret"}])
def test_a_text_is_never_repeated(value: Any) -> None:
    with pytest.raises(TelebrowserError) as caught:
        validated(BY_NAME["browser_type"], {"ref": "e1", "text": value})
    assert "123456789" not in caught.value.text()
    assert "hunter2" not in caught.value.text()
