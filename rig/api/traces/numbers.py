# SPDX-License-Identifier: Apache-2.0
"""The numbers of a trace: edges of SYNC, exact statistics, histogram and spectrum, with
what the session around it knows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from rig.api.traces import distributions
from rig.api.traces import statistics as exact
from rig.api.traces.distributions import Histogram, Spectrum
from rig.api.traces.edges import Edge, EdgeTimes
from rig.api.traces.place import TracePlace
from rig.api.traces.spans import Spans
from rig.api.traces.statistics import Ends, Stopped, TraceStatistics
from rig.api.traces.surroundings import Surroundings
from rig.api.traces.view import TraceView
from rig.importers.opened import Opened
from rig.uncertainty.accuracy import Accuracy


class Placed(Protocol):
    """A problem with a place, as a session states it."""

    @property
    def start_s(self) -> float | None:
        """Return where it begins."""

    @property
    def stop_s(self) -> float | None:
        """Return where it ends."""

    @property
    def edge(self) -> int | None:
        """Return the number of a falling edge."""


class TraceNumbers(TraceView):
    """A trace that is measured: nothing here is taken from pictures."""

    def __init__(self, path: Path, opened: Opened) -> None:
        super().__init__(path, opened)
        self._own = opened.origin == "rig"
        self._around = Surroundings(path, self._own)

    def show_trial(self, number: int) -> None:
        """Have the windows be those of one of the interleaved trials that the trace is
        of; to be called before anything else is asked for.
        """
        self._around = Surroundings(self.path, self._own, number)

    @property
    def place(self) -> TracePlace | None:
        """Return of which session, trial, rail and segment the trace is."""
        return self._around.place

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what must stand beside its numbers: the labels of its session;
        elsewhere those that its file has.
        """
        return self._around.labels or super().labels

    @property
    def accuracy(self) -> Accuracy | None:
        """Return the accuracy of the monitor that recorded the trace, as its session
        states it."""
        return self._around.accuracy

    @property
    def spans(self) -> Spans | None:
        """Return the measured windows and warm-up queries of its trial, in the trace's
        time."""
        return self._around.spans

    @cached_property
    def _edge_times(self) -> EdgeTimes:
        accuracy = self.accuracy
        spans = self.spans
        return EdgeTimes(
            self._trace.falls_s if self.has_sync else np.zeros(0),
            self._trace.rises_s if self.has_sync else np.zeros(0),
            np.zeros(0) if spans is None else spans.borders_s,
            self._trace.edge_hz,
            0.0 if accuracy is None else accuracy.edge_s,
        )

    def edges(self) -> EdgeTimes:
        """Return all edges of SYNC in order; the first call reads them, block by block.
        Raises DataError where there is no SYNC.
        """
        self._require_sync()
        return self._edge_times

    def nearest_edge(self, at: float, falls: bool | None = None) -> Edge | None:
        """Return the edge that is nearest to a time; None where there is none. `falls`
        asks for falling edges, at which the device's marks are, or for rising ones.
        """
        return self._edge_times.nearest(at, falls)

    def next_edge(self, at: float, falls: bool | None = None) -> Edge | None:
        """Return the first edge after a time; None where there is none."""
        return self._edge_times.next(at, falls)

    def previous_edge(self, at: float, falls: bool | None = None) -> Edge | None:
        """Return the last edge before a time; None where there is none."""
        return self._edge_times.previous(at, falls)

    def edge_uncertainty_s(self, at: float) -> float:
        """Return the standard uncertainty of a time at an edge: at the end of a window
        that of the mark by the time base, else that of the edge as it was seen; 0 at a
        time that is at none.
        """
        times = self._edge_times
        if times.is_border(at):
            mark_u_s = self._around.mark_u_s(at)
            if mark_u_s is not None:
                return mark_u_s
        edge = times.on_edge(at)
        return 0.0 if edge is None else edge.u_s

    def statistics(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        at_edges: bool | None = None,
        stopped: Stopped | None = None,
    ) -> TraceStatistics:
        """Return the statistics of a stretch, all of them from its samples: energy and
        charge as results.json has them for the same window.

        `at_edges`: the power steps at both ends, as it does at a mark; left out, where
        both times are at edges of SYNC or at ends of windows. Raises DataError where
        the stretch is not in the trace, Cancelled where `stopped` says so.
        """
        start, stop = max(start, 0.0), min(stop, self.duration_s)
        if at_edges is None:
            at_edges = self._is_edge(start) and self._is_edge(stop)
        ends = Ends(at_edges)
        if at_edges:
            base = self._around.timebase
            nominal = base is not None and base.nominal_rate
            u_s = self.edge_uncertainty_s(start), self.edge_uncertainty_s(stop)
            ends = Ends(True, u_s, nominal)
        found = exact.statistics(
            self._trace, start, stop, self.accuracy, ends, self.has_current, stopped
        )
        return replace(found, labels=self.labels)

    def histogram(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        signal: str = "current",
        bins: int = 200,
        limits: tuple[float, float] | None = None,
        stopped: Stopped | None = None,
    ) -> Histogram:
        """Return the time that current, voltage or power spent in each of `bins`
        between `limits`; left out, between the least and the most. Raises DataError,
        Cancelled.
        """
        first, last = self._places(start, stop, self.sample_hz)
        self._require_signal(signal)
        found = distributions.histogram(
            self._trace, first, last, signal, bins, limits, stopped
        )
        return replace(found, labels=self.labels)

    def spectrum(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        signal: str = "current",
        segment: int | None = None,
        stopped: Stopped | None = None,
    ) -> Spectrum:
        """Return the power spectral density of current, voltage or power by Welch's
        method, over segments of `segment` samples in which none is lost. Raises
        DataError, Cancelled.
        """
        first, last = self._places(start, stop, self.sample_hz)
        self._require_signal(signal)
        found = distributions.spectrum(
            self._trace, first, last, signal, segment, stopped
        )
        return replace(found, labels=self.labels)

    def locate(self, problem: Placed) -> tuple[float, float] | None:
        """Return from where to where a problem of this trial is; None where that is not
        known."""
        if problem.start_s is not None and problem.stop_s is not None:
            return problem.start_s, problem.stop_s
        if problem.edge is None or not 1 <= problem.edge <= len(self._trace.falls_s):
            return None
        at_s = float(self._trace.falls_s[problem.edge - 1])
        return at_s, at_s

    def _is_edge(self, at: float) -> bool:
        times = self._edge_times
        return times.is_border(at) or times.on_edge(at) is not None
