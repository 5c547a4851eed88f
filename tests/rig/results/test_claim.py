# SPDX-License-Identifier: Apache-2.0
"""Claims: refused before anything is powered where no result could meet them, and
tested on sessions that are finished.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rig.cli.main import rig as command
from rig.errors import ConfigError
from rig.interfaces.scenario import Scenario
from rig.model.declaration import DeclaredMetrics
from rig.model.steps import Query
from rig.results import claim as claims
from rig.session import planning
from rig.session.planning import open_plan, steps
from rig.session.session import SessionResult as SessionResult
from rig.session.session import open_bench
from rig.stats.claimed_value import Spread
from tests import checking
from tests.conftest import ROOT, VIRTUAL_NULL

pytestmark = pytest.mark.computes

Run = Callable[..., SessionResult]
#: The check of a session that no test here changes: once for all claims on it.
CHECK = cache(checking.check)
BENCHES = sorted((ROOT / "benches").glob("*.toml"))
#: Benches that run in virtual time, made short, and every mode of the one that has
#: modes.
QUICK = [
    ("virtual-null", ["task.null.samples=70", "scenario.single_stream.idle_s=0.05"]),
    ("virtual-asc", ["task.asc.samples=8", "scenario.single_stream.idle_s=0.05"]),
    ("virtual-offline", ["task.asc.samples=8", "scenario.offline.min_duration_s=1.0"]),
    ("virtual-real-time", ["scenario.real_time.duration_s=20.0"]),
    (
        "virtual-qubo",
        [
            "scenario.optimization.timeouts_s=[1e-3, 0.1]",
            "scenario.optimization.attempts=6",
        ],
    ),
    ("virtual-tiny", ["scenario.tiny.mode=energy"]),
    ("virtual-tiny", ["scenario.tiny.mode=accuracy"]),
    (
        "virtual-tiny",
        [
            "scenario.tiny.mode=accuracy",
            "task.mlperf_tiny.benchmark=ad01",
            "sut.virtual.slots=1",
        ],
    ),
]


def bench(name: str) -> Path:
    return ROOT / "benches" / f"{name}.toml"


def foreseen(path: Path, overrides: Sequence[str] = ()) -> DeclaredMetrics:
    scenario, task, _ = open_plan(path, overrides)
    listed = steps(scenario, task, 0)
    batches = any(isinstance(step, Query) and step.batch for step in listed)
    phases = ("batch",) if batches else task.phases
    result = scenario.declared_metrics(task, listed, phases)
    assert result is not None
    return result


@pytest.mark.parametrize("path", BENCHES, ids=lambda path: path.stem)
def test_every_metric_of_every_shipped_bench_says_which_direction_is_better(
    path: Path,
) -> None:
    modes = (
        [
            [f"scenario.tiny.mode={mode}"]
            for mode in ("performance", "energy", "accuracy")
        ]
        if "tiny" in path.stem
        else [[]]
    )
    metrics = {}
    for overrides in modes:
        metrics |= foreseen(path, overrides).metrics
    assert metrics
    assert [
        name for name, metric in metrics.items() if metric.higher_is_better is None
    ] == []
    better_high = {name for name, metric in metrics.items() if metric.higher_is_better}
    beginnings = (
        "accuracy",
        "auc",
        "throughput",
        "recognised",
        "within_deadline",
        "recall",
        "cut_",
        "success_",
        "wade",
    )
    assert better_high == {name for name in metrics if name.startswith(beginnings)}


@pytest.mark.parametrize(("name", "overrides"), QUICK)
def test_what_is_declared_is_what_is_measured(
    name: str, overrides: list[str], tmp_path: Path
) -> None:
    before = foreseen(bench(name), overrides)
    with open_bench(bench(name), overrides) as opened:
        content = opened.run(1, tmp_path).content
    measured = {item: metric["unit"] for item, metric in content["metrics"].items()}
    assert (
        measured.items()
        <= {item: metric.unit for item, metric in before.metrics.items()}.items()
    )
    assert set(before.absent) <= set(content["absent"])
    for item, metric in content["metrics"].items():
        known = before.metrics[item]
        assert metric["higher_is_better"] is known.higher_is_better
        assert metric["value"] is None or metric["value"] >= 0 or known.signed


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("acuracy=0.9", "did you mean accuracy? it gives accuracy, latency_preprocess"),
        ("latency_inferr=0.1", "did you mean latency_infer"),
        ("latency_solve=0.1", "single_stream on null has no such metric"),
        ("accuracy=nan", "nan is no value that accuracy can have"),
        ("accuracy=inf", "inf is no value that accuracy can have"),
        ("accuracy=95", "a share from 0 to 1: 0.95, not 95 %"),
        ("accuracy=1.001", "a share from 0 to 1"),
        ("accuracy=-0.5", "a share from 0 to 1"),
        ("latency_infer=-1e-3", "-0.001 s is no value that latency_infer can have"),
        ("energy_total=-1e-3", "-0.001 J is no value that energy_total can have"),
        ("latency_total_p90_early_stopping=1e-3", "needs 64 samples, there are 20"),
        ('accuracy="high"', "'high' is not a float"),
        ("accuracy=true", "True is not a float"),
    ],
)
def test_a_claim_that_nothing_could_meet_is_refused_before_anything_is_powered(
    claim: str, says: str, tmp_path: Path
) -> None:
    overrides = [
        f"claim.{claim}",
        "sut.posix.program=/nonexistent",
        "scenario.single_stream.repeat=1",
    ]
    for door in (open_plan, lambda *words: open_bench(*words).__enter__()):
        with pytest.raises(ConfigError) as caught:
            door(bench("posix-null"), overrides)
        assert says in str(caught.value)
        assert caught.value.path in ("claim", "claim." + claim.partition("=")[0])
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "claim",
    [
        "power_dynamic=-1e-3",
        "accuracy=0",
        "accuracy=1",
        "latency_infer_p99=0.1",
        "energy_total=1",
    ],
)
def test_a_claim_that_a_device_could_meet_is_taken(claim: str) -> None:
    open_plan(VIRTUAL_NULL, [f"claim.{claim}"])


@pytest.mark.parametrize(
    ("name", "overrides", "claim"),
    [
        ("virtual-qubo", [], "gap_250n_5pct_100s=-0.1"),
        ("virtual-qubo", [], "latency_to_1pct_100n_5pct=0.1"),
        ("virtual-real-time", [], "latency_onset_p90=0.5"),
        ("virtual-offline", [], "throughput=12.0"),
        ("virtual-tiny", ["scenario.tiny.mode=accuracy"], "auc=0.9"),
    ],
)
def test_each_scenario_knows_its_own_metrics_and_no_others(
    name: str, overrides: list[str], claim: str
) -> None:
    open_plan(bench(name), [*overrides, f"claim.{claim}"])
    with pytest.raises(ConfigError, match="no such metric"):
        open_plan(VIRTUAL_NULL, [f"claim.{claim}"])


@pytest.mark.parametrize(
    ("task", "claim"),
    [
        ('[task.mlperf_tiny]\nbenchmark = "ad01"', "accuracy=0.9"),
        ("[task.null]", "auc=1"),
    ],
)
def test_a_quality_that_answers_cannot_have_is_no_metric_of_mlperf_tiny(
    task: str, claim: str, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(f'[sut.virtual]\n[scenario.tiny]\nmode = "accuracy"\n{task}\n')
    with pytest.raises(ConfigError, match="no such metric"):
        open_plan(path, [f"claim.{claim}"])


def test_a_phase_that_the_device_does_not_mark_is_refused_once_that_is_known() -> None:
    scenario, task, resolved = open_plan(
        VIRTUAL_NULL, ["claim.latency_preprocess=0.01"]
    )
    with pytest.raises(ConfigError, match="no such metric"):
        planning.refuse_claim(resolved, scenario, task, ["infer"])


class Undeclared(Scenario):
    """A scenario of a third party that declares no metrics."""

    name = "undeclared"

    def plan(self, task: Any, seed: int) -> Any:
        yield Query((0,))

    def summarise(self, measured: Any, phases: Sequence[str]) -> dict[str, Any]:
        raise NotImplementedError


def test_a_scenario_that_declares_no_metrics_runs_with_any_claim() -> None:
    _, task, resolved = open_plan(VIRTUAL_NULL, ["claim.accuracy=0.5"])
    planning.refuse_claim(resolved, Undeclared(), task)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a session of five trials."""
    overrides = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
    with open_bench(VIRTUAL_NULL, overrides) as opened:
        return opened.run(5, tmp_path_factory.mktemp("finished")).folder


def value(path: Path, name: str) -> float:
    return float(
        json.loads((path / "results.json").read_text())["metrics"][name]["value"]
    )


def checked(path: Path, claim: Path) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rig.cli.check_session.recompute", CHECK)
        return CliRunner().invoke(
            command, ["check", str(path), "--claim", str(claim)], standalone_mode=False
        )


def test_a_claim_is_tested_on_a_finished_session_and_changes_no_file(
    finished: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    latency_s = value(finished, "latency_infer")
    claim = tmp_path / "claim.toml"
    for text, code, replication, audit in (
        (f"latency_infer = {latency_s * 1.01}\naccuracy = 1\n", 0, "PASS", "PASS"),
        (f"[claim]\nlatency_infer = {latency_s * 1.2}\n", 1, "FAIL", "PASS"),
        (
            f'[bench]\nname = "x"\n[claim]\nlatency_infer = {latency_s / 1.2}\n',
            1,
            "FAIL",
            "FAIL",
        ),
        ("latency_total_p90_early_stopping = 1e-3\n", 1, "FAIL", "FAIL"),
    ):
        claim.write_text(text)
        done = checked(finished, claim)
        assert done.return_value == code, done.output
        assert (
            f"replication  {replication} " in done.output
            and f"audit  {audit} " in done.output
        )
        assert "RANDOM BYTES" in done.output.split("replication")[-1]
    assert before == {
        path: path.read_bytes() for path in finished.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("energy_infer = -1", "-1 J is no value"),
        ("power_idle = -0.001", "-0.001 W is no value"),
        ("latency_infer = -1e-9", "-1e-09 s is no value"),
        ("accuracy = -0.5", "-0.5 is no value"),
        ("energy_infer = nan", "nan is no value"),
        ("energy_infer = inf", "inf is no value"),
        ('energy_infer = "2 mJ"', "'2 mJ' is no value"),
        ("energy_infer = true", "True is no value"),
    ],
)
def test_a_claim_that_no_session_could_meet_is_refused_on_a_finished_one(
    finished: Path, tmp_path: Path, line: str, reason: str
) -> None:
    (tmp_path / "claim.toml").write_text(line)
    with pytest.raises(ConfigError, match=reason):
        raise checked(finished, tmp_path / "claim.toml").exception or AssertionError
    name = line.partition(" ")[0]
    (tmp_path / "claim.toml").write_text(f"{name} = 0\nenergy_dynamic = -1e-3")
    assert checked(finished, tmp_path / "claim.toml").exception is None


def test_a_published_result_is_a_claim(finished: Path, tmp_path: Path) -> None:
    done = checked(finished, finished / "results.json")
    assert done.return_value == 0, done.output
    assert "the claim is a result of: SIMULATED, RANDOM BYTES" in done.output
    content = json.loads((finished / "results.json").read_text())
    scale(content, ["energy_infer"], 0.8)
    other = tmp_path / "results.json"
    other.write_text(json.dumps(content))
    done = checked(finished, other)
    assert done.return_value == 1 and "energy_infer deviates by +25.0%" in done.output


def scale(content: Any, names: Iterable[str], factor: float) -> None:
    """Multiply metrics of a results.json with their intervals, as if they had been
    measured so."""
    for name in names:
        row = content["metrics"][name]
        row["value"] *= factor
        for interval in (row["same_samples"], row["other_samples"]):
            for key in ("low", "high", "standard_uncertainty", "expanded_uncertainty"):
                if interval[key] is not None:
                    interval[key] *= factor


def test_a_published_result_that_lies_outside_its_own_interval_is_no_claim(
    finished: Path, tmp_path: Path
) -> None:
    content = json.loads((finished / "results.json").read_text())
    content["metrics"]["energy_infer"]["value"] /= 100
    other = tmp_path / "results.json"
    other.write_text(json.dumps(content))
    error = checked(finished, other).exception
    assert isinstance(error, ConfigError) and "its own interval" in str(error)


@pytest.mark.parametrize("factor", [0.8, 1.04, 1.06])
def test_a_replacement_is_at_most_5_percent_better_than_the_auditors_result(
    finished: Path, tmp_path: Path, factor: float
) -> None:
    claim = tmp_path / "claim.toml"
    claim.write_text(f"latency_infer = {value(finished, 'latency_infer') / factor}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rig.cli.check_session.recompute", CHECK)
        words = ["check", str(finished), "--claim", str(claim), "--replacement"]
        done = CliRunner().invoke(command, words, standalone_mode=False)
    # 1 / 1.04 is 3.8 % better, 1 / 1.06 is 5.7 % better, 1 / 0.8 is worse.
    assert done.return_value == (1 if factor == 1.06 else 0), done.output
    assert ("FAIL" if factor == 1.06 else "PASS") in done.output
    assert "audit" not in done.output


def test_two_trials_are_not_tested_and_that_has_an_exit_code_of_its_own(
    tmp_path: Path,
) -> None:
    claim = tmp_path / "claim.toml"
    overrides = ["task.null.samples=3", "scenario.single_stream.idle_s=0.1"]
    with open_bench(VIRTUAL_NULL, overrides) as opened:
        session = opened.run(2, tmp_path / "sessions").folder
    claim.write_text(f"latency_infer = {value(session, 'latency_infer')}\n")
    done = checked(session, claim)
    assert done.return_value == 4
    assert (
        "replication  NOT TESTED " in done.output and "2 trials of the 5" in done.output
    )


def test_a_claimed_value_may_be_a_table_that_states_its_uncertainty(
    tmp_path: Path,
) -> None:
    path = tmp_path / "claim.toml"
    path.write_text(
        "[claim]\nplain = 1\nalone = { value = 2.0 }\nproven = { value = 0.0, exact ="
        " true }\nmeasured = { value = 3.0, standard_uncertainty = 0.5,"
        " degrees_of_freedom = 4 }\n"
    )
    metrics = claims.read(path).metrics
    assert [metrics[name].value for name in metrics] == [1, 2.0, 0.0, 3.0]
    assert metrics["proven"].exact and not metrics["alone"].exact
    assert metrics["alone"].same is None and metrics["plain"].same is None
    assert metrics["measured"].same == metrics["measured"].other == Spread(3.0, 0.5, 4)


@pytest.mark.parametrize(
    "table",
    [
        "[1.0]",
        "{ standard_uncertainty = 0.5 }",
        "{ value = 1.0, u = 0.5 }",
        "{ value = 1.0, standard_uncertainty = 0.5 }",
        "{ value = 1.0, standard_uncertainty = 0.0, degrees_of_freedom = 4 }",
        (
            "{ value = 1.0, standard_uncertainty = 0.5, degrees_of_freedom = 4, exact ="
            " true }"
        ),
    ],
)
def test_a_table_that_states_no_uncertainty_is_no_claim(
    table: str, tmp_path: Path
) -> None:
    path = tmp_path / "claim.toml"
    path.write_text(f"gap_1s = {table}\n")
    with pytest.raises(ConfigError, match="is no claim"):
        claims.read(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("acuracy = 0.9\n", "did you mean accuracy?"),
        ("accuracy = nan\n", "nan is no value"),
        ("accuracy = inf\n", "inf is no value"),
        ("accuracy = 95\n", "a share from 0 to 1"),
        ("latency_infer = -1\n", "0 or more"),
        ('accuracy = "0.9"\n', "no value"),
        ("accuracy = true\n", "no value"),
        ("", "claims no metric"),
        ("[claim]\n", "claims no metric"),
        ("[bench]\nname = 'x'\n", "is no claim"),
        ("accuracy\n", "is no claim"),
        ("{}", "is no claim"),
        ('{"schema": "neurorig-results-2"}', "is no claim"),
        ('{"schema": "other"}', "is no claim"),
        ("{" * 5000, "is no claim"),
    ],
)
def test_an_input_that_is_no_claim_is_refused(
    text: str, says: str, finished: Path, tmp_path: Path
) -> None:
    claim = tmp_path / "claim.toml"
    claim.write_text(text)
    error = checked(finished, claim).exception
    assert isinstance(error, ConfigError) and error.exit_code == 2
    assert says in str(error)


def test_a_result_of_another_task_is_no_claim_on_this_one(
    finished: Path, tmp_path: Path
) -> None:
    content = json.loads((finished / "results.json").read_text()) | {"task": "asc"}
    (tmp_path / "results.json").write_text(json.dumps(content))
    error = checked(finished, tmp_path / "results.json").exception
    assert isinstance(
        error, ConfigError
    ) and "a claim of task asc, the session is of null" in str(error)


def test_a_claim_on_a_session_that_was_changed_is_not_tested(
    finished: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(finished, tmp_path / "copy")
    samples = copy / "trial-1" / "samples.jsonl"
    samples.write_text(
        samples.read_text()
        .replace('"correct": true', '"correct": false', 1)
        .replace("infer", "infer ", 1)
    )
    claim = tmp_path / "claim.toml"
    claim.write_text("accuracy = 1\n")
    done = checked(copy, claim)
    assert (
        done.return_value == 1
        and "the claim is not tested" in done.output
        and "PASS" not in done.output
    )


def test_a_lower_area_under_the_curve_does_not_pass_an_audit(tmp_path: Path) -> None:
    # Generated data of one score a file: its area is far below 0.99, and higher is
    # better.
    overrides = [
        "scenario.tiny.mode=accuracy",
        "claim.auc=0.99",
        "task.mlperf_tiny.seed=1",
    ]
    with open_bench(bench("virtual-tiny"), overrides) as opened:
        content = opened.run(1, tmp_path).content
    assert content["metrics"]["auc"]["value"] < 0.95 * 0.99
    assert content["audit"]["trials"] == 1 and content["audit"]["ok"] is False
    assert "auc deviates by" in content["audit"]["reason"]
