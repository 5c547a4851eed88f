# SPDX-License-Identifier: Apache-2.0
"""rig measure on a JLS file of another program, which is read once where its windows
are known before: the energy of the samples that were written, and the gaps among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.importers.open import open_any
from rig.measure import trace_windows
from rig.trace.foreseen import WHOLE_S, Foreseen
from rig.trace.samples import BLOCK, STEP, Layout
from rig.trace.trace import Trace
from tests.length import length
from tests.rig.cli.test_measure import content, run
from tests.rig.importers.test_open import F32, Jls

HZ = 100_000
SAMPLES = 2 * BLOCK + 70_001
RANGES_A = (0.009, 0.02, 1.0)
NO_NUMBERS = (np.nan, np.inf, -np.inf, 9.9e37)
CALIBRATION = """
source = "made up for a test"
clock_ppm = 50.0
[[current]]
up_to = 0.02
gain = 0.001
offset = 1e-6
[[current]]
up_to = 1.0
gain = 0.001
offset = 1e-5
[[voltage]]
up_to = 10.0
gain = 0.0005
offset = 0.0
"""

Floats = NDArray[np.float32]
Spans = list[tuple[int, int]]


def written(path: Path, lost: Spans, kind: str = F32) -> tuple[Floats, Floats]:
    """Write a file, with no numbers where samples are lost; return its samples."""
    rng = np.random.default_rng(5)
    current = rng.normal(0.01, 2e-3, SAMPLES).astype(np.float32)
    current[BLOCK // 2 : BLOCK // 2 + 4000] = 0.3
    voltage = rng.normal(3.0, 0.1, SAMPLES).astype(np.float32)
    for number, span in enumerate(lost):
        signal = (current, voltage)[number % 2]
        signal[slice(*span)] = NO_NUMBERS[number % len(NO_NUMBERS)]
    form = np.float64 if kind == "f64" else np.float32
    file = Jls(path, {"current": (kind, HZ, "A", 1), "voltage": (kind, HZ, "V", 1)})
    file.put("current", 0, current.astype(form))
    file.put("voltage", 0, voltage.astype(form)).close()
    return current, voltage


def energy_j(current: Floats, voltage: Floats) -> float:
    """Return the energy of samples, by NumPy alone."""
    return float((current.astype(np.float64) * voltage).sum()) / HZ


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return how many samples have been read of any trace."""
    counts = []
    read = Layout.read

    def counted(layout: Layout, reader: Any, first: int, samples: int) -> Any:
        counts.append(samples)
        return read(layout, reader, first, samples)

    monkeypatch.setattr(Layout, "read", counted)
    return lambda: sum(counts)


@pytest.mark.parametrize("words", [["--whole"], [], ["--times", "0-5.3"]])
@pytest.mark.parametrize("calibrated", [False, True])
def test_windows_that_are_known_before_are_read_once(
    tmp_path: Path, count: Callable[[], int], words: list[str], calibrated: bool
) -> None:
    samples = written(tmp_path / "a.jls", [])
    if calibrated:
        (tmp_path / "limits.toml").write_text(CALIBRATION)
        words = [*words, "--calibration", str(tmp_path / "limits.toml")]
    (window,) = content(tmp_path / "a.jls", *words)["windows"]
    # A block at the start and some samples at the end are read once more.
    assert SAMPLES <= count() <= SAMPLES + BLOCK + 2 * STEP
    last = 530_000 if "--times" in words else SAMPLES
    current, voltage = (signal[:last] for signal in samples)
    assert window["energy_j"] == pytest.approx(energy_j(current, voltage), rel=1e-12)
    charge_c = float(current.sum(dtype=np.float64)) / HZ
    assert window["charge_c"] == pytest.approx(charge_c, rel=1e-12)
    power = current.astype(np.float64) * voltage
    assert (window["least_w"], window["most_w"]) == (power.min(), power.max())
    assert (window["energy_u_j"] is not None) == calibrated


LOST = [(0, 3), (BLOCK - 5, BLOCK + 7), (400_000, 400_900), (SAMPLES - 1, SAMPLES)]


@pytest.mark.parametrize("kind", [F32, "f64"])
def test_windows_between_lost_samples_have_the_energy_of_theirs(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "a.jls"
    current, voltage = written(path, LOST, kind)
    bounds = [(3, BLOCK - 5), (BLOCK + 7, 400_000), (400_900, SAMPLES - 1)]
    times = [f"--times={first / HZ:.5f}-{last / HZ:.5f}" for first, last in bounds]
    result = content(path, *times)
    for window, (first, last) in zip(result["windows"], bounds, strict=True):
        part = slice(first, last)
        assert window["energy_j"] == pytest.approx(
            energy_j(current[part], voltage[part]), rel=1e-12
        )
    gaps = [(gap["start_s"] * HZ, gap["stop_s"] * HZ) for gap in result["gaps"]]
    assert gaps == [pytest.approx(span) for span in LOST]


@pytest.mark.parametrize("span", LOST)
def test_a_lost_sample_anywhere_leaves_the_whole_without_an_energy(
    tmp_path: Path, span: tuple[int, int]
) -> None:
    written(tmp_path / "a.jls", [span])
    done = run(tmp_path / "a.jls", "--whole", "--json")
    (window,) = json.loads(done.stdout)["windows"]
    assert window["energy_j"] is None and window["least_w"] is None
    assert window["problem"].startswith(f"samples {span[0]} to {span[1]}: ")


def rows(trace: Trace, windows_s: list[tuple[float, float]]) -> str:
    """Return gaps and all digits of integrals over windows, lost samples included."""
    spans = [
        trace_windows.TraceSpan(str(number), *window)
        for number, window in enumerate(windows_s, start=1)
    ]
    tabulated = trace_windows.tabulate(trace, spans, None)
    integrals = [trace.integrals(windows_s, ranges) for ranges in ((), RANGES_A)]
    return repr((trace.gaps, tabulated, integrals))


PLACE = st.integers(0, SAMPLES - 1) | st.sampled_from([0, BLOCK, 2 * BLOCK])


@given(
    lost=st.lists(st.tuples(PLACE, st.integers(1, 70_000)), max_size=4),
    windows=st.lists(
        st.tuples(PLACE, PLACE).filter(lambda ends: ends[0] != ends[1]), max_size=2
    ),
    by_range=st.booleans(),
)
@settings(max_examples=length(20, 5), deadline=None)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_is_foreseen_changes_no_digit(
    tmp_path_factory: pytest.TempPathFactory,
    lost: list[tuple[int, int]],
    windows: Spans,
    by_range: bool,
) -> None:
    folder = tmp_path_factory.mktemp("once")
    path = folder / "a.jls"
    spans = [(first, min(first + count, SAMPLES)) for first, count in lost]
    current, voltage = written(path, spans)
    windows_s = [(min(ends) / HZ, max(ends) / HZ) for ends in windows]
    foreseen = Foreseen((WHOLE_S,), RANGES_A if by_range else ())
    once = open_any(path, folder, in_place=True, foreseen=foreseen)
    twice = open_any(path, folder, in_place=True)
    windows_s.append((0.0, once.trace.duration_s))
    assert rows(once.trace, windows_s) == rows(twice.trace, windows_s)
    known = np.zeros(SAMPLES, dtype=bool)
    for span in spans:
        known[slice(*span)] = True
    found = np.zeros(SAMPLES, dtype=bool)
    for gap in once.trace.gaps:
        found[gap.start : gap.stop] = True
    np.testing.assert_array_equal(found, known)
    if not spans:
        assert once.trace.energy_j(*windows_s[-1]) == pytest.approx(
            energy_j(current, voltage), rel=1e-12
        )
