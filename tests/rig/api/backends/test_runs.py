# SPDX-License-Identifier: Apache-2.0
"""One model on several backends, through the command: real sessions of few samples,
once."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import shutil
import sys
import tomllib
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from rig.api.backends import agreement, comparison, forms, picture, runs
from rig.api.backends.agreement import Answer
from rig.api.backends.rows import BackendRow, ComparedBackend, Failure, ModelComparison
from rig.api.backends.runs import RequestedRuns, UnknownBackend
from rig.api.sessions.session import Session, open_session
from rig.cli.printed.result_tables import print_results
from rig.cli.printed.terminal import Terminal
from rig.errors import DataError
from rig.interfaces.context import BenchContext
from rig.network import complexity, complexity_text, conventions, graph
from rig.report.report import rendered
from rig.results.verdict import Outcome
from rig.store.events import Event, TrialFinished
from scenarios.tasks.asc.integer import spike_counts
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import AscTask
from tests.builds import built
from tests.commands import rig
from tests.conftest import ROOT

MODEL = ROOT / "scenarios" / "tasks" / "asc" / "asc.nir"
BENCH = """
[sut.virtual]
clock_ppm = 60.0
[sut.cpu-nir]
program = "nir"
[monitor.virtual]
[scenario.single_stream]
idle_s = 0.06
warmup = 0
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """A comparison that was run, and the folder it was run in."""

    folder: Path
    words: tuple[str | Path, ...]
    told: CompletedProcess[str]

    @property
    def sessions(self) -> list[Path]:
        result = {
            path.name.rpartition("-")[2]: path
            for path in (self.folder / "sessions").iterdir()
        }
        assert len(result) == len(list((self.folder / "sessions").iterdir()))
        return [result[name] for name in ("virtual", "posix", "nir")]

    def file(self, ending: str) -> Path:
        return self.folder / "out" / f"comparison.{ending}"


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The model on three backends; the second of the bench file runs it in floating
    point."""
    built("posix")
    folder = tmp_path_factory.mktemp("backends")
    (folder / "compare.toml").write_text(BENCH)
    words = ("compare", MODEL, "--suts", "virtual,posix,cpu-nir,uart", "--bench", "compare.toml",
             "--samples", "4", "--trials", "1", "--output", "out")  # fmt: skip
    return Done(folder, words, rig(*words, cwd=folder))


@pytest.fixture(scope="session")
def found(done: Done) -> ModelComparison:
    """The same comparison, made of its sessions."""
    return comparison.compare(
        [ComparedBackend(path.name, Session(path)) for path in done.sessions]
    )


def lines(done: Done) -> dict[str, dict[str, str]]:
    rows = csv.DictReader(io.StringIO(done.file("csv").read_text()))
    return {row["backend"]: row for row in rows}


def test_each_backend_that_runs_agrees_and_one_that_cannot_says_why(done: Done) -> None:
    # One trial is no verdict, and there is no port.
    assert done.told.returncode == 1, done.told.stdout + done.told.stderr
    rows = lines(done)
    assert [rows[name]["agree_outputs"] for name in ("virtual", "posix")] == ["4", "4"]
    assert [
        rows[name]["agree_decisions"] for name in ("virtual", "posix", "cpu-nir")
    ] == ["4"] * 3
    assert rows["uart"]["failure"].startswith("there is no port")
    assert "uart did not run: there is no port" in done.told.stdout
    assert len(done.sessions) == 3


def test_a_program_of_another_arithmetic_does_not_agree_in_all(done: Done) -> None:
    row = lines(done)["cpu-nir"]
    assert row["rule"] == "program: nir"
    assert int(row["agree_membranes"]) < 4
    assert int(row["agree_outputs"]) < 4
    assert "cpu-nir: membranes differ by up to" in done.told.stdout


def test_every_number_has_its_origin_and_its_interval(done: Done) -> None:
    rows = lines(done)
    assert (rows["virtual"]["time_origin"], rows["virtual"]["energy_origin"]) == (
        "simulated",
    ) * 2
    # The processor is real, its energy is not.
    assert (rows["cpu-nir"]["time_origin"], rows["cpu-nir"]["energy_origin"]) == (
        "measured",
        "simulated",
    )
    reported = json.loads(done.file("json").read_text())
    assert reported["schema"] == forms.SCHEMA
    for row in reported["rows"][:3]:
        for figure in row["figures"]:
            low, high = figure[
                "other_samples" if figure["unit"] == "1" else "same_samples"
            ]
            assert low <= figure["value"] <= high
    assert "| virtual | 4 of 4 | - | 4 of 4 | 4 of 4 |" in done.file("md").read_text()


def test_the_network_s_complexity_stands_beside_its_joules(
    done: Done, found: ModelComparison, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = found.complexity
    assert counted is not None
    assert (counted.samples, counted.steps, counted.dense) == (4, 125, 400_000)
    assert 0 < counted.effective_acs < counted.effective_macs < counted.dense
    assert lines(done)["cpu-nir"]["network_dense"] == "400000"
    assert "effective MACs" in done.told.stdout
    print_results(Terminal(width=200), Session(done.sessions[0]).results)
    assert complexity_text.line(counted) in capsys.readouterr().out
    assert complexity_text.line(counted) in rendered(done.sessions[0])
    # By the task's own front end, over the same seconds.
    task = AscTask.open(AscTask.Settings(samples=4), BenchContext())
    audio = np.stack([np.frombuffer(task.payload(index), "<i2") for index in range(4)])
    counts = spike_counts(read_model(MODEL).bank, audio)
    read = graph.read(MODEL)
    how = conventions.stated(read.nodes)
    assert complexity.count(graph.network(read), counts, how=how) == counted


def test_the_same_again_runs_nothing_and_says_the_same(done: Done) -> None:
    before = {
        ending: done.file(ending).read_bytes()
        for ending in ("csv", "json", "md", "svg")
    }
    sessions = done.sessions
    reported = rig(*done.words, cwd=done.folder)
    assert reported.returncode == 1
    assert reported.stdout.count("is there: ") == 3
    assert done.sessions == sessions
    assert before == {ending: done.file(ending).read_bytes() for ending in before}


def test_sessions_of_one_model_give_the_same_table(done: Done) -> None:
    reported = rig("compare", *done.sessions, cwd=done.folder)
    assert reported.returncode == 4
    own = [
        line.split()[1:] for line in done.told.stdout.splitlines() if " of 4 " in line
    ]
    assert [
        line.split()[1:] for line in reported.stdout.splitlines() if " of 4 " in line
    ] == own
    assert rig("compare", *done.sessions[:2]).stdout.count("B less A") == 1


def test_the_picture_has_a_line_for_each_backend_and_colours_for_origins(
    found: ModelComparison, tmp_path: Path
) -> None:
    gone = BackendRow("gone", failure=Failure("no such board"))
    first = dataclasses.replace(found.rows[0], verdict=Outcome.FAIL, valid=True)
    rows = (first, *found.rows[1:], gone)
    drawn = picture.drawing(dataclasses.replace(found, rows=rows))
    panels = drawn.get_axes()
    lines = [label.get_text() for label in panels[0].get_yticklabels()]
    assert lines[0] == f"{first.name}\nFAIL"
    assert lines[-1] == "gone"
    assert [axes.get_title(loc="left") for axes in panels[1:]] == list(
        found.main_metrics
    )
    assert len(panels[0].get_yticks()) == 4
    legend = {text.get_text() for text in drawn.legends[0].get_texts()}
    assert legend == {"measured", "simulated"}
    assert "SIMULATED" in panels[-1].get_title(loc="right")
    assert any("no such board" in text.get_text() for text in panels[0].texts)
    picture.write(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000


class Interrupted:
    """A subscriber that is stopped by the user after the first trial."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialFinished):
            raise KeyboardInterrupt


def test_a_comparison_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    bench = tmp_path / "compare.toml"
    bench.write_text(BENCH)
    planned = runs.plan(
        "virtual", RequestedRuns(MODEL, samples=4, trials=2, bench=bench)
    )
    with pytest.raises(KeyboardInterrupt):
        runs.run(planned, tmp_path, {}, (Interrupted(),))
    before = runs.earlier(planned, tmp_path, {})
    assert before is not None
    assert before.status == "abort"
    backend = runs.run(planned, tmp_path, {})
    assert backend.session is not None
    assert backend.session.path == before.path
    assert len(backend.session.results.trials) == 2

    # Another model or other data under the same names is another session.
    facts = {"model_sha256": "another"}
    assert runs.earlier(planned, tmp_path, facts) is None


def refused(name: str, wanted: RequestedRuns, folder: Path) -> Failure:
    """Run a backend that cannot run; return why."""
    backend = runs.run(runs.plan(name, wanted), folder, {})
    assert backend.session is None
    assert backend.failure is not None
    with pytest.raises(DataError, match="no backend has results"):
        comparison.compare([backend])
    return backend.failure


def test_a_missing_sdk_and_a_model_that_does_not_map_are_rows(
    tmp_path: Path, found: ModelComparison
) -> None:
    bench = tmp_path / "compare.toml"
    # A Python that has no SDK.
    bench.write_text(f"[sut.loihi]\ninterpreter = {sys.executable!r}\n")
    missing = refused("loihi", RequestedRuns(MODEL, 4, 1, bench), tmp_path)
    assert "lava-nc is not installed" in missing.evidence
    wanted = with_inputs(tmp_path)
    python = f"sut.xylo.interpreter={sys.executable}"
    wanted = dataclasses.replace(wanted, overrides=(*wanted.overrides, python))
    unmapped = refused("xylo", wanted, tmp_path)
    # Settings of one kind do not replace another kind.
    assert "[sut.cpu]" in runs.plan("cpu", wanted).text
    assert unmapped.cause.startswith("the network does not fit on Xylo Audio 2")
    assert "fc1: a bias on weights" in unmapped.evidence
    row = BackendRow("xylo", failure=unmapped)
    shown = dataclasses.replace(found, rows=(*found.rows, row))
    assert f"| xylo | did not run: {unmapped.cause} |" in forms.markdown(
        forms.page(shown)
    )
    assert any("fc1: a bias on weights" in line for line in forms.remarks(shown))


OTHER = ROOT / "tests" / "vectors" / "nir" / "complexity" / "feedforward"


def with_inputs(folder: Path) -> RequestedRuns:
    """A model that is no task's own, and its inputs."""
    with np.load(OTHER.with_suffix(".npz")) as stored:
        np.save(folder / "inputs.npy", stored["input"])
        dt_s = float(stored["dt_s"])
    return RequestedRuns(
        OTHER.with_suffix(".nir"),
        trials=1,
        overrides=(f"task.network.dt_s={dt_s!r}", "task.network.rule=snntorch-zero"),
        files={"inputs": str(folder / "inputs.npy")},
    )


def test_a_name_that_is_nothing_is_a_slip(done: Done) -> None:
    with pytest.raises(
        UnknownBackend, match="no backend, example bench or bench file 'xylofon'"
    ):
        runs.plan("xylofon", RequestedRuns(MODEL))
    assert rig("compare", MODEL, "--suts", "xylofon", cwd=done.folder).returncode == 2
    assert rig("compare", MODEL, cwd=done.folder).returncode == 2
    reported = rig("compare", "compare.toml", "--suts", "virtual", cwd=done.folder)
    assert reported.returncode == 2
    assert "compare.toml is not a NIR file" in reported.stderr


def test_a_model_that_is_no_task_s_own_runs_with_inputs(tmp_path: Path) -> None:
    assert (runs.task_of(MODEL), runs.task_of(OTHER.with_suffix(".nir"))) == (
        "asc",
        "network",
    )
    backend = runs.run(
        runs.plan("cpu", with_inputs(tmp_path)), tmp_path / "sessions", {}
    )
    result = comparison.compare([backend])
    (row,) = result.rows
    assert row.agreement is not None
    assert row.agreement.decisions.share.value == 1.0
    assert row.beside is not None
    assert row.beside.share.value == 1.0
    # The same samples as those that the harness ran, in the same rule.
    assert result.complexity is not None
    assert result.complexity.effective_acs == 1409.5
    # The task's example bench states the processor's power.
    assert forms.origin_of(row, "J") == "simulated"


def test_the_example_s_variants_are_benches() -> None:
    bench = ROOT / "examples" / "compare.toml"
    variants = tomllib.loads(bench.read_text())["sut"]
    assert len(variants) == 5
    for name, settings in variants.items():
        planned = tomllib.loads(runs.plan(name, RequestedRuns(MODEL, bench=bench)).text)
        (kind,) = planned["sut"]
        assert kind == name.partition("-")[0]
        assert settings.items() <= planned["sut"][kind].items()
        assert planned["task"]["asc"]["samples"] == 40
        assert planned["monitor"] == {"none": planned["monitor"]["none"]}


@pytest.mark.parametrize(
    ("name", "device", "monitor"),
    [("gpu", "cuda", "nvml"), ("torch-asc", "cpu", "virtual")],
)
def test_a_kind_is_the_example_that_bears_its_name(
    name: str, device: str, monitor: str
) -> None:
    planned = tomllib.loads(runs.plan(name, RequestedRuns(MODEL)).text)
    assert planned["sut"]["gpu"]["device"] == device
    assert list(planned["monitor"]) == [monitor]


def test_a_variant_has_a_name_of_its_own_and_takes_no_other_s_place(
    tmp_path: Path,
) -> None:
    for wanted, kind in (
        (RequestedRuns(MODEL), "asc"),
        (with_inputs(tmp_path), "network"),
    ):
        for name, rule, precision in (
            ("loihi", "file", "floating"),
            ("loihi-fixed", "stock", "fixed"),
        ):
            planned = tomllib.loads(runs.plan(name, wanted).text)
            reported = planned["sut"]["loihi"]
            assert (reported["rule"], reported["precision"]) == (rule, precision)
            assert list(planned["task"]) == [kind]
    # Facts of its example bench about the network of ASC are not repeated for another
    # network.
    assert not planned.get("metadata", {}).get("algorithm")


def test_one_changed_answer_is_found(done: Done) -> None:
    session = open_session(done.sessions[0])
    theirs = agreement.answers(session)
    assert sorted(theirs) == [0, 1, 2, 3]
    assert agreement.agreement(theirs, theirs, None).decisions.count == 4
    spoilt = {index: list(each) for index, each in theirs.items()}
    output = bytearray(spoilt[2][0].output)
    output[0] ^= 1
    spoilt[2] = [Answer(spoilt[2][0].decision, bytes(output))]
    spoilt[3] = [*spoilt[3], Answer("tram, once", spoilt[3][0].output)]
    reported = agreement.agreement(spoilt, theirs, None)
    assert (reported.decisions.count, reported.outputs.count) == (3, 3)
    assert reported.differing == (
        f"3: {theirs[3][0].decision} or tram, once, not {theirs[3][0].decision}",
    )
    with pytest.raises(DataError, match="no sample in common"):
        agreement.agreement(theirs, {9: theirs[0]}, None)


def test_sessions_of_other_samples_are_refused(done: Done, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(done.sessions[0], copy)
    path = copy / "results.json"
    path.write_text(
        path.read_text().replace("4 of 120, class-balanced", "4 of 120, others")
    )
    with pytest.raises(DataError, match="not of one model and one set of samples"):
        comparison.compare(
            [
                ComparedBackend("a", Session(done.sessions[1])),
                ComparedBackend("b", Session(copy)),
            ]
        )


def test_inputs_of_another_shape_are_refused_with_both_shapes(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.zeros(9))
    words = ("compare", OTHER.with_suffix(".nir"), "--suts", "cpu,virtual")
    words += ("--inputs", "flat.npy", "--dt", "0.001", "--reset", "zero")
    reported = rig(*words, cwd=tmp_path)
    assert reported.returncode == 2
    assert "inputs of the shape (9,)" in reported.stderr
    assert "the network takes (samples, steps, 8)" in reported.stderr
    assert "try: an array (samples, steps, 8)" in reported.stderr
