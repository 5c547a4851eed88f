# SPDX-License-Identifier: Apache-2.0
"""Interleaved trials: each sample is loaded once, each trial queries it, and all
results say so."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner

from lab.faults.forger import edit_json, edit_lines, rehash, remake
from rig.api.sessions.session import open_session
from rig.api.trials.overlay import overlay
from rig.cli.main import rig
from rig.errors import BenchError, DataError
from rig.importers.open import open_any
from rig.model.completion import Completion
from rig.model.effects import TRIAL
from rig.model.steps import Idle, Load, Plan, Query, Step
from rig.results import claim, document, labels
from rig.results.results import Context, reduce_trial
from rig.session import estimate, session
from rig.session.planning import trial_seed
from rig.session.session import Bench, SessionResult, open_bench
from rig.session.turns import turns
from rig.store import completion_lines, sample_lines
from rig.store.events import Event, StepBegun, StepDone, TrialFinished
from rig.store.session_folder import SessionFolder
from rig.trace.trace import Trace
from scenarios.single_stream import SingleStream
from scenarios.tasks.null import NullTask
from tests.checking import check
from tests.conftest import VIRTUAL_NULL

SAMPLES = 4
TRIALS = 5
SMALL = (
    f"task.null.samples={SAMPLES}",
    "scenario.single_stream.idle_s=0.1",
    "scenario.single_stream.warmup=1",
)
TURNS = (*SMALL, "scenario.single_stream.interleaved=true")


@dataclass(frozen=True)
class Ran:
    """A session that was run, and its events."""

    result: SessionResult
    events: tuple[Event, ...]


def ran(root: Path, settings: Sequence[str]) -> Ran:
    events: list[Event] = []
    with open_bench(VIRTUAL_NULL, settings, [events.append]) as bench:
        return Ran(bench.run(TRIALS, root), tuple(events))


@pytest.fixture(scope="module")
def interleaved() -> Iterator[Ran]:
    """Run interleaved trials."""
    with TemporaryDirectory() as root:
        yield ran(Path(root), TURNS)


@pytest.fixture(scope="module")
def one_by_one() -> Iterator[Ran]:
    """Run the same trials one after the other."""
    with TemporaryDirectory() as root:
        yield ran(Path(root), SMALL)


def asked(folder: Path, trial: int) -> list[int]:
    """Return the timed samples of a trial in their order."""
    return [
        line.indices[0] for line in sample_lines.read(folder / f"trial-{trial}").samples
    ]


def wrong(folder: Path) -> list[str]:
    return [
        f"{finding.name}: {finding.detail}"
        for finding in check(folder).findings
        if not finding.ok
    ]


def test_each_sample_is_loaded_once_and_queried_by_every_trial(
    interleaved: Ran,
) -> None:
    begun = [event.step for event in interleaved.events if isinstance(event, StepBegun)]
    counts = Counter(type(step) for step in begun)
    assert counts[Load] == SAMPLES + 1, "the one of the warm-up is loaded again"
    assert counts[Query] == TRIALS * (SAMPLES + 1) and counts[Idle] == TRIALS * 2
    folder = interleaved.result.folder
    orders = [asked(folder, trial) for trial in range(1, TRIALS + 1)]
    assert orders == [orders[0]] * TRIALS and sorted(orders[0]) == list(range(SAMPLES))
    assert all(len(trial.measured.idles) == 2 for trial in interleaved.result.trials)
    assert [path.name for path in folder.glob("**/trace.jls")] == ["trace.jls"]
    assert wrong(folder) == []


def test_it_measures_what_trials_one_after_the_other_do(
    interleaved: Ran, one_by_one: Ran
) -> None:
    assert interleaved.result.ok and one_by_one.result.ok
    for name in ("latency_total", "power_idle", "energy_total", "accuracy"):
        item, other = (
            ran.result.metrics[name].value for ran in (interleaved, one_by_one)
        )
        assert item == pytest.approx(other, rel=0.02), name


def test_whatever_states_the_verdict_says_so(interleaved: Ran, one_by_one: Ran) -> None:
    for ran, due in ((interleaved, True), (one_by_one, False)):
        results = ran.result.results
        assert (labels.INTERLEAVED in labels.texts(results.labels)) is due
        assert (results.replication.interleaved is not None) is due
        tree = json.loads((ran.result.folder / "results.json").read_text())
        assert ("interleaved" in tree["replication"]) is due
        assert (tree["provenance"].get("interleaved") is True) is due
        method = results.metrics["latency_total"].same_samples.method
        assert ("trials interleaved" in method) is due
        assert document.from_json(tree) == results
        published = claim.read(ran.result.folder / "results.json")
        assert (labels.INTERLEAVED in published.labels) is due


def test_what_errs_in_a_recording_does_not_shrink_with_trials_of_one_recording(
    interleaved: Ran, one_by_one: Ran
) -> None:
    def of_recording(ran: Ran) -> bool:
        for trial in ran.result.trials:
            kinds = (parts.values() for parts in trial.influences.values())
            if any(part.kind == TRIAL for part in chain.from_iterable(kinds)):
                return True
        return False

    assert of_recording(one_by_one) and not of_recording(interleaved)


def test_progress_is_that_of_the_one_recording(interleaved: Ran) -> None:
    begun = [event for event in interleaved.events if isinstance(event, StepBegun)]
    # Of one among five recordings it would be a fifth at most; how near to 1 depends on
    # the clock.
    assert 1 / TRIALS < begun[-1].share < 1
    assert {event.trial for event in begun} == set(range(1, TRIALS + 1))
    assert begun[-2].left_s is not None and begun[-2].left_s < 5


def test_the_trace_of_each_trial_has_its_own_windows_and_trials_lie_over_each_other(
    interleaved: Ran,
) -> None:
    of_folder = open_session(interleaved.result.folder)
    steps = []
    for trial in (1, 3):
        with of_folder.trace(trial) as trace:
            spans = trace.spans
            assert (
                spans is not None
                and trace.place is not None
                and trace.place.trial == trial
            )
            windows = 2 * (SAMPLES + 1) + 2
            assert len(spans) == windows, "of queries with warm-up, and idles"
            steps.append([int(step) for step in spans.step])
    assert not set(steps[0]) & set(steps[1])
    for sample in range(SAMPLES):
        laid = overlay(of_folder, [1, 3], sample).trials
        assert laid[0].step < laid[1].step and laid[0].start_s < laid[1].start_s


def test_the_plan_counts_loads_and_bursts_of_interleaved_trials_once() -> None:
    apart, together = (
        estimate.of_bench(VIRTUAL_NULL, settings, TRIALS) for settings in (SMALL, TURNS)
    )
    once_s = sum(row.known_s for row in apart.rows if row.kind in ("load", "sync"))
    assert once_s > 0
    assert together.known_s == pytest.approx(apart.known_s - (TRIALS - 1) * once_s)
    assert together.known_b < apart.known_b
    options = [*chain.from_iterable(("--set", setting) for setting in TURNS)]
    shown = CliRunner().invoke(rig, ["plan", str(VIRTUAL_NULL), *options]).output
    assert "5 trials interleaved" in shown
    assert labels.INTERLEAVED_STATEMENT in " ".join(shown.split())


def stopping(when: Callable[[Event], bool], count: int) -> Callable[[Event], None]:
    left = [count]

    def subscriber(event: Event) -> None:
        left[0] -= when(event)
        if left[0] < 0:
            raise KeyboardInterrupt

    return subscriber


def is_step(event: Event) -> bool:
    return isinstance(event, StepDone)


def is_trial(event: Event) -> bool:
    return isinstance(event, TrialFinished)


@pytest.mark.parametrize(
    ("when", "count"),
    [
        (is_step, 3),
        (is_step, 8),
        (is_step, 11),
        (is_step, 13),
        (is_trial, 0),
        (is_trial, 1),
    ],
    ids=["idle", "warm-up", "sample's 1st", "sample's 2nd", "measured 1", "measured 2"],
)
def test_a_session_that_was_killed_asks_each_sample_once_for_each_trial(
    tmp_path: Path, when: Callable[[Event], bool], count: int
) -> None:
    with open_bench(VIRTUAL_NULL, TURNS) as bench, pytest.raises(KeyboardInterrupt):
        bench.run(TRIALS, tmp_path, [stopping(when, count)])
    (folder,) = tmp_path.iterdir()
    result = session.resume(folder)
    assert result.ok and result.results.provenance.interleaved
    for trial in range(1, TRIALS + 1):
        assert sorted(asked(folder, trial)) == list(range(SAMPLES))
    assert len({trial.segments for trial in result.trials}) == 1
    assert wrong(folder) == []


def other_order(folder: Path) -> None:
    """Let the bench file have the other order than the session."""
    path = folder / "bench.toml"
    text = path.read_text()
    there = "interleaved = true" in text
    old, new = ("true", "false") if there else ("false", "true")
    assert f"interleaved = {old}" in text
    path.write_text(text.replace(f"interleaved = {old}", f"interleaved = {new}"))


def say_so(folder: Path) -> None:
    def other(about: dict[str, object]) -> None:
        if about.pop("interleaved", None) is None:
            about["interleaved"] = True

    edit_json(folder / "provenance.json", other)


def swapped(folder: Path) -> None:
    """Let trial 2 have the queries of trial 3, which may have been the better ones."""

    def swap(number: int, line: dict[str, object]) -> None:
        if line["kind"] == "query":
            line["trial"] = {2: 3, 3: 2}.get(int(str(line["trial"])), 1)

    edit_lines(folder / "trial-1" / "completions.jsonl", swap)


def unnamed(folder: Path) -> None:
    edit_lines(
        folder / "trial-1" / "completions.jsonl",
        lambda _, line: line.pop("trial", None),
    )


def apart(folder: Path) -> None:
    """Give each trial the recording and its own steps, as if recorded one after the
    other.
    """
    lines = [
        json.loads(text)
        for text in (folder / "trial-1" / "completions.jsonl").read_text().splitlines()
    ]
    for trial in range(1, TRIALS + 1):
        own = folder / f"trial-{trial}"
        for name in ("trace.jls", "gaps.jsonl", "uart.log"):
            if trial > 1:
                shutil.copyfile(folder / "trial-1" / name, own / name)
        kept = [line for line in lines if line.get("trial", 0) in (0, trial)]
        (own / "completions.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in kept)
        )
        edit_lines(own / "completions.jsonl", lambda _, line: line.pop("trial", None))

    def named(events: list[dict[str, Any]]) -> None:
        first = next(event for event in events if event["event"] == "trial_finished")
        for event in events:
            if event["event"] == "trial_finished":
                event["files"] = dict(first["files"])
            if event["event"] == "trial_started":
                event["seed"] = trial_seed(1, event["trial"])

    rehash(folder, named)


FORGED: dict[str, tuple[Callable[[Path], None], ...]] = {
    "the bench file": (other_order,),
    "bench file and provenance": (other_order, say_so),
    "the provenance": (say_so,),
    "no trial is named": (other_order, say_so, unnamed),
    "trials swapped": (swapped,),
    "trials set apart": (other_order, say_so, apart),
}


@pytest.mark.computes
@pytest.mark.parametrize("name", FORGED)
def test_an_order_that_was_forged_is_refused(
    tmp_path: Path, name: str, interleaved: Ran
) -> None:
    folder = tmp_path / "session"
    shutil.copytree(interleaved.result.folder, folder)
    for change in FORGED[name]:
        change(folder)
    again(folder)
    assert wrong(folder), name


@pytest.mark.computes
@pytest.mark.parametrize(
    "name", ["the bench file", "bench file and provenance", "the provenance"]
)
def test_trials_one_after_the_other_do_not_pass_for_interleaved(
    tmp_path: Path, name: str, one_by_one: Ran
) -> None:
    folder = tmp_path / "session"
    shutil.copytree(one_by_one.result.folder, folder)
    for change in FORGED[name]:
        change(folder)
    again(folder)
    assert wrong(folder), name


def again(folder: Path) -> None:
    """Make all derived files again, as far as that can be done, and all hashes."""
    (folder / "report.html").unlink(missing_ok=True)
    try:
        remake(folder)
    except (DataError, OSError, LookupError, ValueError):
        rehash(folder)


def changing(bench: Bench, from_query: int) -> None:
    """Let the device change its input in a query: the next answer is another one."""
    do = bench.sut.do
    queries = [0]
    loaded = [True]

    def changed(step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        completion = do(step, payloads)
        if isinstance(step, Load):
            loaded[0] = True
        if isinstance(step, Query):
            queries[0] += 1
            fresh, loaded[0] = loaded[0], queries[0] < from_query
            right = completion.output
            return (
                completion
                if fresh
                else replace(completion, output=right[4:] + right[:4])
            )
        return completion

    bench.sut.do = changed  # type: ignore[method-assign]


def test_a_device_that_changes_its_input_is_refused_at_the_first_sample(
    tmp_path: Path,
) -> None:
    with (
        open_bench(VIRTUAL_NULL, TURNS) as bench,
        pytest.raises(BenchError, match="another answer to a sample") as caught,
    ):
        changing(bench, 1)
        bench.run(TRIALS, tmp_path)
    assert "interleaved = false" in caught.value.try_next
    (folder,) = tmp_path.iterdir()
    done = completion_lines.read(folder / "trial-1")
    assert sum(isinstance(item.step, Query) for item in done) == 1


def test_one_that_does_so_later_loses_the_trials_that_it_deceived(
    tmp_path: Path,
) -> None:
    # A wrong answer is one that a virtual device may give: the check knows which it
    # can.
    with open_bench(VIRTUAL_NULL, (*TURNS, "sut.virtual.error_rate=1e-12")) as bench:
        changing(bench, TRIALS * SAMPLES)
        result = bench.run(TRIALS, tmp_path)
    assert [trial.valid for trial in result.trials] == [True] + [False] * 4
    (problem,) = result.trials[1].problems
    assert problem.code == "answers" and problem.detail.startswith("1 of 5 answers")
    assert not result.ok and wrong(result.folder) == []


class Adaptive(SingleStream):
    """A scenario whose plan depends on answers: its trials cannot take turns."""

    def plan(self, task: object, seed: int) -> Plan:
        first = yield Query((0,))
        assert first is not None
        yield Idle(1.0 + len(first.output))


def test_plans_that_part_are_refused() -> None:
    scenario = Adaptive(SingleStream.Settings(interleaved=True))
    plan = turns(scenario, NullTask(NullTask.Settings()), 1, 2)
    assert next(plan).trial == 1
    assert plan.send(Completion((), b"1")).trial == 2
    with pytest.raises(DataError, match="plans of interleaved trials differ"):
        plan.send(Completion((), b"22"))


def test_a_trial_without_a_trace_of_its_own_names_the_recording(
    interleaved: Ran,
) -> None:
    folder = interleaved.result.folder
    with pytest.raises(DataError, match="the trials were interleaved") as refused:
        open_any(folder / "trial-3", folder / "none")
    assert str(folder / "trial-1") in refused.value.try_next


def test_the_recording_of_all_trials_is_read_once(
    interleaved: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = Counter[str]()
    read = completion_lines.read
    opened = Trace.open

    def counted_read(folder: Path) -> Any:
        reads["steps"] += 1
        return read(folder)

    def counted_open(path: Path) -> Trace:
        reads["trace"] += 1
        return opened(path)

    monkeypatch.setattr(completion_lines, "read", counted_read)
    monkeypatch.setattr(Trace, "open", counted_open)
    folder = SessionFolder(interleaved.result.folder)
    context = Context.of(folder)
    recorded = folder.recorded(1)
    again = [
        reduce_trial(context, recorded, trial.number, trial.seed)
        for trial in interleaved.result.trials
    ]
    assert reads == {"steps": 1, "trace": 1}
    assert [trial.metrics for trial in again] == [
        trial.metrics for trial in interleaved.result.trials
    ]
    assert [trial.influences for trial in again] == [
        trial.influences for trial in interleaved.result.trials
    ]
