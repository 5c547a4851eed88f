# SPDX-License-Identifier: Apache-2.0
"""Several users of the one Joulescope driver object that a process may have; and the
maker's own library, which runs here without an instrument, agrees with the simulated
one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from drivers.joulescope import driver as joulescope
from drivers.joulescope.driver import Joulescope
from drivers.joulescope.js110_log import Refusals
from drivers.joulescope.shared import Shared
from drivers.joulescope.sim.settings import JoulescopeFaults
from drivers.joulescope.sim.simulator import (
    JoulescopeSimulatorSettings,
    SimulatedDriver,
    SimulatedInstrument,
)
from rig.errors import BenchError, ConfigError, DeviceBusy, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.simulation.world import World
from rig.trace.trace import Trace
from tests.drivers.joulescope.test_driver import MODELS, Bench, opened, simulated

_IN_USE = (
    r"jsdrv_initialize failed 21 IN_USE \| The requested resource is currently in use"
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from opened(tmp_path)


@pytest.fixture
def vendor() -> Iterator[Callable[[], Any]]:
    """Yield what makes a driver object of the maker's."""
    yield pytest.importorskip("pyjoulescope_driver").Driver
    # Python keeps a foreign thread that has ended until its number is used again: other
    # tests count threads.
    for number, thread in list(threading._active.items()):
        if isinstance(thread, threading._DummyThread):
            del threading._active[number]


# --- One driver object


@pytest.mark.parametrize("kind", ["simulated", "real"])
def test_a_process_can_have_one_driver_object_at_a_time(
    kind: str, request: pytest.FixtureRequest
) -> None:
    make = SimulatedDriver if kind == "simulated" else request.getfixturevalue("vendor")
    for _ in range(2):
        driver = make()
        try:
            with pytest.raises(RuntimeError, match=_IN_USE):
                make()
        finally:
            driver.finalize()


def test_a_driver_object_is_made_by_the_first_and_finalized_by_the_last_of_many_threads():
    shared = Shared(SimulatedDriver)
    used = threading.Barrier(8)
    failed: list[BaseException] = []

    def use() -> None:
        try:
            for number in range(20):
                with shared.use() as driver:
                    assert driver.device_paths() == []
                if number % 5 == 0:
                    used.wait()
        except BaseException as error:
            failed.append(error)
            used.abort()

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    SimulatedDriver().finalize()


def test_a_driver_object_that_cannot_be_made_is_no_obstacle_for_the_next() -> None:
    shared = Shared(SimulatedDriver)
    driver = SimulatedDriver()
    with pytest.raises(RuntimeError, match=_IN_USE), shared.use():
        pytest.fail("there were two")
    driver.finalize()
    with shared.use() as made:
        assert made.device_paths() == []


def test_a_scan_beside_what_uses_the_driver_is_no_error(
    vendor: Callable[[], Any],
) -> None:
    with joulescope.VENDOR.use() as driver:
        seen = Joulescope.scan()
        assert [row.serial for row in seen] == [
            path.split("/")[-1] for path in driver.device_paths()
        ]


def test_a_driver_object_that_something_else_has_made_is_named(
    vendor: Callable[[], Any],
) -> None:
    driver = vendor()
    try:
        with pytest.raises(DeviceBusy, match="in use in this process") as caught:
            Joulescope.open(Joulescope.Settings(), BenchContext())
    finally:
        driver.finalize()
    assert (
        "IN_USE" in caught.value.evidence
        and "finalize" in caught.value.try_next
        and "USB" not in caught.value.try_next
    )
    with pytest.raises((DeviceNotFound, ConfigError)):
        Joulescope.open(Joulescope.Settings(device="000000"), BenchContext())


# --- Several instruments


@pytest.mark.parametrize("model", MODELS)
def test_two_instruments_of_one_process_record_at_once_and_one_may_go_first(
    bench: Bench, model: str
) -> None:
    item, other = (
        bench.open(model, simulator={"serials": (serial,)})
        for serial in ("000415", "000416")
    )
    for monitor in (item, other):
        monitor.power(True)
    folders = [bench.folder / "one", bench.folder / "other"]
    for folder in folders:
        folder.mkdir()
    with other.record(folders[1]):
        with item.record(folders[0]):
            bench.pulse(100)
        item.close()
        bench.pulse(100)
    traces = [Trace.open(folder / "trace.jls") for folder in folders]
    assert (
        [len(trace.falls_s) for trace in traces] == [1, 2]
        and not traces[0].gaps
        and not traces[1].gaps
    )


def test_two_simulated_instruments_of_the_same_name_are_refused(bench: Bench) -> None:
    bench.open()
    with pytest.raises(
        ConfigError, match="u/js220/000415 is simulated already"
    ) as caught:
        bench.open()
    assert caught.value.path == "monitor.joulescope.simulator.serials"


@pytest.mark.parametrize("model", MODELS)
def test_a_scan_leaves_alone_what_this_process_records_with(
    bench: Bench, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joulescope, "VENDOR", joulescope.SIMULATED)
    monitor = bench.open(model)
    beside = SimulatedInstrument(
        JoulescopeSimulatorSettings(model=model, serials=("000416",)), World()
    )
    monitor.power(True)
    with (
        joulescope.SIMULATED.use() as driver,
        driver.attached(beside),
        monitor.record(bench.folder),
    ):
        bench.pulse(100)
        rows = Joulescope.scan()
        bench.pulse(100)
    assert [(row.serial, row.problem) for row in rows] == [
        (
            "000415",
            f"the Joulescope u/{model}/000415 is in use: it is open in this process",
        ),
        ("000416", ""),
    ]
    assert len(bench.trace().falls_s) == 2 and not bench.trace().gaps
    monitor.close()
    assert Joulescope.scan() == [], "the desk is cleared"


def test_an_instrument_is_held_by_one_at_a_time() -> None:
    shared = Shared(SimulatedDriver)
    for _ in range(2):
        with (
            shared.hold("u/js220/1"),
            shared.hold("u/js220/2"),
            pytest.raises(DeviceBusy, match="u/js220/1 is in use"),
            shared.hold("u/js220/1"),
        ):
            pytest.fail("two hold it")


# --- State of the host, and its log

_OPTIONS = (
    '{"dtype": "u8", "brief": "b", "default": 2, "options": [[0, "off"], [1, "mean"], '
    '[2, "interp"], [3, "nan"]]}'
)


@pytest.fixture(params=["simulated", "real"])
def mute(request: pytest.FixtureRequest) -> Iterator[tuple[Any, str]]:
    """Yield a driver object and a path that does not acknowledge; the real one knows a
    topic of it, and has no instrument.
    """
    if request.param == "simulated":
        with simulated(
            model="js220", faults=JoulescopeFaults(refuse="s/i/range/mode")
        ) as (driver, path):
            driver.open(path, "restore")
            driver.log_level = "warning"
            yield driver, path
        return
    driver = request.getfixturevalue("vendor")()
    try:
        driver.log_level = "warning"
        path = "u/js110/000415"
        # Without a time limit, as it is not acknowledged; the next request comes after
        # it.
        driver.publish(f"{path}/s/i/range/mode$", _OPTIONS, timeout=0)
        yield driver, path
    finally:
        driver.log_level = "off"
        driver.finalize()


def test_the_host_keeps_topics_without_acknowledgement_and_does_not_send_them_again(
    mute: tuple[Any, str],
) -> None:
    driver, path = mute
    topic = f"{path}/s/i/range/mode"
    for value in (1, 2):
        with pytest.raises(TimeoutError, match="jsdrv_publish timed out"):
            driver.publish(topic, value, timeout=0.1)
        assert driver.query(topic) == value
        driver.publish(topic, value, timeout=0.1)


def test_that_the_log_was_heard_to_its_end_is_known_for_every_setting(
    mute: tuple[Any, str], caplog: pytest.LogCaptureFixture
) -> None:
    driver, path = mute
    refusals = Refusals(driver, path)
    logger = logging.getLogger("jsdrv")
    for number in range(50):
        line = (
            f"{'stream' if number % 2 else 'extio'}_settings_send "
            f"{'failed' if number % 3 else 'did not work'}"
        )
        assert refusals.after(partial(logger.warning, line)) == line
        assert (
            refusals.after(
                partial(logger.warning, "pkt_index skip: expected 1, received 2")
            )
            == ""
        )
    assert (
        not [message for message in caplog.messages if "heard" in message]
        and not logger.filters
    )


class LateLog(SimulatedDriver):
    """Its log has a slow thread of its own, as the real one may have: lines come
    together, in order, long after the answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self._late: list[str] = []

    def _log(self, message: str) -> None:
        self._late.append(message)
        if "validate failed" in message:
            for line in self._late:
                super()._log(line)
            self._late.clear()


def test_a_refusal_that_the_log_tells_late_is_heard(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joulescope, "SIMULATED", Shared(LateLog))
    with pytest.raises(BenchError, match="refuses s/extio/voltage") as caught:
        bench.open(
            "js110",
            faults=JoulescopeFaults(refuse="s/extio/voltage"),
            reference="1.8 V",
        )
    assert "extio_settings_send did not work" in caught.value.evidence
