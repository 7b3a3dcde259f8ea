"""The tool list as a whole: its size, its words, its annotations."""

from __future__ import annotations

import json

import jsonschema
import pytest

from telebrowser.config import load
from telebrowser.mcp.calls import DATA, HANDLERS
from telebrowser.mcp.endpoint import wire_tool
from telebrowser.mcp.handoff import HANDOFF, STATUS
from telebrowser.mcp.tools import BY_NAME, TOOLS, ToolDefinition


def test_the_list_is_small() -> None:
    wire = [wire_tool(tool).model_dump(by_alias=True, exclude_none=True) for tool in TOOLS]
    assert len(json.dumps(wire)) <= 16 * 1024
    assert len(TOOLS) <= 28


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_is_well_formed(tool: ToolDefinition) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.schema())
    assert set(tool.required) <= set(tool.properties)
    assert {"timeout_ms", "wait_seconds"} & set(tool.properties), "each call has a deadline"
    assert not (tool.read_only and tool.destructive)
    assert tool.title
    assert tool.description.endswith(".")
    if tool.output is not None:
        jsonschema.Draft202012Validator.check_schema(tool.output)
        assert tool.output["type"] == "object"


def test_each_tool_has_a_handler() -> None:
    assert set(BY_NAME) - set(HANDLERS) - DATA == {"browser_tabs", "browser_screenshot", "browser_save", HANDOFF, STATUS}


def test_default_deadlines_fit_the_bound() -> None:
    most = load("engine", environ={}).max_timeout_ms
    assert all((tool.default_ms or 0) <= most for tool in TOOLS)
