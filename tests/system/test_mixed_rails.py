# SPDX-License-Identifier: Apache-2.0
"""Three instruments of different makers as rails of one device: their energies add up
to the true one, each in its own time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rig.bench import parts
from rig.interfaces.context import BenchContext
from rig.report.report import write_report
from rig.session.session import SessionResult, open_bench
from rig.trace.trace import Trace
from tests.checking import check

#: Pulses that come at multiples of an instrument's period all meet the same part of it,
#: and their errors do not average out: this `sync_period_us` spreads them over the
#: periods of all three.
BENCH = """
[bench]
name = "rails"
[sut.virtual]
sync_hold_us = 1_000
sync_period_us = 20_493
[rail.core.joulescope]
device = "simulator"
[rail.core.joulescope.simulator]
share = 0.5
clock_ppm = 30.0
[rail.memory.keysight_n6705]
resource = "simulator"
[rail.memory.keysight_n6705.simulator]
share = 0.3
clock_ppm = -60.0
[rail.io.st_lpm01a]
port = "simulator"
[rail.io.st_lpm01a.simulator]
share = 0.2
clock_ppm = 90.0
[scenario.single_stream]
idle_s = 0.3
warmup = 0
[task.null]
samples = 5
"""
CLOCK_PPM = {"core": 30.0, "memory": -60.0, "io": 90.0}
SHARES = {"core": 0.5, "memory": 0.3, "io": 0.2}
TRIALS = 2


@pytest.fixture(scope="module")
def measured(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[SessionResult, BenchContext]:
    """Return the result of a session, and its table with the truth."""
    folder = tmp_path_factory.mktemp("rails")
    made = []

    def context(**settings: Any) -> BenchContext:
        made.append(BenchContext(**settings))
        return made[-1]

    (folder / "bench.toml").write_text(BENCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "BenchContext", context)
        with open_bench(folder / "bench.toml") as bench:
            result = bench.run(TRIALS, folder / "sessions")
    return result, made[0]


def trials(
    measured: tuple[SessionResult, BenchContext],
) -> Iterator[tuple[Path, list[int]]]:
    """Yield the folder of each trial, and the true times of its marks."""
    result, context = measured
    falls_ns = [
        after.time_ns
        for before, after in pairwise(context.world.states())
        if before.level and not after.level
    ]
    for trial in result.content["trials"]:
        marks = trial["counts"]["marks"]
        yield result.folder / f"trial-{trial['number']}", falls_ns[:marks]
        falls_ns = falls_ns[marks:]
    assert not falls_ns


def windows(folder: Path) -> list[dict[str, Any]]:
    """Return all windows of a trial, idle ones too."""
    rows = [
        json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()
    ]
    lists = (row.get("windows", [row.get("idle")]) for row in rows)
    return list(chain.from_iterable(lists))


def test_a_session_of_three_different_instruments_has_no_problem_and_is_recomputed(
    measured: tuple[SessionResult, BenchContext],
) -> None:
    result, context = measured
    assert result.content["problems"] == [] and check(result.folder).ok
    assert not context.world.supply_on


def test_the_energies_of_three_different_instruments_add_up_to_the_true_one(
    measured: tuple[SessionResult, BenchContext],
) -> None:
    world = measured[1].world
    for folder, falls_ns in trials(measured):
        seen_s = Trace.open(folder / "core" / "trace.jls").falls_s
        assert len(seen_s) == len(falls_ns)
        result = windows(folder)
        assert len(result) == 2 * 5 + 2, (
            "two phases of each sample, an idle window before and after"
        )
        for window in result:
            start_ns, stop_ns = (
                falls_ns[int(np.argmin(np.abs(seen_s - window[end])))]
                for end in ("start_s", "stop_s")
            )
            true_j = world.true_energy_j(start_ns, stop_ns)
            assert abs(window["energy_j"] - true_j) < 2 * window["energy_u_j"], (
                window,
                true_j,
            )
            # Simulators are better than their limits: a rail that is weighed wrongly
            # would show.
            assert window["energy_j"] == pytest.approx(true_j, rel=2e-3)


def test_each_of_three_different_instruments_has_its_own_part_of_the_energy(
    measured: tuple[SessionResult, BenchContext],
) -> None:
    world = measured[1].world
    for folder, falls_ns in trials(measured):
        true_j = world.true_energy_j(falls_ns[0], falls_ns[-1])
        for rail, share in SHARES.items():
            trace = Trace.open(folder / rail / "trace.jls")
            assert trace.energy_j(
                float(trace.falls_s[0]), float(trace.falls_s[-1])
            ) == pytest.approx(share * true_j, rel=1e-3), rail


def test_the_skew_of_each_of_three_different_clocks_is_found_and_shown(
    measured: tuple[SessionResult, BenchContext],
) -> None:
    result = measured[0]
    page = write_report(result.folder).read_text()
    for trial in result.content["trials"]:
        for rail, clock_ppm in CLOCK_PPM.items():
            skew_ppm = trial["rails"][rail]["skew_ppm"]
            u_ppm = trial["rails"][rail]["skew_u_ppm"]
            assert abs(skew_ppm - (clock_ppm - CLOCK_PPM["core"])) <= 3 * u_ppm
            assert u_ppm < 60, "an uncertainty that allows everything proves nothing"
            row = re.search(rf"<tr><td><code>{rail}</code>.*?</tr>", page, re.DOTALL)
            assert row and f"{skew_ppm:+.2f}" in row[0]
