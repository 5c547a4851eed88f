# SPDX-License-Identifier: Apache-2.0
"""An audit of a virtual claim: the truth is in the settings of the auditor's virtual
device, which draws more or less power than the claimed one.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lab.faults.forger import edit_json, edit_lines, rehash
from rig.audit import audit as verdicts
from rig.audit import bench as own_bench
from rig.audit import claimed, measuring
from rig.audit.claimed import ClaimedSession
from rig.cli.main import rig as cli
from rig.errors import BenchError, ConfigError, DataError, Stopped
from rig.host.stop import Stop
from rig.results import audit_file, results, schemas
from rig.results.audit_file import Audit, AuditedMetric, AuditedSession, AuditOutcome
from rig.results.verdict import Outcome
from rig.store.events import Event, Subscriber, TrialFinished
from rig.store.session_folder import EVENTS, hashes
from rig.trace import fingerprint
from tests import checking
from tests.commands import program
from tests.conftest import ROOT
from tests.recorded import recorded
from tests.rig.judge.test_judge import make
from tests.submissions import edited

#: Powers of the claimed device, as benches/virtual-asc.toml has them by default.
IDLE_W = 0.012
PREPROCESS_W = 0.035
INFER_W = 0.045
#: The virtual instrument's noise over a trial, and the scatter of 3 samples.
CLOSE = 0.004

BENCH = """
[bench]
name = "auditor"
[sut.virtual]
clock_ppm = 60.0
sync_hold_us = 800
idle_w = {idle}
preprocess = {{ duration_s = 0.018, power_w = {preprocess} }}
infer = {{ duration_s = 0.042, power_w = {infer} }}
[monitor.virtual]
sample_hz = 20_000
clock_ppm = -40.0
"""


def bench(folder: Path, factor: float = 1.0, more: str = "") -> Path:
    """Write the bench of an auditor whose device draws `factor` times the power."""
    path = folder / "auditor.toml"
    powers = {"idle": IDLE_W, "preprocess": PREPROCESS_W, "infer": INFER_W}
    scaled = {name: factor * power for name, power in powers.items()}
    path.write_text(BENCH.format(**scaled) + more)
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory, "submissions", make)


@pytest.fixture(scope="module")
def claim(place: Path) -> ClaimedSession:
    """The claimed session, computed again once."""
    return read(place / "recorded" / "virtual-asc")


def read(folder: Path) -> ClaimedSession:
    [one] = claimed.places(folder)
    return claimed.read(one, checking.fingerprints)


def measured(
    claim: ClaimedSession,
    path: Path,
    to: Path,
    *,
    trials: int = 3,
    overrides: Sequence[str] = (),
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
) -> Path:
    context = results.Context.of(claim.folder)
    made = own_bench.with_workload(path, overrides, context.config, trials)
    return measuring.measure(to / claim.name, made, claim, subscribers, stop or Stop())


def judged(claim: ClaimedSession, to: Path) -> AuditedSession:
    session = measuring.session_in(to / claim.name)
    return verdicts.audited(claim, session, to, checking.fingerprints)


def is_of_power(metric: AuditedMetric) -> bool:
    return metric.unit in ("W", "J")


def ratio(metric: AuditedMetric) -> float:
    assert metric.audited is not None and metric.audited.value is not None
    assert metric.claimed.value is not None
    return metric.audited.value / metric.claimed.value


@pytest.mark.parametrize("factor", [1.03, 0.8], ids=["3 % worse", "better"])
def test_a_device_a_little_worse_or_better_confirms(
    factor: float, claim: ClaimedSession, tmp_path: Path
) -> None:
    measured(claim, bench(tmp_path, factor), tmp_path)
    found = judged(claim, tmp_path)
    assert found.outcome is Outcome.PASS, found
    assert (found.trials, found.lacking, found.unlike) == (3, "", ())
    assert "SIMULATED" in found.labels and "SIMULATED" in found.audit_labels
    powers = [metric for metric in found.metrics.values() if is_of_power(metric)]
    assert len(powers) >= 6
    for metric in powers:
        assert ratio(metric) == pytest.approx(factor, rel=CLOSE)
        assert metric.verdict is AuditOutcome.CONFIRMED
        assert metric.replacement is None
        assert metric.claimed == metric.replayed
        assert metric.claimed.standard_uncertainty


def test_of_a_device_8_percent_worse_the_auditors_value_stands(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    measured(claim, bench(tmp_path, 1.08), tmp_path)
    found = judged(claim, tmp_path)
    assert found.outcome is Outcome.FAIL
    for name, metric in found.metrics.items():
        if not is_of_power(metric):
            assert metric.verdict is AuditOutcome.CONFIRMED, name
            continue
        assert metric.verdict is AuditOutcome.AUDITOR, name
        assert ratio(metric) == pytest.approx(1.08, rel=CLOSE)
        assert metric.deviation == pytest.approx(0.08, abs=CLOSE)
        # At most 5 % better than the auditor's; less power is better.
        assert metric.audited is not None and metric.audited.value is not None
        due = 0.95 * metric.audited.value
        assert metric.replacement == pytest.approx(due, rel=1e-3)


def test_an_accuracy_that_is_lower_is_replaced_from_above(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    path = bench(tmp_path)
    path.write_text(path.read_text().replace("idle_w", "error_rate = 1.0\nidle_w"))
    measured(claim, path, tmp_path)
    metric = judged(claim, tmp_path).metrics["accuracy"]
    assert metric.audited is not None and metric.audited.value == 0.0
    assert (metric.verdict, metric.deviation) == (AuditOutcome.AUDITOR, 1.0)
    assert metric.replacement == 0.0


def test_without_a_monitor_energies_are_incomplete(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    path = bench(tmp_path)
    text = path.read_text().partition("[monitor.virtual]")[0]
    path.write_text(text + "[monitor.none]\n")
    measured(claim, path, tmp_path)
    found = judged(claim, tmp_path)
    assert found.outcome is Outcome.NOT_TESTED
    for name, metric in found.metrics.items():
        due = AuditOutcome.CONFIRMED
        if is_of_power(metric):
            due = AuditOutcome.INCOMPLETE
            assert "no energy monitor" in metric.reason
            assert metric.audited is None and metric.replayed is not None
        assert metric.verdict is due, name


def test_an_audit_that_was_stopped_goes_on_with_its_trials(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    stop = Stop()

    def after_one(event: Event) -> None:
        if isinstance(event, TrialFinished):
            stop.request()

    path = bench(tmp_path)
    with pytest.raises(Stopped):
        measured(claim, path, tmp_path, subscribers=(after_one,), stop=stop)
    assert not judged(claim, tmp_path).trials
    begun = measuring.session_in(tmp_path / claim.name)
    assert begun is not None
    trace = (begun / "trial-1" / "trace.jls").read_bytes()
    with pytest.raises(ConfigError, match="another bench"):
        measured(claim, path, tmp_path, trials=2)
    assert measured(claim, path, tmp_path) == begun
    assert (begun / "trial-1" / "trace.jls").read_bytes() == trace
    assert judged(claim, tmp_path).outcome is Outcome.PASS
    # A finished session is not measured again.
    journal = (begun / EVENTS).read_bytes()
    assert measured(claim, path, tmp_path) == begun
    assert (begun / EVENTS).read_bytes() == journal
    shutil.copytree(begun, begun.with_name("a second one"))
    with pytest.raises(DataError, match="2 sessions of one claim"):
        judged(claim, tmp_path)


@pytest.mark.parametrize(
    ("more", "overrides", "said"),
    [
        ("[task.null]\n", (), "claim is of the task asc"),
        ("[scenario.offline]\n", (), "claim is of the scenario single_stream"),
        ("[task.asc]\nsamples = 4\n", (), "task.asc.samples = 4, the claim has 3"),
        ("", ("bench.seed=2",), "bench.seed = 2, the claim has 1"),
        ("", ("scenario.single_stream.idle_s=0.2",), "the claim has 0.1"),
    ],
)
def test_another_workload_is_refused_before_the_device(
    more: str,
    overrides: Sequence[str],
    said: str,
    claim: ClaimedSession,
    tmp_path: Path,
) -> None:
    path = bench(tmp_path, more=more)
    with pytest.raises(ConfigError) as caught:
        measured(claim, path, tmp_path, overrides=overrides)
    assert said in f"{caught.value} {caught.value.evidence}"
    assert caught.value.try_next
    assert not (tmp_path / claim.name).exists()


def test_a_bench_without_a_word_of_a_monitor_is_refused(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    path = bench(tmp_path)
    path.write_text(path.read_text().partition("[monitor.virtual]")[0])
    with pytest.raises(ConfigError, match=r"\[monitor.KIND\] is needed"):
        measured(claim, path, tmp_path)


def test_a_path_of_the_claim_is_never_opened(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    """It names a file of another computer, or one that the claimant chose."""
    config = results.Context.of(claim.folder).config
    folder = "/home/other/tau"
    settings = dataclasses.replace(config.task.settings, data=folder)
    task = dataclasses.replace(config.task, settings=settings)
    foreign = dataclasses.replace(config, task=task)
    path = bench(tmp_path)
    with pytest.raises(ConfigError) as caught:
        own_bench.with_workload(path, (), foreign, 3)
    assert caught.value.path == "task.asc.data" and folder in caught.value.evidence
    mine = bench(tmp_path, more='[task.asc]\ndata = "mine"\n')
    made = own_bench.with_workload(mine, (), foreign, 3)
    assert made.task.settings.data == str(tmp_path / "mine")


def test_another_model_is_refused_before_a_trial(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    provenance = claim.stored.provenance
    stored = provenance.task.stored | {"model_sha256": "0" * 64}
    task = dataclasses.replace(provenance.task, stored=stored)
    other = dataclasses.replace(provenance, task=task, simulated=False)
    stored_results = dataclasses.replace(claim.stored, provenance=other)
    changed = dataclasses.replace(claim, stored=stored_results)
    with pytest.raises(ConfigError) as caught:
        measured(changed, bench(tmp_path), tmp_path)
    assert "model_sha256 of the task" in caught.value.evidence
    assert "it is simulated, the claim is measured" in caught.value.evidence
    assert measuring.session_in(tmp_path / claim.name) is None


def test_power_that_is_played_back_confirms_nothing(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    path = bench(tmp_path)
    text = path.read_text().partition("[monitor.virtual]")[0]
    trace = claim.folder.path / "trial-1" / "trace.jls"
    path.write_text(f'{text}[monitor.playback]\npath = "{trace}"\n')
    with pytest.raises(ConfigError) as caught:
        measured(claim, path, tmp_path)
    assert f"power is played back from {trace}" in caught.value.evidence
    assert measuring.session_in(tmp_path / claim.name) is None
    # A session that another command measured so is no audit either.
    own = results.Context.of(claim.folder).provenance
    [(rail, monitor)] = own.monitors.items()
    played = dataclasses.replace(monitor, kind="playback", details={"path": "a.jls"})
    other = dataclasses.replace(own, monitors={rail: played})
    [said] = measuring.unlike(own, other)
    assert "played back from a.jls" in said and not measuring.unlike(own, own)


def test_a_session_of_another_workload_confirms_nothing(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    context = results.Context.of(claim.folder)
    made = own_bench.with_workload(bench(tmp_path), (), context.config, 1)
    settings = dataclasses.replace(made.scenario.settings, idle_s=0.2)
    other = dataclasses.replace(
        made,
        bench=dataclasses.replace(made.bench, seed=2),
        scenario=dataclasses.replace(made.scenario, settings=settings),
    )
    measuring.measure(tmp_path / claim.name, other, claim, (), Stop())
    found = judged(claim, tmp_path)
    assert found.outcome is Outcome.NOT_TESTED
    assert found.unlike == (
        "bench.seed = 2, the claim has 1",
        "scenario.single_stream.idle_s = 0.2, the claim has 0.1",
    )
    for metric in found.metrics.values():
        assert metric.reason == found.unlike[0] and metric.audited is not None
    task = dataclasses.replace(made.task, kind="null")
    other = dataclasses.replace(made, task=task)
    due = ("task is null, the claim has asc",)
    assert own_bench.other_workload(other, context.config) == due


def test_a_copy_of_the_claim_confirms_nothing(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    shutil.copytree(claim.folder.path, tmp_path / claim.name / "mine")
    found = judged(claim, tmp_path)
    assert found.outcome is Outcome.NOT_TESTED
    assert found.unlike == ("it is the claimed session itself",)


def test_a_claim_with_invalid_trials_is_not_confirmed(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    first, *others = claim.stored.trials
    trials = (dataclasses.replace(first, valid=False), *others)
    stored = dataclasses.replace(claim.stored, trials=trials)
    measured(claim, bench(tmp_path), tmp_path, trials=1)
    assert judged(claim, tmp_path).outcome is Outcome.PASS
    found = judged(dataclasses.replace(claim, stored=stored), tmp_path)
    assert found.outcome is Outcome.NOT_TESTED
    for metric in found.metrics.values():
        assert metric.reason == "1 of 5 trials of the claim are invalid"


def test_a_bench_that_differs_in_its_last_line_end_is_another(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    """The same bench in a session that was begun with a text cut by one byte."""
    path = bench(tmp_path)
    context = results.Context.of(claim.folder)
    made = own_bench.with_workload(path, (), context.config, 3)
    begun = shutil.copytree(claim.folder.path, tmp_path / claim.name / "mine")
    (begun / "bench.toml").write_text(made.toml().removesuffix("\n"))
    rehash(begun)
    with pytest.raises(ConfigError, match="another bench") as caught:
        measured(claim, path, tmp_path)
    assert "\\n'" in caught.value.evidence


def test_a_value_altered_by_hand_is_named(place: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(place / "recorded" / "virtual-asc", tmp_path / "claim")

    def better(tree: dict[str, Any]) -> None:
        tree["metrics"]["power_idle"]["value"] *= 0.9

    edit_json(folder / "results.json", better)
    rehash(folder)
    found = judged(read(folder), tmp_path)
    assert found.outcome is Outcome.FAIL
    assert found.difference.startswith("results.json: metrics.power_idle.value is ")
    metric = found.metrics["power_idle"]
    assert metric.verdict is AuditOutcome.INCOMPLETE and metric.replayed is not None
    assert metric.claimed.value == pytest.approx(0.9 * IDLE_W, rel=CLOSE)
    assert metric.replayed.value == pytest.approx(IDLE_W, rel=CLOSE)


def test_an_answer_altered_by_hand_is_named_with_its_step(
    place: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(place / "recorded" / "virtual-asc", tmp_path / "claim")

    def wrong(number: int, line: dict[str, Any]) -> dict[str, Any]:
        if number == 5:
            line["answer"] = "bus" if line["answer"] != "bus" else "park"
        return line

    edit_lines(folder / "trial-2" / "completions.jsonl", wrong)
    rehash(folder)
    found = read(folder)
    [line] = (folder / "trial-2" / "completions.jsonl").read_text().splitlines()[4:5]
    step = json.loads(line)["step"]
    said = f"trial-2/completions.jsonl: line 5, step {step}: answer is "
    assert found.difference.startswith(said), found.difference


def test_a_submission_that_states_another_value_is_named(
    place: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(place / "submission", tmp_path / "submission")

    def better(tree: dict[str, Any]) -> None:
        [session] = tree["configurations"][0]["sessions"]
        session["metrics"]["power_idle"]["value"] = 0.001

    edited(folder, better)
    assert read(folder).difference.startswith("submission.json: power_idle is 0.001 W")


def test_a_metric_that_its_session_has_not_is_named(
    place: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(place / "submission", tmp_path / "submission")

    def invented(tree: dict[str, Any]) -> None:
        [session] = tree["configurations"][0]["sessions"]
        session["metrics"]["power_best"] = session["metrics"]["power_idle"]

    edited(folder, invented)
    difference = read(folder).difference
    assert difference.startswith("submission.json: power_best is 0.01")
    assert difference.endswith(" W, its session has nothing")


def test_a_trace_that_is_missing_in_the_folder_is_named(
    place: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(place / "submission", tmp_path / "submission"))
    (folder / "sessions/virtual-asc/trial-2/trace.jls").unlink()
    claim = read(folder)
    assert (claim.difference, claim.lacking) == (
        "",
        "raw data are not there: trial-2/trace.jls",
    )
    assert claim.replayed is None


def test_without_raw_data_the_audit_is_incomplete(place: Path, tmp_path: Path) -> None:
    claim = read(place / "without-raw")
    assert "https://example.org/raw" in claim.lacking and claim.replayed is None
    measured(claim, bench(tmp_path), tmp_path)
    found = judged(claim, tmp_path)
    assert found.outcome is Outcome.NOT_TESTED
    for metric in found.metrics.values():
        assert metric.verdict is AuditOutcome.INCOMPLETE
        assert "not computed again" in metric.reason
        assert metric.audited is not None and metric.replayed is None
    # With the raw data the same session is enough.
    whole = read(place / "submission")
    assert judged(whole, tmp_path).outcome is Outcome.PASS


def test_the_stored_audit_is_of_its_schema(
    claim: ClaimedSession, tmp_path: Path
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    made = Audit("the rule", "the policy", (judged(claim, tmp_path),))
    tree = json.loads(audit_file.text(made))
    jsonschema.validate(tree, schemas.audit())
    (tmp_path / "audit.json").write_text(audit_file.text(made))
    assert audit_file.read(tmp_path) == made
    assert made.outcome is Outcome.NOT_TESTED


def command(*words: str | Path) -> tuple[int, str, str]:
    """Run the command, which reads traces in this process."""
    done = CliRunner().invoke(cli, [*map(str, words)], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value or 0, done.stdout, done.stderr


def test_the_command_measures_stores_and_checks_its_audit(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "read", checking.fingerprints)
    monkeypatch.chdir(tmp_path)
    folder = place / "submission"
    words = ("audit", folder, "--bench", bench(tmp_path, 1.08), "--trials", "2")
    code, said, _ = command(*words)
    assert code == 1 and "auditor's value" in said and "SIMULATED" in said
    stored = tmp_path / "audits" / "submission" / "audit.json"
    tree = json.loads(stored.read_text())
    [session] = tree["sessions"]
    assert session["metrics"]["power_idle"]["verdict"] == "auditor's value"
    assert checking.check(stored.parent / session["session"]).ok
    assert command("audit", folder, "--check")[0] == 1
    session["metrics"]["power_idle"]["verdict"] = "confirmed"
    stored.write_text(json.dumps(tree))
    with pytest.raises(DataError) as caught:
        command("audit", folder, "--check")
    assert "power_idle.verdict is 'confirmed'" in caught.value.evidence
    # It is made again from the same session.
    before = sorted(stored.parent.rglob("*.jls"))
    code, said, _ = command(*words, "--json")
    assert code == 1 and json.loads(said)["outcome"] == "fail"
    assert sorted(stored.parent.rglob("*.jls")) == before
    assert command("audit", folder, "--check")[0] == 1


def test_the_command_measures_no_claim_that_is_not_found_again(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "read", checking.fingerprints)
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(place / "recorded" / "virtual-asc", tmp_path / "claim")
    path = folder / "results.json"
    path.write_text(path.read_text().replace('"value": 1.0', '"value": 0.5', 1))
    code, said, _ = command("audit", folder, "--bench", bench(tmp_path))
    assert code == 1
    assert (
        "differs claim: results.json was changed: metrics.accuracy.value is 0.5" in said
    )
    assert not list((tmp_path / "audits").rglob(EVENTS))


def test_an_audit_is_never_written_into_a_session(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "read", checking.fingerprints)
    folder = shutil.copytree(place / "recorded" / "virtual-asc", tmp_path / "claim")
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "claim").symlink_to(folder)
    shutil.copytree(folder, tmp_path / "other" / "claim")
    words = ("--bench", bench(tmp_path))
    before = hashes(tmp_path)
    monkeypatch.chdir(tmp_path)
    for to in ("claim", "claim/new", ".", "link", "link/trial-1", "audit"):
        with pytest.raises(ConfigError, match="is in the claim") as caught:
            command("audit", "claim", *words, "--to", to)
        assert caught.value.path == "--to" and caught.value.try_next
    with pytest.raises(DataError, match="other/claim is a session"):
        command("audit", "claim", *words, "--to", "other")
    monkeypatch.chdir(folder / "trial-1")
    with pytest.raises(ConfigError, match="audits/claim is in the claim"):
        command("audit", "..", *words)
    assert hashes(tmp_path) == before


def test_a_folder_that_is_no_claim_is_refused_before_the_place_of_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claim").mkdir()
    (tmp_path / "claim" / "notes.txt").write_text("none")
    monkeypatch.chdir(tmp_path / "claim")
    words = ("--bench", bench(tmp_path), "--to", "new")
    with pytest.raises(DataError, match="is no session folder"):
        command("audit", ".", *words)


def test_a_place_where_no_folder_can_be_made_is_refused(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "read", checking.fingerprints)
    (tmp_path / "file").touch()
    (tmp_path / "virtual-asc").touch()
    (tmp_path / "loop").symlink_to("loop")
    claimed_folder = place / "recorded" / "virtual-asc"
    words = ("audit", claimed_folder, "--bench", bench(tmp_path), "--to")
    for to in (tmp_path / "file", tmp_path, tmp_path / "loop", "/proc/none"):
        with pytest.raises(BenchError) as caught:
            command(*words, to)
        assert "another folder: --to AUDIT" in caught.value.try_next


#: Measure, and be killed at the end of the first trial.
KILLED = """
import os, signal
from pathlib import Path
from rig.store.events import TrialFinished
from tests.rig.audit.test_audit import bench, measured, read

def killed(event):
    if isinstance(event, TrialFinished):
        os.kill(os.getpid(), signal.SIGKILL)

here = Path({here!r})
measured(read(Path({claim!r})), bench(here), here, subscribers=(killed,))
"""


def test_an_audit_that_was_killed_goes_on_with_its_trials(
    place: Path, claim: ClaimedSession, tmp_path: Path
) -> None:
    text = KILLED.format(here=str(tmp_path), claim=str(claim.folder.path))
    done = program(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{text}", tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    begun = measuring.session_in(tmp_path / claim.name)
    assert begun is not None
    trace = (begun / "trial-1" / "trace.jls").read_bytes()
    measured(claim, bench(tmp_path), tmp_path)
    assert (begun / "trial-1" / "trace.jls").read_bytes() == trace
    found = judged(claim, tmp_path)
    assert (found.outcome, found.trials) == (Outcome.PASS, 3)


def test_the_commands_of_the_page_audit_a_submission(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "read", checking.fingerprints)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "submission", tmp_path / "submission")
    bench(tmp_path).rename(tmp_path / "mine.toml")
    page = (ROOT / "docs" / "how-to" / "AUDIT.md").read_text(encoding="utf-8")
    block = page.partition("```sh\n")[2].partition("```")[0]
    lines = [line.partition("#")[0].split() for line in block.splitlines()]
    assert [line[:2] for line in lines] == [["rig", "audit"]] * 2
    for line in lines:
        code, said, _ = command(*line[1:])
        assert code == 0 and "every claimed metric is confirmed" in said
    assert (tmp_path / "audits" / "submission" / "audit.json").exists()
    assert list((tmp_path / "audits" / "submission").glob("*/bench.toml"))
