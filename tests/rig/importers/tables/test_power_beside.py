# SPDX-License-Identifier: Apache-2.0
"""Where a file has power beside current and voltage, and they disagree, this is
reported: for reduced samples the product is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from tests.rig.importers.joulescope.test_jls1 import config, file, mjs, start
from tests.rig.importers.joulescope.test_jls1 import reduced as arrays_of
from tests.traces import jls_writer

#: A load that pulses draws its current while the supply's voltage sags: 5 fast samples
#: make a reduced one.
FAST_A = np.tile(np.array([0.01, 0.01, 0.01, 0.01, 0.20], np.float64), 400)
FAST_V = np.tile(np.array([3.30, 3.30, 3.30, 3.30, 3.05], np.float64), 400)
REDUCED = {
    "current": FAST_A.reshape(-1, 5).mean(axis=1),
    "voltage": FAST_V.reshape(-1, 5).mean(axis=1),
    "power": (FAST_A * FAST_V).reshape(-1, 5).mean(axis=1),
}
#: What current times voltage has too much.
MORE = float(
    np.sum(REDUCED["current"] * REDUCED["voltage"]) / np.sum(REDUCED["power"]) - 1
)


def csv(signals: dict[str, NDArray[np.float64]]) -> bytes:
    units = {"current": "current (mA)", "voltage": "voltage (V)", "power": "power (mW)"}
    factor = {"current": 1e3, "voltage": 1.0, "power": 1e3}
    rows = ["time_s," + ",".join(units[name] for name in signals)]
    for at in range(len(signals["current"])):
        rows.append(
            f"{at / 100},"
            + ",".join(f"{signals[name][at] * factor[name]:.9g}" for name in signals)
        )
    return ("\n".join(rows) + "\n").encode()


def jls(folder: Path, signals: dict[str, NDArray[np.float64]]) -> bytes:
    names = [name for name in ("current", "voltage", "power") if name in signals]
    writer = jls_writer(folder / "made.jls", 100, *names)
    for number, name in enumerate(names, start=1):
        writer.fsr(number, 0, signals[name].astype(np.float32))
    writer.close()
    return (folder / "made.jls").read_bytes()


def jls1(signals: dict[str, NDArray[np.float64]]) -> bytes:
    columns = [
        signals[name].astype(np.float32) for name in ("current", "voltage", "power")
    ]
    count = len(columns[0])
    return file(
        config(100.0, "float32_v2"),
        start(0),
        arrays_of(*columns, np.zeros(count)),
        mjs(type="footer", size=count),
    )


def opened(
    folder: Path, kind: str, signals: dict[str, NDArray[np.float64]], **options: Any
) -> Opened:
    content = {"csv": csv, "jls": lambda some: jls(folder, some), "jls1": jls1}[kind](
        signals
    )
    (folder / f"a.{'csv' if kind == 'csv' else 'jls'}").write_bytes(content)
    return open_any(
        folder / f"a.{'csv' if kind == 'csv' else 'jls'}",
        folder / "scratch",
        Options(**options),
    )


def said(found: Opened) -> list[str]:
    return [note for note in found.notes if "current times" in note]


@pytest.mark.parametrize("kind", ["csv", "jls", "jls1"])
def test_a_reduced_file_says_by_how_much_the_product_is_wrong(
    tmp_path: Path, kind: str
) -> None:
    result = opened(tmp_path, kind, REDUCED)
    (note,) = said(result)
    assert "the energy by current times voltage is 5.1 % more than by power" in note
    assert ("--power 'power (mW)'" if kind == "csv" else "--power power") in note
    name = "power (mW)" if kind == "csv" else "power"
    product_j = result.trace.energy_j(0.0, 4.0)
    right = opened(tmp_path, kind, REDUCED, power=name)
    assert not said(right)
    assert product_j / right.trace.energy_j(0.0, 4.0) - 1 == pytest.approx(
        MORE, rel=1e-4
    )


@pytest.mark.parametrize("kind", ["csv", "jls", "jls1"])
def test_a_file_whose_power_is_the_product_makes_no_statement(
    tmp_path: Path, kind: str
) -> None:
    plain = REDUCED | {"power": REDUCED["current"] * REDUCED["voltage"]}
    assert not said(opened(tmp_path, kind, plain))


@pytest.mark.parametrize("kind", ["csv", "jls", "jls1"])
def test_a_voltage_that_was_given_is_compared_as_well(
    tmp_path: Path, kind: str
) -> None:
    (note,) = said(opened(tmp_path, kind, REDUCED, supply_v=5.0))
    assert "current times 5 V, as given, is" in note and "more than by power" in note


@pytest.mark.parametrize("kind", ["csv", "jls"])
def test_differences_that_cancel_over_the_whole_are_reported(
    tmp_path: Path, kind: str
) -> None:
    product = REDUCED["current"] * REDUCED["voltage"]
    swapped = REDUCED | {
        "power": product * np.where(np.arange(len(product)) % 2, 1.1, 0.9)
    }
    (note,) = said(opened(tmp_path, kind, swapped))
    assert "sample by sample they differ by 10 %" in note


def test_lost_samples_do_not_count(tmp_path: Path) -> None:
    lost = {name: values.copy() for name, values in REDUCED.items()}
    lost["power"] = lost["current"] * lost["voltage"]
    lost["power"][5], lost["current"][9] = np.nan, np.nan
    assert not said(opened(tmp_path, "jls", lost))


def test_a_power_that_is_no_number_or_too_large_is_not_needed(tmp_path: Path) -> None:
    text = "time_s,i_a,u_v,p_w\n" + "".join(
        f"{k},1,2,{cell}\n" for k, cell in enumerate(["2", "-", "2 W", "1e300"] * 5)
    )
    (tmp_path / "a.csv").write_text(text)
    result = open_any(tmp_path / "a.csv", tmp_path / "scratch")
    assert result.trace.energy_j(0.0, 20.0) == pytest.approx(40.0) and said(result)


def test_two_powers_are_none(tmp_path: Path) -> None:
    text = "time_s,i_a,u_v,p1_w,p2_w\n" + "".join(f"{k},1,2,9,9\n" for k in range(20))
    (tmp_path / "a.csv").write_text(text)
    assert not said(open_any(tmp_path / "a.csv", tmp_path / "scratch"))
