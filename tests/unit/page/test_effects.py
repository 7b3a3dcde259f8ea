"""What an action caused: only what was seen is told, and waiting ends by event or by its bound."""

from __future__ import annotations

import asyncio

from telebrowser.page.deadline import Deadline
from telebrowser.page.effects import Watch, conclude, describe
from telebrowser.page.tab import Tab

TARGET = "T" * 32


def new_tab() -> Tab:
    tab = Tab(TARGET, "t1", queue_limit=8)
    tab.info_changed({"url": "http://a/", "title": "A"})
    return tab


async def test_nothing_begun_is_concluded_at_once_and_told_as_nothing() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        async with asyncio.timeout(1):
            await conclude(tab, watch, Deadline(60))
        assert describe(tab, watch) == {}


async def test_a_navigation_is_waited_for_until_it_commits() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        watch.requested = "http://a/next"
        concluding = asyncio.create_task(conclude(tab, watch, Deadline(60)))
        await asyncio.sleep(0)
        assert not concluding.done()
        tab._navigated({"frame": {"id": TARGET, "loaderId": "L", "url": "http://a/next", "mimeType": "text/html"}})
        tab._lifecycle({"frameId": TARGET, "loaderId": "L", "name": "DOMContentLoaded"})
        async with asyncio.timeout(5):
            await concluding
        assert describe(tab, watch)["navigated"]["url"] == "http://a/next"


async def test_a_navigation_that_does_not_arrive_is_not_called_navigated() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        watch.requested = "http://a/slow"
        await conclude(tab, watch, Deadline(0.1))
        told = describe(tab, watch)
        assert "navigated" not in told
        assert told["navigating"]["url"] == "http://a/slow"


async def test_until_ends_at_its_bound() -> None:
    assert await Watch().until(lambda: False, 0.05) is False


async def test_a_dialog_is_told_once() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        dialog = {"type": "alert", "message": "hi", "answered": "accepted"}
        tab.note("dialog", dialog)
        watch.dialogs.append(dialog)
        assert describe(tab, watch)["dialogs"] == [{"type": "alert", "message": "hi", "answered": "accepted"}]
    assert tab.pending_notes() == []


async def test_a_dialog_between_calls_is_told_by_the_next() -> None:
    tab = new_tab()
    tab.note("dialog", {"type": "alert", "message": "late", "answered": "accepted"})
    assert tab.pending_notes() == [{"dialog": {"type": "alert", "message": "late", "answered": "accepted"}}]
    assert tab.pending_notes() == []


async def test_a_request_that_ended_before_anybody_waited_may_still_become_a_download() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        tab._requested({"frameId": TARGET, "url": "http://a/file.bin", "disposition": "currentTab"})
        tab._stopped({"frameId": TARGET})
        concluding = asyncio.create_task(conclude(tab, watch, Deadline(60)))
        await asyncio.sleep(0)
        assert not concluding.done()
        watch.downloads.append({"name": "file.bin", "url": "http://a/file.bin", "state": "completed", "size": 4096, "path": "/d/file.bin"})
        watch.touch()
        async with asyncio.timeout(5):
            await concluding
        assert describe(tab, watch)["downloads"] == [
            {"name": "file.bin", "url": "http://a/file.bin", "state": "completed", "size": 4096, "path": "/d/file.bin"}
        ]


async def test_the_end_of_the_former_load_is_not_the_end_of_the_new_request() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        tab._stopped({"frameId": TARGET})
        tab._requested({"frameId": TARGET, "url": "http://a/next", "disposition": "currentTab"})
        assert watch.navigating


async def test_a_file_that_a_link_saves_is_waited_for_until_the_browser_tells_of_it() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        watch.saves = "http://a/file.bin"
        concluding = asyncio.create_task(conclude(tab, watch, Deadline(60)))
        await asyncio.sleep(0)
        assert not concluding.done()
        watch.downloads.append({"name": "file.bin", "url": "http://a/file.bin", "state": "completed", "size": 1, "path": ""})
        watch.touch()
        async with asyncio.timeout(5):
            await concluding
        assert "downloading" not in describe(tab, watch)


async def test_a_file_that_does_not_come_in_time_is_told() -> None:
    tab = new_tab()
    with tab.watch() as watch:
        watch.saves = "http://a/" + "x" * 1000
        await conclude(tab, watch, Deadline(0.1))
        told = describe(tab, watch)
        assert len(told["downloading"]["url"]) == 500 and "downloads" not in told
