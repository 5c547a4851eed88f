# SPDX-License-Identifier: Apache-2.0
"""Windows of streams: their times, and a sentence on how they were played."""

from __future__ import annotations

from collections.abc import Sequence

from rig.model.metric import Metric, Prominence
from rig.model.trial import Sample, Streamed
from rig.units import plural
from scenarios.common.metrics import of_mean

#: Sentences of a report on the windows of a stream.
STREAM_METHOD = (
    "The device marks the start of the stream and its end, and of each window the start"
    " of each phase and the decision. latency_response, and where there is one"
    " latency_onset, begin when a sample is captured, by the rate of the signal from"
    " the first mark on, and end at a decision: they contain every wait of the window,"
    " for the one before it and for its transfer. The latency of a phase has no wait."
    " Unless the stream is preloaded, the host sends windows while it plays, so the"
    " energies contain what their reception costs the device. Latencies and energies"
    " of phases are means over all windows. Active power is the energy of the phases"
    " over their time, power_stream that of the whole stream over its time; dynamic is"
    " either minus idle."
)


def latencies(samples: Sequence[Sample], phases: Sequence[str]) -> dict[str, Metric]:
    """Return how long each phase took, and how long after a window was captured its
    decision was there, waiting included.
    """
    metrics = {}
    for place, phase in enumerate(phases):
        latencies_s = [sample.windows[place].latency_s for sample in samples]
        metrics[f"latency_{phase}"] = of_mean(latencies_s, "s")
    response_s = [sample.hop.response.latency_s for sample in samples if sample.hop]
    metrics["latency_response"] = of_mean(response_s, "s", Prominence.HEADLINE)
    for percent in (50, 90, 99):
        name = f"latency_response_p{percent}"
        metrics[name] = percentile(response_s, percent)
    return metrics


def how_played(stream: Streamed) -> str:
    """Describe the stream that was played, and how it reached the device."""
    how = "preloaded: the link was silent"
    if not stream.preloaded:
        how = (
            "streamed from the host: what the slots could not hold came while it"
            " played, and the link was busy"
        )
    return (
        f"Stream of {stream.whole.latency_s:.3f} s, a window of {stream.window_s:g} s"
        f" every {stream.hop_s:g} s: {plural(stream.due, 'window')},"
        f" {plural(len(stream.labels), 'scene')};"
        f" {how}."
    )


def percentile(values_s: Sequence[float], percent: int) -> Metric:
    """Return a percentile of times."""
    return Metric.of_percentile(values_s, percent, "s", higher_is_better=False)
