# SPDX-License-Identifier: Apache-2.0
"""A trial without some of the task's samples: queries, members of batches and scenes of
streams are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from rig.model.trial import Hop, Measured, Sample, Streamed, Window


def without(measured: Measured, gone: frozenset[int]) -> Measured:
    """Return the trial without the task's samples `gone`.

    A scene of a stream is left out whole, with its share of the stream's time; of one
    signal from its beginning on, whose windows are the task's samples, windows are
    left out, and the scenes stay. Time and energy of a batch without some of its
    samples are unknown, hence NaN.
    """
    streams = {stream.step: _left_of(stream, gone) for stream in measured.streams}
    samples = tuple(_left(measured, streams, gone))
    kept = tuple(
        _stream_left(stream, streams[stream.step], measured)
        for stream in measured.streams
    )
    return replace(measured, samples=samples, streams=kept)


@dataclass(frozen=True, slots=True)
class _StreamLeft:
    """The new numbers of a stream's scenes that are left, by the old ones, and the
    windows that are gone, where those are the task's samples.
    """

    scenes: Mapping[int, int]
    gone: frozenset[int] = frozenset()

    def scene_of(self, hop: Hop) -> int | None:
        """Return the new number of a window's scene; None where the window is gone."""
        return None if hop.window in self.gone else self.scenes.get(hop.scene)


def _left_of(stream: Streamed, gone: frozenset[int]) -> _StreamLeft:
    """Number the remaining scenes again; the first scene stays the one without a
    predecessor.
    """
    if _is_one_signal(stream):
        return _StreamLeft({each: each for each in range(len(stream.indices))}, gone)
    left = [
        scene
        for scene, indices in enumerate(stream.indices)
        if gone.isdisjoint(indices)
    ]
    first = 0 if 0 in left else 1
    return _StreamLeft({scene: at for at, scene in enumerate(left, start=first)})


def _is_one_signal(stream: Streamed) -> bool:
    """Check whether the windows of a stream are the task's samples from the first on;
    neighbouring scenes may share one. A single scene may as well be a recording.
    """
    if len(stream.indices) < 2:
        return False
    indices = list(chain.from_iterable(stream.indices))
    numbers = sorted(set(indices))
    is_whole = numbers == list(range(len(numbers))) and indices == sorted(indices)
    return is_whole and stream.hop_s == stream.window_s


def _left(
    measured: Measured, streams: Mapping[int, _StreamLeft], gone: frozenset[int]
) -> Iterator[Sample]:
    for sample in measured.samples:
        if sample.hop is not None and sample.step in streams:
            scene = streams[sample.step].scene_of(sample.hop)
            if scene is not None:
                yield replace(sample, hop=replace(sample.hop, scene=scene))
        elif gone.isdisjoint(sample.indices):
            yield sample
        elif not gone.issuperset(sample.indices):
            yield _part(sample, gone)


def _part(sample: Sample, gone: frozenset[int]) -> Sample:
    """Return a batch without some of its samples: the other answers stay, time and
    energy are unknown.
    """
    places = [place for place, index in enumerate(sample.indices) if index not in gone]
    indices = tuple(sample.indices[place] for place in places)
    each = tuple(sample.each[place] for place in places) if sample.each else ()
    windows = tuple(_unknown(window) for window in sample.windows)
    return replace(sample, indices=indices, each=each, windows=windows)


def _stream_left(stream: Streamed, left: _StreamLeft, measured: Measured) -> Streamed:
    own = [s for s in measured.samples if s.step == stream.step and s.hop is not None]
    cut = [s for s in own if s.hop is not None and left.scene_of(s.hop) is None]
    if not cut and len(left.scenes) == len(stream.indices):
        return stream
    share = len(cut) / max(stream.due, 1)
    whole = _whole_left(stream.whole, own, cut, share)
    if left.gone:
        # Times of its events are those of the whole signal.
        return replace(stream, whole=whole)
    scenes = sorted({0, *left.scenes})
    labels = tuple(stream.labels[scene] for scene in scenes)
    onsets_s = tuple(stream.onsets_s[scene] for scene in scenes)
    indices = tuple(stream.indices[scene] for scene in scenes)
    due = stream.due - len(cut)
    return replace(
        stream, whole=whole, labels=labels, onsets_s=onsets_s, indices=indices, due=due
    )


def _whole_left(
    whole: Window, own: Sequence[Sample], cut: Sequence[Sample], share: float
) -> Window:
    """Return a stream without a `share` of its time and the windows `cut` within it;
    all time between windows has the same power.
    """
    (busy_s, busy_j), (cut_s, cut_j) = _busy(own), _busy(cut)
    latency_s = whole.latency_s * (1 - share)
    rest_s = whole.latency_s - busy_s
    if whole.energy_j is None:
        return replace(whole, latency_s=latency_s)
    rest_w = (whole.energy_j - busy_j) / rest_s if rest_s > 0 else math.nan
    gone_j = cut_j + rest_w * (whole.latency_s * share - cut_s)
    return replace(whole, latency_s=latency_s, energy_j=whole.energy_j - gone_j)


def _busy(samples: Sequence[Sample]) -> tuple[float, float]:
    """Sum time and energy of the windows; NaN if an energy is unknown."""
    windows = list(chain.from_iterable(sample.windows for sample in samples))
    energies_j = [
        math.nan if window.energy_j is None else window.energy_j for window in windows
    ]
    return math.fsum(window.latency_s for window in windows), math.fsum(energies_j)


def _unknown(window: Window) -> Window:
    return replace(
        window,
        latency_s=math.nan,
        energy_j=None if window.energy_j is None else math.nan,
    )
