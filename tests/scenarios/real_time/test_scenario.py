# SPDX-License-Identifier: Apache-2.0
"""The scenario real_time: its streams, its refusals, and its metrics of decisions with
known truth.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import SignalTask
from rig.model.metric import Statistic
from rig.model.scores import Score
from rig.model.steps import Idle, Stream
from rig.model.trial import Hop, Measured, Streamed, Window
from rig.session.planning import steps
from rig.settings.check import checked
from scenarios.real_time.scenario import RealTime
from scenarios.tasks.null import NullTask
from tests.samples import sample_of

RATE_HZ = 100
WINDOW = 100
PHASES = ("preprocess", "infer")


@dataclass
class Birds(SignalTask):
    """A task whose samples are seconds of birds: each recording has a label and so many
    of them."""

    lengths: Sequence[tuple[str, int]] = (
        ("owl", 10),
        ("wren", 8),
        ("owl", 3),
        ("tit", 9),
    )
    name: str = "birds"
    phases: tuple[str, ...] = PHASES
    sample_hz: int = RATE_HZ
    window: int = WINDOW
    sample_b: int = 1

    def __len__(self) -> int:
        return sum(length for _, length in self.lengths)

    def payload(self, index: int) -> bytes:
        return bytes([index]) * WINDOW

    def score(self, index: int, output: bytes) -> Score:
        return Score(False, "", output.decode())

    def provenance(self) -> dict[str, Any]:
        return {}

    def recordings(self) -> list[tuple[str, tuple[int, ...]]]:
        result = []
        first = 0
        for label, length in self.lengths:
            result.append((label, tuple(range(first, first + length))))
            first += length
        return result


def real_time(**settings: Any) -> RealTime:
    return RealTime.open(
        checked(RealTime.Settings(**settings), "scenario.real_time"), BenchContext()
    )


def played(scenario: RealTime, task: Any = None, seed: int = 1) -> Stream:
    first, stream, last = steps(scenario, task or Birds(), seed)
    assert (
        isinstance(first, Idle)
        and isinstance(last, Idle)
        and isinstance(stream, Stream)
    )
    return stream


def device(slots: int = 4, streams: bool = True) -> SutInfo:
    return SutInfo(
        "dut", "uart", False, 1_000_000, "birds", slots=slots, streams=streams
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    shortest_s=st.floats(1.0, 3.5),
    longest_s=st.floats(7.0, 7.9),
    duration_s=st.floats(8.0, 90.0),
)
def test_scenes_fill_the_stream_unbroken_and_neighbours_have_other_labels(
    seed: int, shortest_s: float, longest_s: float, duration_s: float
) -> None:
    task = Birds()
    stream = played(
        real_time(scene_s=(shortest_s, longest_s), duration_s=duration_s), task, seed
    )
    assert sum(scene.samples for scene in stream.scenes) == round(duration_s * RATE_HZ)
    labels = [scene.label for scene in stream.scenes]
    assert all(item != other for item, other in itertools.pairwise(labels))
    for scene in stream.scenes:
        assert (
            round(shortest_s * RATE_HZ) <= scene.samples <= round(longest_s * RATE_HZ)
        )
        # No more of the recording than is heard, and enough of it.
        assert (
            (len(scene.indices) - 1) * WINDOW
            < scene.samples
            <= len(scene.indices) * WINDOW
        )
        same_label = [
            indices for label, indices in task.recordings() if label == scene.label
        ]
        assert any(is_part(scene.indices, indices) for indices in same_label)


def is_part(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    starts = range(len(whole) - len(part) + 1)
    return any(whole[at : at + len(part)] == part for at in starts)


def test_onsets_lie_anywhere_in_a_hop() -> None:
    inside = set()
    for seed in range(40):
        stream = played(real_time(scene_s=(1.0, 4.0)), seed=seed)
        inside |= {
            stream.onset(scene) % stream.hop for scene in range(1, len(stream.scenes))
        }
    assert inside == set(range(stream.hop))


def test_a_trial_draws_its_own_stream_unless_one_is_asked_for_by_its_seed() -> None:
    assert (
        played(real_time(), seed=1)
        == played(real_time(), seed=1)
        != played(real_time(), seed=2)
    )
    assert (
        played(real_time(stream_seed=7), seed=1)
        == played(real_time(stream_seed=7), seed=2)
        == played(real_time(), seed=7)
    )


def test_a_hop_is_half_a_window_unless_it_is_set() -> None:
    assert played(real_time()).hop == WINDOW // 2
    assert played(real_time(hop_s=0.25)).hop == 25


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scene_s", (0.0, 4.0)),
        ("scene_s", (3.0, 5.0)),
        ("duration_s", 5.0),
        ("duration_s", 8.0),  # one scene may be all of it, without any change
        ("duration_s", 1e9),
        ("hop_s", -1.0),
        ("deadline_s", -1.0),
        ("share", 0.0),
        ("share", 1.1),
        ("stable", 0),
        ("stream_seed", -1),
        ("idle_s", 0.0),
        ("limit_s", float("nan")),
    ],
)
def test_settings_out_of_range_are_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"scenario\.real_time\.{key}"):
        real_time(**{key: value})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"scene_s": (0.4, 2.0)},
            r"scene_s: scenes of 0\.4 s are shorter than a hop: a hop is 0\.5 s",
        ),
        (
            {"scene_s": (0.9, 2.0)},
            (
                r"scene_s: scenes of 0\.9 s are too short for 2 decisions in a row: a"
                r" hop is 0\.5 s"
            ),
        ),
        (
            {"hop_s": 1.5, "scene_s": (3.0, 8.0)},
            r"hop_s: a hop of 1\.5 s, a window of 1 s",
        ),
        ({"hop_s": 0.001}, "hop_s"),
        (
            {"scene_s": (3.0, 9.0)},
            (
                r"scene_s: scenes of up to 9 s, the longest recording of wren has 8 s"
                r" in a row"
            ),
        ),
        (
            {"scene_s": (0.5, 1.0), "stable": 1, "duration_s": 1.2},
            r"duration_s: 1\.2 s",
        ),
    ],
)
def test_a_stream_that_makes_no_sense_is_refused_with_both_numbers(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        played(real_time(**settings))


def test_a_task_that_is_no_signal_and_one_without_a_second_label_are_refused() -> None:
    assert isinstance(Birds(), SignalTask) and not isinstance(
        NullTask(NullTask.Settings()), SignalTask
    )
    with pytest.raises(ConfigError, match="null are no stretches of a signal"):
        played(real_time(), NullTask(NullTask.Settings()))
    with pytest.raises(ConfigError, match="recordings of owl, and no scene can change"):
        played(real_time(), Birds(lengths=(("owl", 10), ("owl", 10))))


def test_a_device_must_listen_while_it_works_and_hold_what_is_preloaded() -> None:
    scenario = real_time()
    with pytest.raises(
        ConfigError, match="dut cannot process a stream while it listens"
    ):
        scenario.fitted(device(streams=False))
    with pytest.raises(ConfigError, match="dut has 1 slot"):
        scenario.fitted(device(slots=1))
    assert played(scenario.fitted(device(slots=2))) == played(scenario)
    short = real_time(preloaded=True, scene_s=(1.0, 4.0), duration_s=6.0)
    assert played(short).windows == 11
    assert played(short.fitted(device(slots=11))).preloaded
    with pytest.raises(
        ConfigError,
        match=r"(?s)preloaded: 11 windows, the device holds 10.*5\.5 s or less",
    ):
        played(short.fitted(device(slots=10)))


HOP_S = 0.5
#: When the scenes of the stream below begin, in hops: the last is shorter than `stable`
#: decisions.
ONSETS = {"owl": 0.0, "wren": 3.2, "tit": 7.6, "robin": 10.9}


def decided(
    *answers: str,
    response_s: Sequence[float] = (),
    due: int = 0,
    onsets: dict[str, float] | None = None,
) -> Measured:
    """Return a stream of windows of 1 s, number k ready 1 + 0.5 k seconds after its
    beginning at 100 s, and answered as given; each takes 0.1 s at 3 W, and its decision
    is there 0.2 s, or `response_s`, after it was ready.
    """
    onsets = onsets or ONSETS
    labels = list(onsets)
    began_s = 100.0
    onsets_s = [began_s + hops * HOP_S for hops in onsets.values()]
    samples = []
    for number, answer in enumerate(answers):
        ready_s = began_s + 1.0 + number * HOP_S
        scene = max(
            position
            for position, onset_s in enumerate(onsets_s)
            if onset_s <= ready_s - HOP_S / 2
        )
        took_s = response_s[number] if response_s else 0.2
        response = Window("response", ready_s, ready_s + took_s, took_s, None)
        since_s = ready_s + took_s - onsets_s[scene]
        since_onset = Window(
            "since_onset", onsets_s[scene], ready_s + took_s, since_s, None
        )
        busy = (
            Window("preprocess", ready_s, ready_s + 0.04, 0.04, 0.12),
            Window("infer", ready_s, ready_s + 0.06, 0.06, 0.18),
        )
        hop = Hop(number, scene, response, since_onset)
        samples.append(
            sample_of(
                2,
                busy,
                indices=(),
                label=labels[scene],
                answer=answer,
                correct=answer == labels[scene],
                hop=hop,
            )
        )
    length_s = 1.0 + HOP_S * len(answers)
    whole = Window("stream", began_s, began_s + length_s, length_s, 1.5 * length_s)
    stream = Streamed(
        2,
        whole,
        tuple(labels),
        tuple(onsets_s),
        due=due or len(answers),
        hop_s=HOP_S,
        window_s=1.0,
        preloaded=False,
    )
    return Measured(tuple(samples), (Window("idle", 0.0, 1.0, 1.0, 0.5),), (stream,))


# Windows are ready 2, 3, 4, ... hops after the beginning; wren's are numbers 2 to 6,
# tit's 7 to 9, robin's is number 10.
WORDS = [
    "owl",
    "owl",
    "wren",
    "owl",
    "wren",
    "wren",
    "tit",
    "owl",
    "tit",
    "tit",
    "robin",
]


def test_the_latency_is_from_the_onset_to_the_first_of_the_right_decisions_in_a_row():
    metrics = real_time().summarise(decided(*WORDS), PHASES)
    # wren: number 2 is right but alone, then numbers 4 and 5 are, so number 4 counts:
    # ready at 6 hops, 2.8 after the onset, +0.2 s. tit: numbers 8 and 9, so number 8:
    # ready at 10 hops, 2.4 after the onset. robin has one decision.
    wren_s = 2.8 * HOP_S + 0.2
    tit_s = 2.4 * HOP_S + 0.2
    assert metrics["latency_onset"].value == pytest.approx((wren_s + tit_s) / 2)
    assert metrics["latency_onset"].n == 2
    assert (
        metrics["recognised"].value == pytest.approx(2 / 3)
        and metrics["recognised"].n == 3
    )
    assert metrics["accuracy"].value == pytest.approx(8 / 11)
    once = real_time(stable=1).summarise(decided(*WORDS), PHASES)
    # Then the lone ones count: ready at 4, 10 and 12 hops.
    first_s = [hops * HOP_S + 0.2 for hops in (4 - 3.2, 10 - 7.6, 12 - 10.9)]
    assert once["latency_onset"].value == pytest.approx(sum(first_s) / 3)
    assert once["recognised"].value == 1.0


def test_the_first_scene_is_no_change() -> None:
    lost_at_first = decided("tit", "tit", *WORDS[2:])
    first, then = (
        real_time().summarise(measured, PHASES)
        for measured in (decided(*WORDS), lost_at_first)
    )
    assert (
        first["latency_onset"] == then["latency_onset"]
        and first["recognised"] == then["recognised"]
    )
    assert "first scene follows no change, and is not counted" in " ".join(
        real_time().lines(lost_at_first)
    )


def test_a_run_of_right_decisions_does_not_reach_into_the_next_scene() -> None:
    # The last decision of one scene and the first of the next are right: neither scene
    # has two.
    measured = decided(*["owl"] * 5, "wren", "tit", *["owl"] * 4)
    assert real_time().summarise(measured, PHASES)["recognised"].value == 0.0


def test_scenes_that_are_never_recognised_give_no_latency_and_a_reason() -> None:
    scenario = real_time()
    measured = decided(*["owl"] * 11)
    metrics = scenario.summarise(measured, PHASES)
    assert metrics["recognised"].value == 0.0 and not [
        name for name in metrics if name.startswith("latency_onset")
    ]
    reasons = scenario.absent(measured)
    assert (
        reasons["latency_onset"]
        == "none of 3 new scenes had 2 right decisions in a row"
    )
    assert scenario.absent(decided(*WORDS)) == {}
    assert "0 of 3" in " ".join(scenario.lines(measured))


@given(
    st.lists(st.floats(0.01, 2.0), min_size=1, max_size=40),
    st.floats(0.05, 1.5),
    st.integers(0, 5),
    st.floats(0.1, 1.0),
)
def test_a_trial_counts_only_when_the_share_of_windows_that_were_due_met_the_deadline(
    response_s: list[float], deadline_s: float, unanswered: int, share: float
) -> None:
    scenario = real_time(deadline_s=deadline_s, share=share)
    due = len(response_s) + unanswered
    measured = decided(*["owl"] * len(response_s), response_s=response_s, due=due)
    met = sum(took_s <= deadline_s for took_s in response_s)
    metric = scenario.summarise(measured, PHASES)["within_deadline"]
    assert metric.value == pytest.approx(met / due) and metric.n == due
    assert metric.statistic is Statistic.SHARE
    assert bool(scenario.problems(measured)) == (met < share * due)
    assert all(
        problem.code == "rule" and f"{met} of {due}" in problem.detail
        for problem in scenario.problems(measured)
    )


def test_without_a_deadline_a_decision_is_due_within_a_hop() -> None:
    late = decided(*["owl"] * 10, response_s=[HOP_S + 0.001] * 2 + [HOP_S] * 8)
    assert real_time().summarise(late, PHASES)["within_deadline"].value == 0.8
    assert (
        real_time(deadline_s=0.6).summarise(late, PHASES)["within_deadline"].value
        == 1.0
    )


def test_powers_and_energies_are_those_of_the_stream_its_windows_and_the_idle_time():
    measured = decided(*WORDS, response_s=[0.2] * 10 + [0.3])
    metrics = {
        name: metric.value
        for name, metric in real_time().summarise(measured, PHASES).items()
    }
    length_s = 1.0 + HOP_S * len(WORDS)
    expected = {
        "latency_preprocess": 0.04,
        "latency_infer": 0.06,
        "latency_response": 2.3 / 11,
        "latency_response_p50": 0.2,
        "duty_cycle": 0.1 * len(WORDS) / length_s,
        "power_idle": 0.5,
        "power_active": 3.0,
        "power_dynamic": 2.5,
        "power_stream": 1.5,
        "power_stream_dynamic": 1.0,
        "energy_preprocess": 0.12,
        "energy_infer": 0.18,
        "energy_total": 0.3,
        "energy_dynamic": 0.3 - 0.5 * 0.1,
        "energy_stream": 1.5 * length_s,
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)


def test_the_scatter_of_idle_power_is_in_that_of_the_energy_above_it() -> None:
    measured = decided(*WORDS)
    idles = tuple(Window("idle", 0.0, 1.0, 1.0, energy_j) for energy_j in (0.4, 0.6))
    metrics = real_time().summarise(replace(measured, idles=idles), PHASES)
    # All windows of the stream are alike: 0.1 s each, at 3 W; (0.6 - 0.4) / 2 is the
    # standard error of two idle powers.
    assert metrics["energy_dynamic"].standard_error == pytest.approx(0.1 * 0.1)
    item = real_time().summarise(replace(measured, idles=idles[:1]), PHASES)[
        "energy_dynamic"
    ]
    assert item.standard_error is None, "one idle time does not tell its scatter"


def test_the_lines_tell_how_the_stream_came_and_how_right_it_was_by_the_age_of_a_scene():
    how, recognised, deadline, ages = real_time().lines(decided(*WORDS))
    assert (
        "11 windows, 4 scenes; streamed from the host: what the slots could not hold"
        " came while it played, and the link was busy." in how
    )
    assert "2 of 3" in recognised and "2 right decisions in a row" in recognised
    assert (
        "deadline of 500 ms: 11 of 11 windows, 100.0% (95 % interval as if windows were"
        " independent: 71.5% to 100.0%); 90% are needed." in deadline
    )
    # Ready after the onset, in hops: wren 0.8 right, 1.8 wrong, 2.8 and 3.8 right, 4.8
    # wrong; tit 1.4 wrong, 2.4 and 3.4 right; robin 1.1 right.
    assert (
        ages
        == "Right by time since the onset: 0 to 0.5 s 100% of 1; 0.5 to 1 s 33% of 3; 1"
        " to 1.5 s 100% of 2; 1.5 to 2 s 100% of 2; 2 to 2.5 s 0% of 1."
    )


def test_a_trial_of_which_nothing_was_measured_is_no_result_but_no_crash() -> None:
    scenario = real_time()
    nothing = Measured((), ())
    assert [problem.code for problem in scenario.problems(nothing)] == ["rule"]
    assert scenario.summarise(nothing, PHASES)["accuracy"].n == 0
    assert scenario.absent(nothing)
