# SPDX-License-Identifier: Apache-2.0
"""A session whose traces keep means between windows: the same results, a fraction of
the bytes, and no measured sample may be left out.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.faults.forger import rehash, remake
from rig.api.traces import distributions, file_index
from rig.api.traces.trace import open_trace
from rig.check.check import Read, check
from rig.report.report import write_report
from rig.results import document
from rig.session.session import SessionResult
from rig.trace import fingerprint
from rig.trace.thinning import Quiet, QuietTimes, thinned
from rig.trace.trace import SYNC, Trace, reading
from rig.trace.writer import TraceWriter
from tests.checking import fingerprints

Run = Callable[..., SessionResult]
LOAD = "sut.virtual.load_s=0.2"
REDUCED = "bench.between_windows=reduced"


def faults(folder: Path, read: Read = fingerprints) -> list[str]:
    """Return the faults that a check finds."""
    return [
        f"{finding.name}: {finding.detail}"
        for finding in check(folder, read).findings
        if not finding.ok
    ]


def test_results_are_the_same_with_means_between_windows_as_with_every_sample(
    run_virtual: Run,
) -> None:
    full = run_virtual(LOAD, trials=2)
    thin = run_virtual(LOAD, REDUCED, trials=2)
    contents = full.content, thin.content
    assert contents[1].pop("between_windows") == {"mean_s": 0.001, "margin_s": 0.01}
    for content in contents:
        content.pop("provenance")
    assert contents[0] == contents[1]
    traces = [
        Trace.open(item.folder / "trial-2" / "trace.jls") for item in (full, thin)
    ]
    # a load for each sample, and for each warm-up
    assert len(traces[1].reduced) == 6 + 2
    missing_s = (
        sum(span.stop - span.start for span in traces[1].reduced) / traces[1].sample_hz
    )
    assert missing_s > 8 * (0.2 - 2 * 0.01 - 0.003)
    sizes = [item.folder / "trial-2" / "trace.jls" for item in (full, thin)]
    assert sizes[1].stat().st_size < 0.6 * sizes[0].stat().st_size
    with reading(traces[0].path) as whole, reading(traces[1].path) as parts:
        count = traces[0].length
        assert traces[1].length == count
        kept = np.ones(count, bool)
        for span in traces[1].reduced:
            kept[span.start : span.stop] = False
        for item, other in zip(
            traces[0].samples(whole, 0, count),
            traces[1].samples(parts, 0, count),
            strict=True,
        ):
            assert np.array_equal(item[kept], other[kept])
        current = traces[0].samples(whole, 0, count)[0]
    samples = distributions.SignalSamples(traces[1], 0, count, "current")
    spread = distributions.histogram(samples, 50)
    assert spread.lost == np.count_nonzero(~kept)
    assert spread.seconds.sum() * traces[1].sample_hz == pytest.approx(
        np.count_nonzero(kept)
    )
    bounds, rows = file_index.quick(traces[1], 0, count, 20)
    by_hand = [
        current[item:other].mean(dtype=float)
        for item, other in pairwise(bounds.tolist())
    ]
    assert bounds[-1] == count and rows[1] == pytest.approx(by_hand, rel=1e-4)
    with open_trace(traces[0].path) as item, open_trace(traces[1].path) as other:
        assert item.prepare() and other.prepare()
        pictures = [
            view.columns(0.0, count / item.sample_hz, 20).current
            for view in (item, other)
        ]
        assert pictures[0] is not None and pictures[1] is not None
        # Their borders are none of means.
        assert pictures[1].mean == pytest.approx(pictures[0].mean, rel=0.01)
        summary = other.summary(0.0, math.inf, 10)
    assert (summary["stop_s"].iloc[-1], len(summary)) == (
        count / traces[1].sample_hz,
        10,
    )
    write_report(thin.folder)
    assert faults(full.folder) == faults(thin.folder) == []
    assert "means of 1 ms" in (thin.folder / "report.html").read_text(encoding="utf-8")


def thin_where(folder: Path, said: Callable[[Trace], list[Quiet]]) -> None:
    """Write the trace of trial 1 again, thinned where a forger wants."""
    trace = Trace.open(folder / "trial-1" / "trace.jls")
    times = QuietTimes()
    for quiet in said(trace):
        times.add(quiet)
    made = folder.with_name("forged")
    made.mkdir()
    about = {"monitor": "virtual", "simulated": True}
    known: dict[str, Any] = {
        "sample_hz": trace.sample_hz,
        "edge_hz": trace.edge_hz,
        "source": "v",
        "serial": "0",
    }
    with (
        reading(trace.path) as reader,
        thinned(made, times),
        TraceWriter(made, about=about, **known) as writer,
    ):
        writer.analog(*trace.samples(reader, 0, trace.length))
        writer.sync_packed(reader.fsr(SYNC, 0, int(trace.sync_s * trace.edge_hz)))
    for name in ("trace.jls", "reduced.jsonl", "recording.json"):
        (made / name).replace(folder / "trial-1" / name)
    list_files(folder)


def list_files(folder: Path) -> None:
    """Name all files of trial 1 in the events, with their hashes."""

    def name(events: list[dict[str, object]]) -> None:
        for event in events:
            if event["event"] == "trial_finished" and event["trial"] == 1:
                names = [path.name for path in (folder / "trial-1").iterdir()]
                event["files"] = dict.fromkeys(names, "")

    rehash(folder, name)
    rehash(folder)


def behind_a_mark(trace: Trace, apart_s: float) -> list[Quiet]:
    """State that no window follows a mark whose next one is this much later."""
    apart = np.diff(trace.falls_s)
    at = int(np.argmin(np.abs(apart - apart_s)))
    return [Quiet(at + 1, float(apart[at - 1]))]


def test_a_window_that_was_reduced_later_is_found_and_makes_its_trial_invalid(
    run_virtual: Run,
) -> None:
    folder = run_virtual(LOAD, REDUCED).folder
    thin_where(folder, lambda trace: behind_a_mark(trace, 0.042))
    result = faults(folder)
    assert any(line.startswith("results.json") for line in result)
    remake(folder)
    assert faults(folder) == []
    results = document.read(folder / "results.json")
    [problem] = results.problems
    assert problem.code == "gap" and "kept as means alone" in problem.detail
    assert not results.ok and not results.trials[0].valid


def test_means_where_every_sample_was_to_be_kept_are_refused(run_virtual: Run) -> None:
    folder = run_virtual(LOAD).folder
    thin_where(folder, lambda trace: [])
    remake(folder)
    assert faults(folder) == []

    shutil.rmtree(folder.with_name("forged"))
    thin_where(folder, lambda trace: behind_a_mark(trace, 0.2))
    remake(folder)
    result = faults(folder, fingerprint.read)[0]
    assert result.startswith("trial-1/trace.jls") and "between_windows full" in result


@pytest.mark.parametrize("length", [1, 2])
def test_a_list_of_spans_that_lacks_one_is_refused(
    run_virtual: Run, length: int
) -> None:
    folder = run_virtual(LOAD, REDUCED).folder
    path = folder / "trial-1" / "reduced.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-length]))
    rehash(folder)
    assert any("does not fit its trace" in line for line in faults(folder))
