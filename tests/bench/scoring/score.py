"""Runs the cases: a fresh browser and a fresh server for every cell."""

from __future__ import annotations

import time
import traceback
from typing import Any

from tests.cases.serve import CaseServer
from tests.support.chromium import Chromium
from tests.support.truth import Truth

from ..adapters import ADAPTERS
from ..places import Places
from . import clicks, events, fields, views
from .cell import WRONG, Cell, Decoder, Result
from .registry import CASES

MODULES = (clicks, events, fields, views)  # importing them registers their cases


async def run_cell(places: Places, key: str, name: str, base: str, decoder: Decoder) -> Result:
    """Score one server on one page; an error of the driver itself counts as a failed core part."""
    place = places.make(key)
    adapter = ADAPTERS[key](place)
    truth = await Truth.connect(place.ws)
    try:
        cell = Cell(name, adapter, truth, base, decoder)
        try:
            await adapter.start()
            await CASES[name](cell)
        except Exception as error:
            cell.fact(f"driver: {error!r}")
            cell.part("driver", False, core=True)
            cell.log.append(traceback.format_exc()[-1500:])
        return cell.result()
    finally:
        await adapter.close()
        await truth.close()
        places.drop(place)


async def score(keys: list[str], names: list[str], log: bool = False) -> dict[str, dict[str, Any]]:
    """Results by server and case; every case is run by all servers before the next."""
    results: dict[str, dict[str, Any]] = {key: {} for key in keys}
    with Places() as places, CaseServer() as server:
        helper = Chromium(places.root / "decoder")
        truth = await Truth.connect(helper.ws)
        decoder = Decoder(truth, (await truth.targets("page"))[0]["targetId"])
        try:
            for name in names:
                for key in keys:
                    began = time.monotonic()
                    try:
                        result = await run_cell(places, key, name, server.url, decoder)
                    except Exception as error:
                        result = Result(WRONG, 0, 1, None, 0, failed=[f"start: {error!r}"])
                    results[key][name] = result.as_dict()
                    seconds = time.monotonic() - began
                    print(f"{name:26} {key:10} {result.verdict:2} {result.ok}/{result.parts} {result.ms} ms ({seconds:.0f} s) {result.failed}", flush=True)
                    if log:
                        print("\n".join(f"    {line}" for line in [result.answer, result.facts, *result.log]), flush=True)
        finally:
            await truth.close()
            helper.close()
    return results
