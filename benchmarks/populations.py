# SPDX-License-Identifier: Apache-2.0
"""Populations of samples from which trials are drawn in numbers alone, so that the
truth of every interval is known.

Samples of one recording are correlated, decisions of one scene are, and trials differ
by effects of a device and its surroundings. The scenarios' own summaries make the
metrics of the drawn samples; no device is measured or runs in real time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

from rig.interfaces.task import SignalTask
from rig.model.catalogue import Entry
from rig.model.effects import COMMON, Effect, Effects
from rig.model.metric import Metric
from rig.model.scores import Score
from rig.model.steps import Stream
from rig.model.trial import Hop, Measured, Sample, Streamed, Trial, Window
from rig.stats.summary import percentile
from rig.uncertainty import budget
from rig.uncertainty.propagation import Summarise
from scenarios.mlperf_tiny.scenario import Tiny
from scenarios.real_time.scenario import RealTime
from scenarios.single_stream import SingleStream

TRIALS = 5
LATENCY_S = 0.04
POWER_W = 0.045
IDLE_W = 0.012
#: Relative standard deviations: what recordings, samples of one, trials, and runs of
#: one sample differ by; and the instrument.
OF_RECORDINGS = 0.01
OF_SAMPLES = 0.003
OF_TRIALS = 0.0005
OF_RUNS = 0.002
GAIN = 0.0005
#: Answers of one recording have this intra-cluster correlation within their city.
OF_ONE_RECORDING = 0.3
SAMPLES_EACH = 5
#: One of a sample's answers, of all trials, is another one than the rest in this share
#: of samples.
UNSTEADY = 0.1


@dataclass(frozen=True, slots=True)
class Draw:
    """Five trials, the catalogue of their samples, and the truth of metrics: for these
    samples, and for the kind of samples.

    A metric without a truth for its kind is compared with its mean over all runs.
    """

    trials: tuple[Trial, ...]
    catalogue: tuple[Entry, ...]
    summarise: Summarise
    same: Mapping[str, float] = field(default_factory=dict)
    other: Mapping[str, float] = field(default_factory=dict)
    unknown: Sequence[str] = ()


Population = Callable[[random.Random], Draw]


def recordings(
    count: int, each: int, mean: float, alike: float, trials: int = TRIALS
) -> Population:
    """Return samples of recordings whose answers have the intra-cluster correlation
    `alike`, and whose latencies are.
    """

    def draw(rng: random.Random) -> Draw:
        chances = []
        for _ in range(count):
            if alike:
                chances += [_beta(rng, mean, alike)] * each
            else:
                chances += [_beta(rng, mean, alike) for _ in range(each)]
        right = [rng.random() < chance for chance in chances]
        shift = [rng.gauss(0, OF_RECORDINGS) for _ in range(count)]
        slow = [
            1 + shift[n // each] + rng.gauss(0, OF_SAMPLES) for n in range(count * each)
        ]
        catalogue = tuple(Entry("a", f"clip-{n // each}") for n in range(count * each))
        scenario = SingleStream(SingleStream.Settings())
        gain = rng.gauss(0, GAIN)
        result = [_queries(rng, slow, right, gain) for _ in range(trials)]
        kind = NormalDist(1, math.hypot(OF_RECORDINGS, OF_SAMPLES, OF_RUNS, OF_TRIALS))
        truth = _truth(sum(slow) / len(slow))
        other = _truth(1.0) | {"accuracy": mean}
        other |= {
            f"latency_infer_p{p}": LATENCY_S * kind.inv_cdf(p / 100)
            for p in (50, 90, 99)
        }
        return Draw(
            _trials(result, scenario.summarise), catalogue, _of(scenario), truth, other
        )

    return draw


def cities(
    sizes: Sequence[int], mean: float, alike: float, trials: int = TRIALS
) -> Population:
    """Return cities of so many recordings each, of five samples; answers of one city
    have the intra-cluster correlation `alike`, those of one recording are more alike
    still.
    """

    def draw(rng: random.Random) -> Draw:
        catalogue = []
        slow = []
        right = []
        for city, size in enumerate(sizes):
            of_city = _beta(rng, mean, alike)
            shift = rng.gauss(0, OF_RECORDINGS)
            for recording in range(size):
                chance = _beta(rng, of_city, OF_ONE_RECORDING)
                of_recording = shift + rng.gauss(0, OF_SAMPLES)
                for _ in range(SAMPLES_EACH):
                    catalogue.append(
                        Entry("a", f"clip-{city}-{recording}", f"city-{city}")
                    )
                    right.append(rng.random() < chance)
                    slow.append(1 + of_recording + rng.gauss(0, OF_SAMPLES))
        scenario = SingleStream(SingleStream.Settings())
        gain = rng.gauss(0, GAIN)
        result = [_queries(rng, slow, right, gain) for _ in range(trials)]
        other = _truth(1.0) | {"accuracy": mean}
        truth = _truth(sum(slow) / len(slow))
        drawn = _trials(result, scenario.summarise)
        return Draw(drawn, tuple(catalogue), _of(scenario), truth, other)

    return draw


def ranked(
    count: int, noise: float, of_trials: float, trials: int = TRIALS
) -> Population:
    """Return samples whose latencies differ by 1 %, and from run to run and from trial
    to trial by so many times as much.
    """

    def draw(rng: random.Random) -> Draw:
        scenario = SingleStream(SingleStream.Settings())
        slow = [1 + rng.gauss(0, OF_RECORDINGS) for _ in range(count)]
        result = []
        for _ in range(trials):
            drift = rng.gauss(0, of_trials * OF_RECORDINGS)
            runs = [each + drift + rng.gauss(0, noise * OF_RECORDINGS) for each in slow]
            queries = [
                _query(n, LATENCY_S * each, POWER_W, True, 0.0)
                for n, each in enumerate(runs)
            ]
            result.append(_measured(queries))
        spread = math.hypot(noise, of_trials) * OF_RECORDINGS
        truth = {
            f"latency_infer_p{p}": LATENCY_S * _blurred(slow, spread, p / 100)
            for p in (50, 90, 99)
        }
        return Draw(_trials(result, scenario.summarise), (), _of(scenario), truth, {})

    return draw


def jitter(count: int) -> Population:
    """Return samples that differ only by each run's own variation: a long tail of
    latencies.
    """

    def draw(rng: random.Random) -> Draw:
        scenario = SingleStream(SingleStream.Settings())
        trials = []
        for _ in range(TRIALS):
            latencies_s = [
                LATENCY_S * math.exp(rng.gauss(0, 0.3)) for _ in range(count)
            ]
            queries = [
                _query(n, latency_s, POWER_W, True, 0.0)
                for n, latency_s in enumerate(latencies_s)
            ]
            trials.append(_measured(queries))
        truth = {
            f"latency_infer_p{p}": LATENCY_S
            * math.exp(0.3 * NormalDist().inv_cdf(p / 100))
            for p in (50, 90, 99)
        }
        truth["latency_infer"] = LATENCY_S * math.exp(0.3**2 / 2)
        return Draw(
            _trials(trials, scenario.summarise), (), _of(scenario), truth, truth
        )

    return draw


def unsteady(
    count: int, share: float = UNSTEADY, mean: float = 0.7, trials: int = TRIALS
) -> Population:
    """Return samples with some answers that vary between runs."""

    def draw(rng: random.Random) -> Draw:
        chances = [
            rng.random() if rng.random() < share else float(rng.random() < mean)
            for _ in range(count)
        ]
        result = []
        for _ in range(trials):
            queries = [
                _query(n, LATENCY_S, POWER_W, rng.random() < chance, 0.0)
                for n, chance in enumerate(chances)
            ]
            result.append(_measured(queries))
        scenario = SingleStream(SingleStream.Settings())
        other = {"accuracy": share / 2 + (1 - share) * mean}
        return Draw(
            _trials(result, scenario.summarise),
            (),
            _of(scenario),
            {"accuracy": sum(chances) / count},
            other,
        )

    return draw


def areas(files: int, windows: int) -> Population:
    """Return files of windows whose mean score distinguishes two kinds; the area for
    other files is known.
    """

    def draw(rng: random.Random) -> Draw:
        samples: list[Sample] = []
        catalogue = []
        for file in range(files):
            label = rng.random() < 0.5
            at = rng.gauss(1.2 * label, 1.0)
            for _ in range(windows):
                sample = _query(len(samples), LATENCY_S, POWER_W, True, 0.0)
                scores = (at + rng.gauss(0, 0.3),)
                samples.append(_scored(sample, str(int(label)), scores, f"file-{file}"))
                catalogue.append(Entry(str(int(label)), f"file-{file}"))
        scenario = Tiny(Tiny.Settings(mode="accuracy"))
        spread = math.hypot(1.0, 0.3 / math.sqrt(windows)) * math.sqrt(2.0)
        truth = {"auc": NormalDist().cdf(1.2 / spread)}
        trials = [Measured(tuple(samples), ())] * TRIALS
        return Draw(
            _trials(trials, scenario.summarise),
            tuple(catalogue),
            _of(scenario),
            {},
            truth,
        )

    return draw


class Sounds(SignalTask):
    """A task in name only: recordings of ten windows each, of four labels, to draw
    scenes from."""

    name = "sounds"
    phases = ("infer",)
    sample_hz = 100
    window = 100
    sample_b = 1
    labels = ("owl", "wren", "tit", "robin")

    def __init__(self, each: int) -> None:
        self.count = each * len(self.labels)

    def __len__(self) -> int:
        return 10 * self.count

    def recordings(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the label and the samples of each."""
        return [
            (self.labels[n % 4], tuple(range(10 * n, 10 * n + 10)))
            for n in range(self.count)
        ]

    def payload(self, index: int) -> bytes:
        """No device is asked."""
        raise NotImplementedError

    def score(self, index: int, output: bytes) -> Score:
        """No device answers."""
        raise NotImplementedError

    def provenance(self) -> dict[str, Any]:
        """No session is written."""
        raise NotImplementedError


def streams(each: int, one: bool) -> Population:
    """Return streams of scenes; all trials play `one`, or each draws its own. Each of
    four labels has `each` recordings.
    """

    def draw(rng: random.Random) -> Draw:
        task = Sounds(each)
        scenario = RealTime(RealTime.Settings(deadline_s=0.1))
        known = [
            (rng.betavariate(4, 2), rng.gauss(0, 0.012)) for _ in range(task.count)
        ]
        entries: list[Entry] = []
        for n, (label, indices) in enumerate(task.recordings()):
            entries += [Entry(label, f"clip-{n}")] * len(indices)
        catalogue = tuple(entries)
        seeds = (
            [rng.randrange(1, 1 << 30)] * TRIALS
            if one
            else [rng.randrange(1, 1 << 30) for _ in range(TRIALS)]
        )
        trials = []
        for seed in seeds:
            _, step, _ = scenario.plan(task, seed)
            assert isinstance(step, Stream)
            own = random.Random(f"{rng.random() if not one else ''}{seed}")
            trials.append(_stream(step, known, own, rng))
        truths = (
            "accuracy",
            "recognised",
            "latency_onset",
            "latency_onset_p50",
            "within_deadline",
            "latency_response",
        )
        return Draw(
            _trials(trials, scenario.summarise),
            catalogue,
            _of(scenario),
            {},
            other={},
            unknown=truths,
        )

    return draw


def _stream(
    step: Stream,
    known: Sequence[tuple[float, float]],
    own: random.Random,
    rng: random.Random,
) -> Measured:
    """Play a stream: the decisions follow from `own`, their times from the run."""
    samples = []
    onsets_s = [step.onset(n) / step.sample_hz for n in range(len(step.scenes))]
    for window in range(step.windows):
        scene = step.scene_of(window)
        chance, slow = known[step.scenes[scene].indices[0] // 10]
        ready_s = (window * step.hop + step.window) / step.sample_hz
        heard_s = ready_s - onsets_s[scene]
        right = own.random() < chance and own.random() < heard_s
        took_s = 0.08 + slow + own.gauss(0, 0.006) + rng.gauss(0, 0.002)
        response = Window("response", ready_s, ready_s + took_s, took_s, None)
        since_s = heard_s + took_s
        hop = Hop(
            window,
            scene,
            response,
            Window("since_onset", onsets_s[scene], ready_s + took_s, since_s, None),
        )
        infer = Window("infer", ready_s, ready_s + took_s, took_s, took_s * POWER_W)
        label = step.scenes[scene].label
        samples.append(
            Sample(
                1,
                (),
                1,
                (infer,),
                label=label,
                answer=label if right else "",
                correct=right,
                hop=hop,
            )
        )
    length_s = (step.windows * step.hop + step.window) / step.sample_hz
    whole = Window("stream", 0.0, length_s, length_s, length_s * IDLE_W)
    labels = tuple(scene.label for scene in step.scenes)
    indices = tuple(scene.indices for scene in step.scenes)
    played = Streamed(
        1,
        whole,
        labels,
        tuple(onsets_s),
        due=step.windows,
        hop_s=0.5,
        window_s=1.0,
        preloaded=False,
        indices=indices,
    )
    return Measured(tuple(samples), _idles(), (played,))


def _queries(
    rng: random.Random, slow: Sequence[float], right: Sequence[bool], gain: float
) -> Measured:
    drift = rng.gauss(0, OF_TRIALS)
    result = [
        _query(n, LATENCY_S * (each + drift + rng.gauss(0, OF_RUNS)), POWER_W, ok, gain)
        for n, (each, ok) in enumerate(zip(slow, right, strict=True))
    ]
    rng.shuffle(result)
    return _measured(result)


def _query(
    index: int, latency_s: float, power_w: float, right: bool, gain: float
) -> Sample:
    energy_j = latency_s * power_w * (1 + gain)
    effects = Effects(
        {"current gain": Effect(COMMON, energy_j=GAIN * energy_j)} if gain else {}
    )
    window = Window(
        "infer", 0.0, latency_s, latency_s, energy_j=energy_j, effects=effects
    )
    return Sample(
        index,
        (index,),
        1,
        (window,),
        label="a",
        answer="a" if right else "b",
        correct=right,
    )


def _scored(sample: Sample, label: str, scores: tuple[float, ...], case: str) -> Sample:
    return Sample(
        sample.step,
        sample.indices,
        1,
        sample.windows,
        label=label,
        answer="",
        correct=True,
        scores=scores,
        case=case,
    )


def _measured(samples: Sequence[Sample]) -> Measured:
    return Measured(tuple(samples), _idles())


def _idles() -> tuple[Window, ...]:
    return (Window("idle", 0.0, 0.5, 0.5, 0.5 * IDLE_W),) * 2


def _truth(slow: float) -> dict[str, float]:
    latency_s = slow * LATENCY_S
    return {"latency_infer": latency_s, "energy_infer": latency_s * POWER_W}


def _of(scenario: SingleStream | RealTime | Tiny) -> Summarise:
    return lambda measured: scenario.summarise(measured, ("infer",))


def _trials(
    measured: Sequence[Measured],
    summarise: Callable[[Measured, Sequence[str]], dict[str, Metric]],
) -> tuple[Trial, ...]:
    def of(one: Measured) -> dict[str, Metric]:
        return summarise(one, ("infer",))

    result = []
    for number, one in enumerate(measured, start=1):
        metrics = of(one)
        influences = budget.influences(one, metrics, of)
        result.append(Trial(number, number, one, metrics, None, influences=influences))
    return tuple(result)


def _blurred(values: Sequence[float], spread: float, share: float) -> float:
    """Return the quantile of values with a normal error added to each."""
    if not spread:
        return percentile(values, 100 * share)
    errors = NormalDist(0, spread)
    low, high = min(values) - 5 * spread, max(values) + 5 * spread
    for _ in range(40):
        middle = (low + high) / 2
        below = math.fsum(errors.cdf(middle - value) for value in values) / len(values)
        low, high = (middle, high) if below < share else (low, middle)
    return (low + high) / 2


def _beta(rng: random.Random, mean: float, alike: float) -> float:
    if not alike:
        return mean
    total = 1 / alike - 1
    return rng.betavariate(mean * total, (1 - mean) * total)


POPULATIONS: dict[str, Population] = {
    "12 recordings of 10": recordings(12, 10, 0.55, 3.2 / 9),
    "40 recordings of 10": recordings(40, 10, 0.55, 3.2 / 9),
    "12 recordings, 0.85": recordings(12, 10, 0.85, 3.2 / 9),
    "120 single samples": recordings(120, 1, 0.85, 0.0),
    "10 values a trial": jitter(10),
    "40 values a trial": jitter(40),
    "100 values a trial": jitter(100),
    "unsteady answers": unsteady(120),
    "40 files": areas(40, 2),
    "200 files": areas(200, 1),
    "own streams": streams(10, one=False),
    "one stream": streams(10, one=True),
    "3 cities": cities([6] * 3, 0.7, 0.05),
    "4 cities": cities([6] * 4, 0.7, 0.05),
    "5 cities": cities([6] * 5, 0.7, 0.05),
    "8 cities": cities([6] * 8, 0.7, 0.05),
    "4 cities, 0.9": cities([6] * 4, 0.9, 0.05),
    "3 cities, one large": cities([12, 4, 4], 0.7, 0.05),
    "5 cities, unequal": cities([16, 6, 4, 2, 2], 0.7, 0.05),
    "8 cities, unequal": cities([20, 8, 6, 4, 4, 2, 2, 2], 0.9, 0.05),
    "4 recordings of 30": recordings(4, 30, 0.55, 0.1),
    "12 recordings, two trials": recordings(12, 10, 0.55, 3.2 / 9, trials=2),
    "unsteady, two trials": unsteady(120, trials=2),
    "unsteady, 0.97": unsteady(60, 0.04, 0.97),
    "unsteady, 0.97, three trials": unsteady(200, 0.05, 0.97, trials=3),
    "ranks of 60": ranked(60, 0.2, 0.0),
    "ranks of 400": ranked(400, 0.02, 0.05),
    "ranks of 450": ranked(450, 0.02, 0.05),
    "ranks of 400, noise": ranked(400, 1.0, 0.0),
    "ranks of 400, two trials": ranked(400, 0.2, 0.05, trials=2),
}
