# SPDX-License-Identifier: Apache-2.0
"""A generated stream with known words, scored end to end: on the virtual bench, on the
firmware as a process, and on the emulated Cortex-M4.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from rig.bench.probe import probe
from rig.errors import ConfigError, RigError
from rig.interfaces.context import BenchContext
from rig.model.steps import Stream
from rig.model.trial import Hop, Measured, Streamed, Window
from rig.session.session import SessionResult, open_bench
from rig.stats.binomial import Share
from scenarios.common.event_scoring import HOP_S
from scenarios.events.scenario import EventDetection
from scenarios.tasks.sww.task import SwwTask
from tests.boards import image
from tests.builds import built
from tests.checking import check
from tests.conftest import ROOT
from tests.samples import sample_of
from tests.scenarios.tasks.mlperf_tiny import fake_clone

POSIX = pytest.mark.posix
LENGTH_S = 24.0
SHORT = f"task.sww.length_s={LENGTH_S}"


def run(name: str, folder: Path, *overrides: str) -> SessionResult:
    with open_bench(ROOT / "benches" / f"{name}.toml", [*overrides]) as bench:
        return bench.run(1, folder)


def said(result: SessionResult) -> str:
    return "\n".join(result.trials[0].lines).replace("[simulated] ", "")


def accuracy(result: SessionResult) -> tuple[int, ...]:
    """Return true positives, false negatives and false positives."""
    line = next(line for line in said(result).splitlines() if "Accuracy" in line)
    return tuple(int(word) for word in line.split() if word.isdigit())


def words() -> int:
    return len(
        SwwTask.open(SwwTask.Settings(length_s=LENGTH_S), BenchContext()).events()
    )


def test_known_words_on_the_virtual_bench(tmp_path: Path) -> None:
    result = run("virtual-sww", tmp_path, SHORT)
    assert result.content["problems"] == []
    count = words()
    assert count >= 4
    assert accuracy(result) == (count, 0, 0)
    period = re.search(r"Average period: (\S+) s", said(result))
    assert period is not None
    assert float(period[1]) == pytest.approx(0.032, rel=2e-4)
    assert f"are those of 50 words; this signal has {count}." in said(result)
    assert result.metrics["recall"].value == 1.0
    # No false positive in 750 windows says that they are rare, not that there are none.
    false_positives = result.metrics["false_positive_share"]
    assert false_positives.value == 0.0
    assert false_positives.interval == pytest.approx((0.0, 3.7 / 750), rel=0.05)
    # 3 and 4 ms of a hop's 32
    assert result.metrics["throughput"].value == pytest.approx(1 / 0.007, rel=0.01)
    assert result.metrics["duty_cycle"].value == pytest.approx(7 / 32, rel=0.01)
    assert check(result.folder).ok


def test_words_that_a_device_misses_and_hears_are_counted(tmp_path: Path) -> None:
    # Wrong answers are turned: the share of other sounds stands first.
    result = run("virtual-sww", tmp_path, SHORT, "sut.virtual.error_rate=1.0")
    found, missed, false = accuracy(result)
    assert found + missed == words()
    assert false > 8
    assert "are not kept" not in said(result)
    share = result.metrics["false_positive_share"]
    windows = round(LENGTH_S / HOP_S)
    assert share.value == pytest.approx(false / windows, rel=0.01)


def test_a_device_that_is_too_slow_loses_the_stream(tmp_path: Path) -> None:
    result = run("virtual-sww", tmp_path, "sut.virtual.infer.duration_s=0.06")
    problems = str(result.content["problems"])
    assert "was begun when window" in problems
    assert not result.trials[0].valid


@pytest.mark.paced  # a busy host starves a stream in real time
@pytest.mark.posix
def test_the_firmware_as_a_process_hears_every_word_in_real_time(
    tmp_path: Path,
) -> None:
    program = f"sut.posix.program={built('posix') / 'posix' / 'sww'}"
    short = "scenario.events.duration_s=6.0"
    result = run("posix-sww", tmp_path, program, short)
    assert result.content["problems"] == []
    due = [end for _, end in SwwTask.open(SwwTask.Settings(), BenchContext()).events()]
    heard = sum(end < 4 * 16000 for end in due)
    assert heard >= 1
    assert accuracy(result)[0] >= heard
    assert accuracy(result)[2] == 0
    assert check(result.folder).ok


@pytest.mark.paced  # while the emulated core sleeps, its time goes with the host's
def test_the_emulated_core_decides_within_a_hop(tmp_path: Path) -> None:
    program = f"sut.qemu.program={image('stm32f405', 'sww')}"
    result = run("stm32f405-sww", tmp_path, program)
    assert result.content["problems"] == []
    assert accuracy(result) == (1, 0, 0)
    assert "Decided before the next window was there: 78 of 78 windows." in said(result)
    assert check(result.folder).ok


@pytest.mark.posix
def test_the_probe_asks_for_no_answer_outside_a_stream() -> None:
    program = f"sut.posix.program={built('posix') / 'posix' / 'sww'}"
    findings = list(probe(ROOT / "benches" / "posix-sww.toml", [program]))
    assert all(finding.ok for finding in findings)
    assert "skipped" in next(each.detail for each in findings if each.name == "query")


@pytest.mark.parametrize("mode", ["stream", pytest.param("one", marks=POSIX)])
def test_found_words_have_the_interval_of_independent_words_in_both_modes(
    tmp_path: Path, mode: str
) -> None:
    fake_clone.recording(tmp_path, 12.0, "words.json", "words.wav")
    path = tmp_path / "words.json"
    recordings = json.loads(path.read_text("utf-8"))
    assert len(recordings[0]["detection_windows"]) == 3
    # A word of the list that is not in the sound.
    recordings[0]["detection_windows"].insert(2, [6.5, 7.0])
    path.write_text(json.dumps(recordings), encoding="utf-8")
    signal = f"task.sww.audio={tmp_path / 'words.wav'}", f"task.sww.truth={path}"
    if mode == "stream":
        result = run("virtual-sww", tmp_path, *signal)
    else:
        program = f"sut.posix.program={built('posix') / 'posix' / 'sww'}"
        text = "sut.posix.layer=text", "scenario.events.mode=accuracy"
        whole = "scenario.events.duration_s=0"
        result = run("posix-sww", tmp_path, program, *signal, *text, whole)
    recall = result.content["metrics"]["recall"]
    assert recall["value"] == 3 / 4
    stated = recall["other_samples"]
    assert (stated["low"], stated["high"]) == Share(3, 4).interval()


def test_false_positives_have_an_interval_of_their_windows(tmp_path: Path) -> None:
    result = run("virtual-sww", tmp_path, SHORT, "sut.virtual.error_rate=0.9")
    false = result.content["metrics"]["false_positive_share"]
    windows = int(LENGTH_S / HOP_S)
    count = round(false["value"] * windows)
    low, high = Share(count, windows).interval()
    assert count > 0
    assert false["other_samples"]["low"] == pytest.approx(low, rel=0.5)
    assert false["other_samples"]["high"] == pytest.approx(high, rel=0.2)


@pytest.mark.posix
def test_windows_one_by_one_over_the_text_layer_have_the_same_accuracy(
    tmp_path: Path,
) -> None:
    program = f"sut.posix.program={built('posix') / 'posix' / 'sww'}"
    result = run(
        "posix-sww",
        tmp_path,
        program,
        *("sut.posix.layer=text", "scenario.events.mode=accuracy"),
        "scenario.events.duration_s=2.5",
    )
    assert result.content["problems"] == []
    assert accuracy(result) == (1, 0, 0)
    assert "there is no duty cycle" in said(result)
    assert set(result.metrics) == {"recall", "false_positive_share"}
    assert check(result.folder).ok


def test_one_by_one_needs_the_text_layer(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="in the text layer alone"):
        run("virtual-sww", tmp_path, "scenario.events.mode=accuracy")


def test_a_lost_window_and_the_first_one_count_as_the_runner_counts_them() -> None:
    hop_s = 0.032
    samples = []
    for number in (0, 1, 40, 41):  # the device lost those between
        captured_s = (number + 1) * hop_s
        took_s = 0.0405 if number == 41 else 0.0085
        decided = Window("response", captured_s, captured_s + took_s, took_s, None)
        hop = Hop(number, 0, decided, decided)
        phase = Window("infer", captured_s, captured_s + 0.008, 0.008, None)
        answer = "event" if number in (0, 40) else "none"
        samples.append(sample_of(1, [phase], indices=(number,), answer=answer, hop=hop))
    whole = Window("stream", 0.0, 50 * hop_s, 50 * hop_s, None)
    played = Streamed(
        step=1,
        whole=whole,
        labels=("none",),
        onsets_s=(0.0,),
        due=50,
        hop_s=hop_s,
        window_s=hop_s,
        preloaded=False,
    )
    measured = Measured(tuple(samples), (), (played,))
    lines = EventDetection(EventDetection.Settings()).lines(measured)
    # The first decision is the time zero, and no detection.
    assert lines[1].endswith("0 False negatives, 1 False positives")
    assert lines[3] == "Average period: 0.032 s"
    assert "Decided before the next window was there: 3 of 50 windows." in lines


def test_one_by_one_the_first_window_is_no_detection() -> None:
    samples = [
        sample_of(number, [], indices=(number,), answer="event", timed=False)
        for number in (0, 40)
    ]
    scenario = EventDetection(EventDetection.Settings(mode="accuracy"))
    lines = scenario.lines(Measured(tuple(samples), ()))
    assert lines[1].endswith("0 False negatives, 1 False positives")


def stream(**settings: float) -> Stream:
    task = SwwTask.open(SwwTask.Settings(length_s=20.0), BenchContext())
    scenario = EventDetection(EventDetection.Settings(**settings))  # type: ignore[arg-type]
    return next(step for step in scenario.plan(task, 1) if isinstance(step, Stream))


def test_a_stream_is_the_signal_without_a_gap() -> None:
    from rig.kinds.stream import StreamKind

    task = SwwTask.open(SwwTask.Settings(length_s=20.0), BenchContext())
    step = stream()
    played = StreamKind().payloads(task, step)
    assert list(played) == [task.payload(index) for index in range(len(task))]
    events = [
        (step.onset(number), step.onset(number) + scene.samples)
        for number, scene in enumerate(step.scenes)
        if scene.label == "event"
    ]
    assert tuple(events) == tuple(task.events())


def test_a_word_that_the_end_cuts_is_none() -> None:
    task = SwwTask.open(SwwTask.Settings(length_s=20.0), BenchContext())
    begin, end = task.events()[0]
    cut = stream(duration_s=(begin + end) / 2 / 16000)
    assert [scene.label for scene in cut.scenes] == ["none"]
    whole = stream(duration_s=(end + 1) / 16000)
    assert [scene.label for scene in whole.scenes] == ["none", "event", "none"]


@pytest.mark.parametrize(
    ("bench", "override", "cause"),
    [
        ("virtual-null", "scenario.events.duration_s=1.0", "no signal with events"),
        ("virtual-sww", "scenario.events.duration_s=61.0", "the signal has 60 s"),
    ],
)
def test_what_cannot_be_played_is_refused(
    tmp_path: Path, bench: str, override: str, cause: str
) -> None:
    text = (ROOT / "benches" / f"{bench}.toml").read_text("utf-8")
    if bench == "virtual-null":
        head, _, rest = text.partition("[scenario.")
        text = head + "[scenario.events]\n\n[task." + rest.partition("[task.")[2]
    path = tmp_path / "bench.toml"
    path.write_text(text)
    with pytest.raises(RigError, match=cause), open_bench(path, [override]) as opened:
        opened.run(1, tmp_path)


def test_a_query_to_a_device_with_a_state_is_refused(tmp_path: Path) -> None:
    text = (ROOT / "benches" / "virtual-sww.toml").read_text("utf-8")
    path = tmp_path / "bench.toml"
    path.write_text(text.replace("[scenario.events]", "[scenario.single_stream]"))
    with (
        pytest.raises(RigError, match="windows of a stream alone"),
        open_bench(path, []) as opened,
    ):
        opened.run(1, tmp_path)


def test_a_device_without_streams_is_refused() -> None:
    from rig.interfaces.sut import SutInfo

    deaf = SutInfo("a board", "uart", False, 1_000_000, "sww", slots=4)
    with pytest.raises(ConfigError, match="cannot process a stream"):
        EventDetection(EventDetection.Settings()).fitted(deaf)
    single = SutInfo("a board", "uart", False, 1_000_000, "sww", streams=True)
    with pytest.raises(ConfigError, match="has 1 slot"):
        EventDetection.open(EventDetection.Settings(), BenchContext()).fitted(single)
