# SPDX-License-Identifier: Apache-2.0
"""The maker's own command line tools run on the simulated Joulescopes, so that what our
driver and our simulator both misunderstand shows.

Real: `python -m pyjoulescope_driver`, its Record and its JLS writer. Simulated: the
Driver object below them, and so the maker's C library and USB. Their time is the
world's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyjls
import pytest
from packaging.version import Version

from drivers.joulescope.sim.simulator import JoulescopeSimulatorSettings
from rig.simulation.world import NS_PER_S, World
from tests.stand_ins.joulescope import DeskDriver, DeskInstrument

tools = pytest.importorskip("pyjoulescope_driver.__main__")
MS = NS_PER_S // 1000
SERIALS = {"js220": "000415", "js110": "000732", "js320": "8W2A"}


class Desk(DeskDriver):
    """A driver object as the tools make one, with an instrument attached already, and
    the calls that the tools of 2.5 add to those of 2.2.
    """

    def __init__(self, instrument: DeskInstrument) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._stack.enter_context(self.attached(instrument))

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        for path in self.device_paths():
            if self.query(f"{path}/h/state") == 3:
                self.close(path)
        self._stack.close()
        self.finalize()

    def device_paths(
        self, specs: Any = None, brand: str = "", timeout: Any = None
    ) -> list[str]:
        paths = super().device_paths()
        try:
            from pyjoulescope_driver.device_path import DevicePath
        except ImportError:
            return paths
        return [DevicePath(path) for path in paths]

    find_devices = device_paths

    def find_one_device(self, specs: Any = None, brand: str = "") -> str:
        [path] = self.device_paths()
        return path

    def subscribe(self, topic: str, flags: Any, fn: Any, timeout: Any = None) -> Any:
        super().subscribe(topic, flags, fn, timeout)
        return subscription(lambda: self.unsubscribe(topic, fn))


class subscription:  # noqa: N801
    """As of 2.5: ends by itself."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.unsubscribe = end

    def __enter__(self) -> subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.unsubscribe()


def quiet(model: str) -> JoulescopeSimulatorSettings:
    return JoulescopeSimulatorSettings(
        model=model,
        serials=(SERIALS[model],),
        clock_ppm=0.0,
        noise_a=0.0,
        vref_wired=True,
    )


def drawing() -> World:
    """Return a world whose DUT draws 33 mW; SYNC is low from 100 to 150 ms and from 200
    to 230 ms, where it draws 66 mW.
    """
    world = World()
    world.put(0, True, 0.033)
    for start_ms, stop_ms in ((100, 150), (200, 230)):
        world.put(start_ms * MS, False, 0.066)
        world.put(stop_ms * MS, True, 0.033)
    return world


@pytest.fixture
def tool(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """Yield a function that runs a tool at a simulated instrument, and returns its
    output.
    """
    from pyjoulescope_driver import entry_points

    def run(model: str, *words: str) -> str:
        world = drawing()
        settings = quiet(model)
        clock = SimpleNamespace(
            sleep=lambda time_s: world.advance(round(time_s * NS_PER_S)),
            time=lambda: world.now_ns() / NS_PER_S,
        )
        for entry in entry_points.__all__:
            if hasattr(entry, "Driver"):
                make = lambda: Desk(DeskInstrument(settings, world))  # noqa: E731
                monkeypatch.setattr(entry, "Driver", make)
            if hasattr(entry, "time"):
                monkeypatch.setattr(entry, "time", clock)
        code = tools.run([*words])
        assert not code
        return capsys.readouterr().out

    yield run


def numbers(text: str) -> dict[str, float]:
    """Return `name=number unit` of each line."""
    return {
        name: float(value) for name, value in re.findall(r"(\w+)=(\S+) [AJCWs]\b", text)
    }


def test_scan_lists_the_simulated_instrument(tool: Callable[..., str]) -> None:
    assert tool("js220", "scan").split() == ["u/js220/000415"]


@pytest.mark.parametrize(
    ("model", "more"), [("js220", []), ("js110", ["--js110_host"])]
)
def test_statistics_are_those_of_what_the_dut_draws(
    tool: Callable[..., str], model: str, more: list[str]
) -> None:
    head, *rows = tool(
        model, "statistics", "--frequency", "20", "--duration", "0.32", *more
    ).splitlines()
    names = head.removeprefix("#").split(",")
    table = [dict(zip(names, row.split(","), strict=True)) for row in rows]
    assert [row["device"] for row in table] == [f"u/{model}/{SERIALS[model]}"] * 6
    ids = np.array([int(row["sampled_id"]) for row in table])
    assert set(np.diff(ids)) == {100_000}, "ids count half microseconds"
    assert [float(row["v_avg"]) for row in table] == pytest.approx([3.3] * 6, rel=1e-3)
    # The blocks of 50 ms begin some samples after the time 0.
    expected_w = [0.033, 0.033, 0.066, 0.033, 0.033 * 1.6, 0.033]
    assert [float(row["p_avg"]) for row in table] == pytest.approx(expected_w, rel=2e-2)
    energy_j = [float(row["energy"]) for row in table]
    assert energy_j == pytest.approx(np.cumsum(expected_w) * 0.05, rel=1e-2)


def test_measure_gives_the_energy_and_the_charge(tool: Callable[..., str]) -> None:
    reported = numbers(tool("js220", "measure", "--duration", "1", "--no-progress"))
    # The first block of 100 ms is where it begins to count.
    assert reported["duration"] == 1.0
    assert reported["energy"] == pytest.approx(0.033 * 1.0 + 0.033 * 0.08, rel=1e-3)
    assert reported["charge"] == pytest.approx(reported["energy"] / 3.3, rel=1e-6)


@pytest.mark.parametrize("model", ["js220", "js110"])
def test_gpi_reads_the_level_of_sync(tool: Callable[..., str], model: str) -> None:
    assert tool(model, "gpi").split() == [f"u/{model}/{SERIALS[model]}:", "0x00000001"]


@pytest.mark.parametrize("model", ["js220", "js110", "js320"])
def test_a_recording_of_the_makers_holds_what_happened(
    tool: Callable[..., str], tmp_path: Path, model: str
) -> None:
    path = tmp_path / "maker.jls"
    sets = {
        "js110": ["--set", "s/i/lsb_src=gpi0"],
        # The tool of 2.2 knows no other model that is to be switched on.
        "js320": ["--set", "s/i/range/mode=auto"],
    }.get(model, [])
    words = ["--duration", "0.4", "--signals", "i,v,p,0", *sets, str(path)]
    tool(model, "record", *words)
    with pyjls.Reader(str(path)) as reader:
        signals = {each.name: each for each in reader.signals.values()}
        level = signals["gpi[0]"]
        bits = np.unpackbits(
            reader.fsr(level.signal_id, 0, level.length), bitorder="little"
        ).astype(np.int8)
        power = signals["power"]
        power_w = reader.fsr(power.signal_id, 0, power.length)
        first_s = {
            name: signals[name].sample_id_offset / signals[name].sample_rate
            for name in ("gpi[0]", "power")
        }
    edges_s = np.flatnonzero(np.diff(bits)) / level.sample_rate
    assert np.diff(edges_s) == pytest.approx([0.05, 0.05, 0.03], abs=2e-6)
    # The DUT's current rises with the falling edge.
    at = (edges_s[0] + first_s["gpi[0]"] - first_s["power"]) * power.sample_rate
    rises = np.flatnonzero(power_w > 0.05)
    assert rises[0] == pytest.approx(at, abs=3)
    energy_j = float(np.nansum(power_w)) / power.sample_rate
    assert energy_j == pytest.approx(
        0.033 * len(power_w) / power.sample_rate + 0.033 * 0.08, rel=1e-3
    )


def test_the_calls_of_gpi_region_give_the_means_of_each_region() -> None:
    """What bin/gpi_region.py of jetperch/pyjoulescope_examples calls (it is in no
    package): all settings and streams without waiting, from the host's default mode,
    and regions by `sample_id` and `decimate_factor` alone.
    """
    world = drawing()
    blocks: dict[str, list[Any]] = {"i": [], "v": [], "p": [], "0": []}

    def on_data(topic: str, value: Any) -> None:
        blocks[topic.split("/")[-2]].append(value)

    with Desk(DeskInstrument(quiet("js220"), world)) as jsdrv:
        jsdrv.log_level = "WARNING"
        [path] = sorted(jsdrv.device_paths())
        jsdrv.open(path, mode="defaults")
        jsdrv.publish(f"{path}/s/i/range/mode", "auto", timeout=0)
        jsdrv.publish(f"{path}/s/v/range/mode", "auto", timeout=0)
        jsdrv.publish(f"{path}/c/gpio/vref", "external", timeout=0)
        for each in ("i", "v", "p", "gpi/0"):
            jsdrv.subscribe(f"{path}/s/{each}/!data", ["pub"], on_data, timeout=0)
            jsdrv.publish(f"{path}/s/{each}/ctrl", 1, timeout=0)
        world.advance(400 * MS)
        for each in ("i", "v", "p", "gpi/0"):
            jsdrv.unsubscribe(f"{path}/s/{each}/!data", on_data, timeout=0)
            jsdrv.publish(f"{path}/s/{each}/ctrl", 0, timeout=None)
        jsdrv.close(path)
    line = np.concatenate(
        [np.unpackbits(each["data"], bitorder="little") for each in blocks["0"]]
    )
    edges = (
        blocks["0"][0]["sample_id"] + 1 + np.flatnonzero(np.diff(line.astype(np.int8)))
    )
    assert np.diff(edges) == pytest.approx([100_000, 100_000, 60_000], abs=1)
    for name, low, high in (("i", 0.02, 0.01), ("v", 3.3, 3.3), ("p", 0.066, 0.033)):
        first = blocks[name][0]["sample_id"]
        factor = blocks[name][0]["decimate_factor"]
        samples = np.concatenate([each["data"] for each in blocks[name]])
        cut = np.split(samples, (edges - first) // factor)
        means = [float(part[2:-2].mean()) for part in cut]
        assert means == pytest.approx([high, low, high, low, high], rel=1e-5)


def test_measure_of_2_2_refuses_a_js110_as_it_does_a_real_one(
    tool: Callable[..., str],
) -> None:
    """CHANGELOG of joulescope_driver, 2.5.3: "always exited with PARAMETER_INVALID"."""
    words = ("js110", "measure", "--duration", "1", "--no-progress")
    if Version(version("pyjoulescope_driver")) < Version("2.5.3"):
        with pytest.raises(RuntimeError, match="PARAMETER_INVALID"):
            tool(*words)
    else:
        assert numbers(tool(*words))["energy"] == pytest.approx(0.033 * 1.08, rel=1e-2)


def test_info_tells_the_versions(tool: Callable[..., str]) -> None:
    reported = tool("js220", "info")
    assert "u/js220/000415: hw=1.0.0, fw=1.3.0" in reported, reported
