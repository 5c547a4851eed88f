# SPDX-License-Identifier: Apache-2.0
"""The program that test_driver_usb.py runs in a process with a simulated instrument on its
USB: our driver, or the driver object below it. Writes JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from drivers.joulescope.driver import Joulescope
from rig.errors import BenchError
from rig.interfaces.context import BenchContext
from rig.trace.trace import Trace

_LIMIT_S = 10.0


def record(folder: Path, duration_s: float) -> None:
    """Record with our driver; tell edges and gaps, or its error, before it closes."""
    monitor = Joulescope.open(Joulescope.Settings(), BenchContext())
    try:
        monitor.power(True)
        with monitor.record(folder) as recording:
            end_s = time.monotonic() + duration_s
            while time.monotonic() < end_s:
                threading.Event().wait(0.05)
                recording.check()
        tell(_recorded(folder))
    except BenchError as error:
        tell({"cause": error.cause, "evidence": error.evidence})
    finally:
        monitor.close()


def _recorded(folder: Path) -> dict[str, Any]:
    trace = Trace.open(folder / "trace.jls")
    windows_s = [(fall_s + 0.002, fall_s + 0.052) for fall_s in trace.falls_s.tolist()]
    whole_s = next(window for window in windows_s if trace.gap_between(*window) is None)
    return {
        "falls_s": trace.falls_s.tolist(),
        "gaps": [[gap.start, gap.stop, gap.cause] for gap in trace.gaps],
        "mean_w": trace.mean_w(*whole_s),
        "said": json.loads((folder / "recording.json").read_text()),
    }


def tell(told: dict[str, Any]) -> None:
    json.dump(told, sys.stdout)
    sys.stdout.flush()


def said(driver: Any, pace: Any = time.sleep) -> dict[str, Any]:
    """Return a driver object's description of its only instrument: form of its values,
    options of its settings, and its errors.
    """
    [path] = driver.device_paths()
    js110 = "/js110/" in path
    streams = ("s/i", "s/v", "s/p", "s/gpi/0", *(("s/stats",) if js110 else ()))
    reported: dict[str, Any] = {"path": str(path)}
    heard: dict[str, Any] = {}
    options: dict[str, Any] = {}

    def on_value(topic: str, value: Any) -> None:
        heard.setdefault(topic.removeprefix(f"{path}/"), []).append(value)

    def on_metadata(topic: str, value: Any) -> None:
        options[topic.removeprefix(f"{path}/").removesuffix("$")] = value.get("options")

    driver.open(path, "restore")
    driver.subscribe(path, "metadata_rsp_retain", on_metadata)
    driver.unsubscribe(path, on_metadata)
    driver.subscribe(path, "pub", on_value)
    driver.publish(f"{path}/s/stats/scnt", 100_000, timeout=_LIMIT_S)
    for name in streams:
        driver.publish(f"{path}/{name}/ctrl", "on", timeout=_LIMIT_S)
    values = [f"{name}/{'value' if name == 's/stats' else '!data'}" for name in streams]
    end_s = time.monotonic() + _LIMIT_S
    while (
        min(len(heard.get(each, [])) for each in values) < 3
        and time.monotonic() < end_s
    ):
        pace(0.02)
    reported["on"] = driver.query(f"{path}/s/i/ctrl")
    for name in streams:
        driver.publish(f"{path}/{name}/ctrl", 0, timeout=_LIMIT_S)
    reported["gpi"] = driver.publish_and_wait(
        f"{path}/s/gpi/+/!req", 0, f"{path}/s/gpi/+/!value", timeout=_LIMIT_S
    )
    reported["forms"] = {each: _form(heard[each][1]) for each in values}
    reported["sizes"] = {each: len(heard[each][1].get("data", [])) for each in values}
    reported["steps"] = {
        each: heard[each][2]["sample_id"] - heard[each][1]["sample_id"]
        for each in values[:4]
    }
    reported["options"] = options
    reported["kept"] = {
        name: driver.query(f"{path}/{name}")
        for name in ("s/i/range/select", "s/v/range/select")
    }
    reported["errors"] = {
        what: _error(call)
        for what, call in {
            "no option": lambda: driver.publish(f"{path}/s/i/range/select", "7 A"),
            "no topic": lambda: driver.query(f"{path}/no/such"),
            "no type": lambda: driver.publish(f"{path}/h/fs", {1: 2}),
            "no device": lambda: driver.open("u/js110/999999", timeout=0.1),
        }.items()
    }
    return reported


def _form(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _form(each) for key, each in value.items()}
    return str(value.dtype) if hasattr(value, "dtype") else type(value).__name__


def _error(call: Any) -> list[str]:
    try:
        call()
    except (RuntimeError, TimeoutError, ValueError) as error:
        return [type(error).__name__, str(error)]
    return []


def main(what: str, folder: str) -> None:
    """Run `record` or `said`; write an error of ours, too."""
    if what == "record":
        try:
            record(Path(folder), 1.2)
        except BenchError as error:  # when it was opened
            tell({"cause": error.cause, "evidence": error.evidence})
    else:
        from pyjoulescope_driver import Driver

        driver = Driver()
        tell(said(driver))
        driver.close(driver.device_paths()[0])
        driver.finalize()


if __name__ == "__main__":
    main(*sys.argv[1:])
