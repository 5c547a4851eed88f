# SPDX-License-Identifier: Apache-2.0
"""A session in Python: statements, problems, tables, and folders in a bad state."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

import rig
from rig.session.session import SessionResult, open_bench
from rig.store.events import StepDone
from rig.trace.trace import about_of, reading
from tests.conftest import VIRTUAL_NULL

Run = Callable[..., SessionResult]


@pytest.fixture
def session(copied: Callable[[int], Path]) -> rig.Session:
    return rig.open_session(copied(2))


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A session that was stopped in its second trial of three."""

    def stop(event: object) -> None:
        if isinstance(event, StepDone) and event.trial == 2 and event.done.number > 3:
            raise KeyboardInterrupt

    settings = ["task.null.samples=4", "scenario.single_stream.idle_s=0.1"]
    with open_bench(VIRTUAL_NULL, settings) as bench, pytest.raises(KeyboardInterrupt):
        bench.run(3, tmp_path / "stopped", (stop,))
    return next((tmp_path / "stopped").iterdir())


def test_a_metric_carries_what_the_results_state(session: rig.Session) -> None:
    row = json.loads((session.path / "results.json").read_text())["metrics"][
        "energy_infer"
    ]
    metric = session.metrics["energy_infer"]
    assert metric.value == row["value"]
    assert metric.unit == "J"
    assert metric.standard_uncertainty == row["same_samples"]["standard_uncertainty"]
    assert metric.standard_uncertainty != row["standard_error_over_samples"]
    assert metric.same_samples.high == row["same_samples"]["high"]
    assert metric.other_samples.low == row["other_samples"]["low"]
    assert metric.per_trial == tuple(trial["value"] for trial in row["per_trial"])
    assert float(metric) == metric.value


def test_the_summary_of_a_session_is_one_line(session: rig.Session) -> None:
    assert session.status == "success"
    assert session.valid
    assert session.labels == ("SIMULATED", "RANDOM BYTES")
    assert "\n" not in repr(session) and "SIMULATED" in repr(session)
    assert not session.verdict, "two trials are too few"
    assert "5" in session.verdict.reason


def test_labels_stand_on_what_is_printed_and_on_tables(session: rig.Session) -> None:
    assert session.labels[0] == "SIMULATED"
    beside = f"({', '.join(session.labels)})"
    assert repr(session.verdict).endswith(beside)
    assert repr(session.metrics["energy_infer"]).endswith(beside)
    assert repr(session.metrics).endswith(f"{beside}>")
    assert repr(session.metrics["energy_infer"].surely_below(1.0)).endswith(beside)
    assert session.metrics["energy_infer"].statement().splitlines()[0].endswith(beside)
    for table in (
        session.trials(),
        session.samples(),
        session.windows(),
        session.metrics.table,
    ):
        assert table.attrs["labels"] == session.labels


def test_labels_stand_on_what_is_made_of_a_trace(session: rig.Session) -> None:
    with session.trace(1) as trace:
        assert trace.labels == session.labels
        assert f"({', '.join(session.labels)})" in repr(trace)
        assert trace.summary(columns=4).attrs["labels"] == session.labels
        for result in (trace.statistics(0, 0.1), trace.histogram(), trace.spectrum()):
            assert result.labels == session.labels
    first = rig.occasions(session, 1)[0]
    laid = rig.overlay(session, [1, 2], first.sample, first.repetition, kind=first.kind)
    assert laid.labels == session.labels
    results = session.path / "results.json"
    results.write_text(results.read_text().replace("1", "2", 1))
    with rig.open_session(session.path).trace(1) as trace:
        assert trace.labels == (*session.labels, "CHANGED AFTER THE RUN")


def test_an_export_says_of_what_it_is_and_is_opened_as_that(
    session: rig.Session, tmp_path: Path
) -> None:
    with session.trace(2) as trace:
        for form in ("csv", "jls", "parquet"):
            trace.export(tmp_path / f"part.{form}", 0, 0.01)
    labels = ", ".join(session.labels)
    first, heads, *_ = (tmp_path / "part.csv").read_text(encoding="utf-8").splitlines()
    assert first == f"# neurorig: {labels}; {session.path.name}, trial 2"
    assert heads.startswith("time (s),")
    for form in ("csv", "jls"):
        with rig.open_trace(tmp_path / f"part.{form}") as trace:
            assert trace.labels == session.labels
    with reading(tmp_path / "part.jls") as reader:
        # The name that Joulescope UI shows beside the signals.
        assert f"export ({labels})" in {
            source.name for source in reader.sources.values()
        }
        about = about_of(reader)
    assert (
        about["simulated"] is True
        and about["session"] == f"{session.path.name}, trial 2"
    )
    metadata = parquet.read_schema(tmp_path / "part.parquet").metadata
    assert metadata[b"labels"].decode() == labels
    assert metadata[b"session"].decode() == f"{session.path.name}, trial 2"


def test_a_session_that_was_stopped_has_its_labels(stopped: Path) -> None:
    result = rig.open_session(stopped)
    assert repr(result).endswith(f": abort ({', '.join(result.labels)})>")
    assert result.labels == ("SIMULATED", "RANDOM BYTES")


def test_a_bench_that_is_none_is_refused_when_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(rig.ConfigError, match="cannot be read"):
        rig.open_bench(tmp_path / "nosuch.toml")
    assert re.fullmatch(r"\d+\.\d+.*", rig.__version__)


def test_tables_have_units_in_their_columns(session: rig.Session) -> None:
    trials = session.trials()
    assert list(trials["trial"]) == [1, 2]
    assert list(trials["energy_infer_j"]) == list(
        session.metrics["energy_infer"].per_trial
    )
    samples = session.samples()
    assert len(samples) == 12
    assert (samples["infer_energy_j"] > 0).all()
    windows = session.windows()
    assert set(windows["kind"]) == {"idle", "sample"}
    of_samples = windows[(windows["kind"] == "sample") & (windows["phase"] == "infer")]
    assert list(of_samples["energy_j"]) == list(samples["infer_energy_j"])
    assert windows["step"].dtype == "Int64"


def test_a_problem_makes_a_session_invalid_and_is_reported(run_virtual: Run) -> None:
    invalid = rig.open_session(run_virtual("monitor.virtual.clock_ppm=900").folder)
    assert not invalid.valid
    assert invalid.problems[0].code == "clock"
    assert invalid.problems[0].meaning
    assert "trial 1: clock: " in invalid.invalid_because
    assert not invalid.verdict


def test_a_session_that_was_stopped_opens_with_its_finished_trials(
    stopped: Path,
) -> None:
    session = rig.open_session(stopped)
    assert session.status == "abort"
    assert not session.valid and not session.verdict
    assert "it did not finish (abort): 1 complete trial" in session.invalid_because
    assert session.metrics["energy_infer"].value > 0
    assert len(session.samples()) == 4
    assert session.trials()["trial"].tolist() == [1]
    with session.trace(2) as trace:
        assert 0 < trace.duration_s < session.trace(1).duration_s


def test_a_bad_session_does_not_break_the_list(
    session: rig.Session, stopped: Path
) -> None:
    root = session.path.parent
    stopped.rename(root / "renamed")
    bad = root / "20990101T000000Z-bad"
    bad.mkdir()
    (bad / "events.jsonl").write_text("no JSON\n")
    (root / "no session").mkdir()
    listed = rig.sessions(root)
    assert {each.path.name for each in listed} == {
        session.path.name,
        "renamed",
        bad.name,
    }
    assert listed[0].path.name in (session.path.name, "renamed")
    of_bad = next(each for each in listed if each.path == bad)
    assert of_bad.status == "unreadable" and not of_bad.valid
    assert "unreadable" in repr(of_bad)
    assert "unreadable" in of_bad._repr_html_()


def test_an_input_that_is_no_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rig.DataError, match="no session folder"):
        rig.open_session(tmp_path)


def test_a_notebook_shows_nothing_raw(session: rig.Session) -> None:
    path = session.path / "results.json"
    content = json.loads(path.read_text())
    content["metrics"]["<script>"] = content["metrics"]["energy_infer"]
    path.write_text(json.dumps(content))
    changed = rig.open_session(session.path)
    shown = (changed, changed.verdict, changed.metrics, changed.metrics["<script>"])
    pages = [item._repr_html_() for item in shown]
    assert all("<script>" not in page for page in pages)
    assert ["&lt;script&gt;" in page for page in pages] == [True, False, True, True]
    for label in changed.labels:
        assert all(label in page for page in pages)
    verdict = dataclasses.replace(changed.verdict, reason="<b>", labels=("<i>",))
    assert (
        verdict._repr_html_() == f"<p><b>INVALID ({verdict.rule}:"
        " &lt;b&gt;)</b></p><p><mark><b>&lt;i&gt;</b></mark></p>"
    )


def test_a_trace_of_a_trial_is_opened_and_others_are_refused(
    session: rig.Session,
) -> None:
    window = session.windows().iloc[0]
    with session.trace(1) as trace:
        energy_j = trace.energy(window["start_s"], window["stop_s"])
    assert energy_j == pytest.approx(window["energy_j"], rel=1e-3)
    with pytest.raises(rig.DataError, match="no trial 7"):
        session.trace(7)
    with pytest.raises(rig.DataError, match="no rail 'core'"):
        session.trace(1, "core")


def test_the_check_recomputes_every_number(session: rig.Session) -> None:
    checked = session.check()
    assert checked.ok, [each for each in checked.findings if not each.ok]
