# SPDX-License-Identifier: Apache-2.0
"""A virtual submission passes the judge up to its labels, and every change of it is
refused by the row that is about it.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lab.faults import forger
from rig.check.check import Check
from rig.cli.main import rig as command
from rig.errors import ConfigError, DataError
from rig.judge import evidence, requirements
from rig.judge.judge import Judgement, judge
from rig.judge.rules import of_benchmark
from rig.results import submission_file
from rig.results.submission_file import CRATE, REPORT
from rig.results.verdict import Outcome
from rig.store.session_folder import hashes
from rig.submission import about, build, entries
from tests import checking
from tests.keys import key as ssh_key
from tests.keys import needs_ssh
from tests.recorded import recorded
from tests.submissions import (
    built,
    edited,
    hashed_again,
    record_asc,
    small_rules,
    statements,
)

Tree = dict[str, Any]
Edit = Callable[[Path], object]
#: Rows that a virtual session of generated data must fail, and those that say so little
#: of any session that lies on this computer.
LABELS = {"measured", "official data"}
OPEN = {"signature"}


def make(root: Path) -> None:
    """Record a session, and build a submission of it."""
    record_asc(root / "recorded")
    [session] = (root / "recorded").iterdir()
    session = session.rename(root / "recorded" / "virtual-asc")
    stated = statements(root / "stated")
    built([session], stated, root / "submission")
    built([session], stated, root / "without-raw", raw="https://example.org/raw")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory, "submissions", make)


@pytest.fixture
def folder(place: Path, tmp_path: Path) -> Path:
    """A submission that may be changed."""
    copied = shutil.copytree(place / "submission", tmp_path / "submission")
    return Path(copied)


@pytest.fixture(scope="module", autouse=True)
def _checked_once() -> Any:
    """Check equal sessions once: most edits leave them as they are."""
    known: dict[str, Check] = {}
    check = evidence.check

    def once(path: Path, read: Any) -> Check:
        key = json.dumps(hashes(path))
        if key not in known:
            known[key] = check(path, read)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "check", once)
        yield


def judged(folder: Path, **options: Any) -> Judgement:
    options = {"rules": small_rules(), "read": checking.fingerprints, **options}
    return judge(folder, **options)


def verdicts(found: Judgement, passed: bool | None) -> set[str]:
    return {row.requirement for row in found.rows if row.passed is passed}


def test_a_virtual_submission_passes_up_to_its_labels(place: Path) -> None:
    found = judged(place / "submission")
    assert verdicts(found, False) == LABELS
    assert verdicts(found, None) == OPEN
    assert found.outcome is Outcome.FAIL
    said = {row.requirement: row.evidence for row in found.rows}
    assert "SIMULATED: device and monitor are simulated" in said["measured"]
    assert "every number found again" in said["session virtual-asc"]


def test_the_rows_of_metrics_have_the_names_of_metrics(place: Path) -> None:
    found = judged(place / "submission")
    said = {
        row.requirement: row.evidence
        for row in found.rows
        if row.requirement.startswith("metrics ")
    }
    latencies = "latency_preprocess, latency_infer, latency_total"
    assert said["metrics latency_preprocess"] == latencies
    assert not any("{" in text for text in (*said, *said.values()))


def test_power_that_was_played_back_is_no_measurement(folder: Path) -> None:
    path = folder / "sessions" / "virtual-asc" / "provenance.json"
    about = json.loads(path.read_text())
    [rail] = about["monitors"]
    about["monitors"][rail] |= {"kind": "playback", "details": {"path": "old.jls"}}
    path.write_text(json.dumps(about))
    rows = {row.requirement: row for row in judged(folder).rows}
    assert rows["measured"].passed is False
    assert "virtual-asc plays power back from old.jls" in rows["measured"].evidence


def signature_row(folder: Path, signers: Path) -> tuple[bool | None, str]:
    found = judged(folder, signers=signers)
    [row] = [row for row in found.rows if row.requirement == "signature"]
    return row.passed, row.evidence


@needs_ssh
def test_a_submission_is_signed_and_only_as_it_is_by_its_signer(
    place: Path, tmp_path: Path
) -> None:
    own = ssh_key(tmp_path, "own")
    other = ssh_key(tmp_path, "other")
    to = tmp_path / "signed"
    stated = statements(tmp_path / "stated")
    recorded_session = place / "submission/sessions/virtual-asc"
    words = ["submit", "neurobench", str(recorded_session), "--about", str(stated)]
    done = CliRunner().invoke(command, [*words, "--to", str(to), "--sign", str(own)])
    assert done.exit_code == 0, done.output
    assert "--signers FILE" in done.output
    trusted = tmp_path / "own.signers"
    assert signature_row(to, trusted) == (True, "signed by own@lab")
    passed, said = signature_row(to, other.with_suffix(".signers"))
    assert passed is False and "is by no signer of" in said
    edited(to, lambda tree: tree["submitter"].update(name="Another"))
    passed, said = signature_row(to, trusted)
    assert passed is False and "is not of submission.json as it is" in said


@needs_ssh
def test_what_is_no_key_leaves_no_folder(place: Path, tmp_path: Path) -> None:
    no_key = statements(tmp_path / "stated")
    recorded_session = place / "submission/sessions/virtual-asc"
    request = build.SubmissionRequest(
        sessions=(entries.read(recorded_session),),
        about=about.AuthorStatements(),
        beside=tmp_path,
        key=no_key,
    )
    with pytest.raises(ConfigError, match=r"about\.toml does not sign") as refused:
        build.build(request, tmp_path / "made")
    assert "load public key" in refused.value.evidence
    assert {path.name for path in tmp_path.iterdir()} == {"stated"}


def test_by_the_rules_it_lacks_samples(place: Path) -> None:
    found = judged(place / "submission", rules=None)
    assert verdicts(found, False) == {*LABELS, "samples"}
    said = {row.requirement: row for row in found.rows}
    assert "has 3 samples, not 16240" in said["samples"].evidence
    assert "16,240 samples of one second" in said["samples"].rule


def test_with_raw_data_in_another_place_numbers_are_not_checked(place: Path) -> None:
    found = judged(place / "without-raw")
    assert verdicts(found, None) == {*OPEN, "session virtual-asc"}
    assert verdicts(found, False) == LABELS
    row = next(row for row in found.rows if row.requirement == "session virtual-asc")
    assert "files are at https://example.org/raw: no number is computed" in row.evidence


def test_raw_data_that_are_in_the_folder_are_checked_whatever_is_stated(
    folder: Path,
) -> None:
    edited(folder, lambda tree: session(tree).update(raw="https://example.org"))
    assert "session virtual-asc" in verdicts(judged(folder), True)


def session(tree: Tree) -> Tree:
    stated: Tree = tree["configurations"][0]["sessions"][0]
    return stated


def stated(**changes: Any) -> Edit:
    """Change facts of the session in submission.json."""
    return lambda folder: edited(folder, lambda tree: session(tree).update(changes))


def top(**changes: Any) -> Edit:
    """Change facts of the whole submission."""
    return lambda folder: edited(folder, lambda tree: tree.update(changes))


def metric(name: str, **changes: Any) -> Edit:
    return lambda folder: edited(
        folder, lambda tree: session(tree)["metrics"][name].update(changes)
    )


def in_tree(change: Callable[[Tree], object]) -> Edit:
    return lambda folder: edited(folder, change)


def written(name: str, content: bytes) -> Edit:
    return lambda folder: (folder / name).write_bytes(content)


def own(folder: Path) -> Path:
    return folder / "sessions" / "virtual-asc"


def in_session(change: Edit, *, remade: bool = True) -> Edit:
    """Change a file of the session; with `remade` make every derived file, the chain
    and its head again, and state the chain. All hashes of the submission fit.
    """

    def forged(folder: Path) -> None:
        change(own(folder))
        if remade:
            forger.remake(own(folder))
            lines = (own(folder) / "events.jsonl").read_text().splitlines()
            events = [json.loads(line) for line in lines]
            heads = {event["event"]: event["sha256"] for event in events}
            stated(chain=heads["session_finished"])(folder)
        hashed_again(folder)

    return forged


def changed_text(name: str, old: str, new: str) -> Edit:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return change


def then(*edits: Edit) -> Edit:
    def both(folder: Path) -> None:
        for edit in edits:
            edit(folder)

    return both


def not_simulated(folder: Path) -> None:
    def real(about: Tree) -> None:
        about["simulated"] = about["sut"]["simulated"] = False
        for monitor in about["monitors"].values():
            monitor["simulated"] = False

    forger.edit_json(folder / "provenance.json", real)


def flipped(folder: Path) -> None:
    path = folder / "trial-2" / "trace.jls"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def copied_trial(folder: Path) -> None:
    shutil.copytree(folder / "trial-1", folder / "trial-6")


def reordered(folder: Path) -> None:
    first, second = folder / "trial-1", folder / "trial-2"
    aside = folder / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def one_trial_for_two(folder: Path) -> None:
    shutil.rmtree(folder / "trial-2")
    shutil.copytree(folder / "trial-1", folder / "trial-2")


def under_two_names(folder: Path) -> None:
    """Count one session as two configurations."""
    shutil.copytree(own(folder), own(folder).with_name("again"))

    def again(tree: Tree) -> None:
        copy = json.loads(json.dumps(tree["configurations"][0]))
        copy["name"] = copy["sessions"][0]["name"] = "again"
        tree["configurations"].append(copy)
        tree["versions"]["again"] = tree["versions"]["virtual-asc"]

    edited(folder, again)
    hashed_again(folder)


def said_twice(folder: Path) -> None:
    """Write a key twice: readers of one kind take the first, others the last value."""
    path = folder / "submission.json"
    text = path.read_text()
    key = '"replication": '
    assert key in text
    path.write_text(text.replace(key, f'{key}"fail", {key}', 1))


def as_bytes(change: Callable[[bytes], bytes]) -> Edit:
    """Change the bytes of submission.json."""

    def write(folder: Path) -> None:
        path = folder / "submission.json"
        path.write_bytes(change(path.read_bytes()))

    return write


def also_in_report(folder: Path) -> None:
    """Add a second, better number of a metric to the report."""
    path = folder / REPORT
    lines = path.read_text().splitlines(keepends=True)
    [row] = [line for line in lines if "`energy_infer`" in line]
    better = row.replace("| 0.00", "| 0.000", 1)
    assert better != row, row
    lines.insert(lines.index(row), better)
    path.write_text("".join(lines))
    hashed_again(folder)


SESSION = "session virtual-asc"
TRIALS = "trials"
NUMBERS = "numbers"
#: An edit by its name, and the row that must refuse it.
MUTATIONS: Mapping[str, tuple[Edit, str]] = {
    "a number": (metric("energy_infer", value=0.0018), NUMBERS),
    "a standard error": (metric("latency_infer", standard_error=1e-9), NUMBERS),
    "an interval": (metric("latency_infer", low=0.0419), NUMBERS),
    "a unit": (metric("power_idle", unit="mW"), NUMBERS),
    "a value of one trial": (metric("accuracy", per_trial=[1, 1, 1, 1, 0.9]), NUMBERS),
    "no value": (metric("energy_total", value=None), "metrics energy_preprocess"),
    "a missing cell": (
        in_tree(lambda tree: session(tree)["metrics"].pop("power_dynamic")),
        "metrics power_idle",
    ),
    "a cell too many": (
        in_tree(
            lambda tree: session(tree)["metrics"].update(
                energy_extra=session(tree)["metrics"]["energy_infer"]
            )
        ),
        NUMBERS,
    ),
    "no reason": (stated(no_result={}), NUMBERS),
    "no label": (stated(labels=[]), "labels"),
    "the label removed": (stated(labels=["GENERATED DATA", "SUBSET"]), "labels"),
    "the label removed, and from the records": (
        then(stated(labels=["GENERATED DATA", "SUBSET"]), in_session(not_simulated)),
        SESSION,
    ),
    "a wrong seed": (
        in_tree(lambda tree: session(tree)["trials"][2].update(seed=5)),
        TRIALS,
    ),
    "an extra trial": (
        in_tree(
            lambda tree: session(tree)["trials"].append(session(tree)["trials"][0])
        ),
        TRIALS,
    ),
    "a trial less": (in_tree(lambda tree: session(tree)["trials"].pop()), TRIALS),
    "more samples": (
        in_tree(lambda tree: session(tree)["trials"][0].update(samples=16240)),
        TRIALS,
    ),
    "an invalid trial": (
        in_tree(lambda tree: session(tree)["trials"][0].update(valid=False)),
        TRIALS,
    ),
    "another chain": (stated(chain="0" * 64), SESSION),
    "another bench": (stated(bench_sha256="0" * 64), NUMBERS),
    "another device": (stated(sut="a faster device"), NUMBERS),
    "another instrument": (stated(monitors=["Joulescope"]), NUMBERS),
    "no instrument": (stated(monitors=[]), "components"),
    "another scenario": (stated(scenario="offline"), NUMBERS),
    "another verdict": (stated(replication="fail"), NUMBERS),
    "a name that leads away": (
        stated(name="../sessions/virtual-asc"),
        "session ../sessions/virtual-asc",
    ),
    "nothing included": (top(components_included=[]), "components"),
    "nothing omitted": (top(components_omitted=[" "]), "components"),
    "an empty section": (
        in_tree(lambda tree: tree["report"].update({"power.tap": ""})),
        "report",
    ),
    "a missing entry": (top(missing=["algorithm.tuning"]), "report"),
    "no licence": (
        in_tree(lambda tree: tree["submitter"].update(licence="")),
        "submitter and versions",
    ),
    "another version": (
        in_tree(
            lambda tree: tree["versions"]["virtual-asc"]["packages"].update(numpy="1")
        ),
        "submitter and versions",
    ),
    "other rules": (top(rules="our own rules"), "form"),
    "an unknown key": (top(comment="trust us"), "form"),
    "another schema": (top(schema="neurorig-submission-0"), "form"),
    "a session twice": (
        in_tree(
            lambda tree: tree["configurations"][0]["sessions"].append(session(tree))
        ),
        "form",
    ),
    "another hash": (
        in_tree(lambda tree: tree["files"].update({REPORT: "0" * 64})),
        "files",
    ),
    "a file too many": (written("notes.txt", b"x"), "files"),
    "a swapped image": (written("firmware/images/image.elf", b"other"), "files"),
    "an image gone": (
        then(lambda folder: (folder / "firmware/images/image.elf").unlink()),
        "files",
    ),
    "an image gone and its hash": (
        then(
            lambda folder: (folder / "firmware/images/image.elf").unlink(),
            hashed_again,
        ),
        "firmware",
    ),
    "no diagram": (
        then(lambda folder: (folder / "workflow.svg").unlink(), hashed_again),
        "files",
    ),
    "another hash for repositories": (
        then(
            changed_text(CRATE, '"sha256": "', '"sha256": "0'),
            in_tree(lambda tree: tree["files"].pop(CRATE)),
        ),
        "ro-crate",
    ),
    "a number of the report": (
        then(
            changed_text(REPORT, "`accuracy` | 1.0", "`accuracy` | 1.1"), hashed_again
        ),
        "report",
    ),
    "a row of the report less": (
        then(changed_text(REPORT, "`accuracy`", "accuracy"), hashed_again),
        "report",
    ),
    "a section of the report less": (
        then(changed_text(REPORT, "`power.tap`", "tap"), hashed_again),
        "report",
    ),
    "results.json": (
        in_session(
            changed_text("results.json", '"value": 1.0', '"value": 0.5'), remade=False
        ),
        SESSION,
    ),
    "bench.toml": (
        in_session(changed_text("bench.toml", "warmup = 2", "warmup = 1")),
        SESSION,
    ),
    "an answer": (
        in_session(
            changed_text("trial-1/completions.jsonl", '"answer": "', '"answer": "x')
        ),
        SESSION,
    ),
    "a trace": (in_session(flipped, remade=False), SESSION),
    "the catalogue": (
        in_session(changed_text("catalogue.csv", "airport", "bus"), remade=False),
        SESSION,
    ),
    "a sixth trial": (in_session(copied_trial, remade=False), SESSION),
    "a trial's folder gone": (
        in_session(lambda folder: shutil.rmtree(folder / "trial-5"), remade=False),
        SESSION,
    ),
    "trials in another order": (
        in_tree(lambda tree: session(tree)["trials"].reverse()),
        TRIALS,
    ),
    "values of trials in another order": (
        in_tree(
            lambda tree: session(tree)["metrics"]["energy_infer"]["per_trial"].reverse()
        ),
        NUMBERS,
    ),
    "a number that is none": (metric("energy_infer", value=math.nan), "form"),
    "an endless number": (metric("energy_infer", low=-math.inf), "form"),
    "a number as text": (metric("energy_infer", value="0.0018"), "form"),
    "a key twice": (said_twice, "form"),
    "a label with a foreign letter": (
        stated(labels=["S\u0406MULATED", "GENERATED DATA", "SUBSET"]),
        "labels",
    ),
    "a file cut off": (as_bytes(lambda content: content[:-200]), "form"),
    "another encoding": (
        as_bytes(lambda content: content.decode().encode("utf-16")),
        "form",
    ),
    "endless brackets": (as_bytes(lambda content: b"[" * 100_000), "form"),
    "a hash of a file outside": (
        in_tree(lambda tree: tree["files"].update({"../place": "0" * 64})),
        "files",
    ),
    "an image outside": (top(images=["../image.elf"]), "firmware"),
    "a folder for a file": (
        then(
            lambda folder: (folder / REPORT).unlink(),
            lambda folder: (folder / REPORT).mkdir(),
            written(f"{REPORT}/x", b"x"),
        ),
        "files",
    ),
    "a second number of the report": (also_in_report, "report"),
    "one session as two configurations": (under_two_names, "form"),
    "one trial for two": (in_session(one_trial_for_two), SESSION),
    "two trials in each other's place": (in_session(reordered), NUMBERS),
    "raw data said to be elsewhere, and another trace": (
        then(stated(raw="https://example.org/raw"), in_session(flipped, remade=False)),
        SESSION,
    ),
    "the session gone": (
        then(lambda folder: shutil.rmtree(own(folder)), hashed_again),
        SESSION,
    ),
}


def test_there_are_enough_mutations() -> None:
    assert len(MUTATIONS) >= 30


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_is_refused_by_the_row_about_it(name: str, folder: Path) -> None:
    edit, row = MUTATIONS[name]
    before = hashes(folder)
    edit(folder)
    assert hashes(folder) != before
    found = judged(folder)
    refusing = verdicts(found, False) - LABELS
    assert row in refusing, (name, found.rows)
    assert found.outcome is Outcome.FAIL


def test_a_link_in_the_folder_is_refused_before_a_file_is_read(folder: Path) -> None:
    (folder / "report.md").unlink()
    (folder / "report.md").symlink_to("/etc/hostname")
    found = judged(folder)
    assert [(row.requirement, row.passed) for row in found.rows] == [
        ("report.md", False)
    ]
    assert "is a link" in found.rows[0].evidence


def test_a_folder_without_a_submission_is_none(place: Path) -> None:
    with pytest.raises(DataError, match="is no submission"):
        judged(place / "recorded" / "virtual-asc")


def test_a_benchmark_without_rules_is_refused(folder: Path) -> None:
    top(benchmark="kws")(folder)
    found = judged(folder, rules=None)
    assert verdicts(found, False) == {"form"}
    assert "the judge has no rules of 'kws'" in found.rows[0].evidence


@dataclass(frozen=True)
class Of:
    """A session whose device states other firmware."""

    case: requirements.JudgedCase

    def firmware(self, text: str, images: Sequence[str]) -> bool | None:
        [each] = self.case.sessions
        assert each.results is not None
        sut = replace(each.results.provenance.sut, firmware=text)
        about = replace(each.results.provenance, sut=sut)
        other = replace(each, results=replace(each.results, provenance=about))
        stated = replace(self.case.submission, images=tuple(images))
        case = replace(self.case, sessions=(other,), submission=stated)
        [row] = requirements._firmware(case)
        return row.passed


def test_the_hash_that_a_device_states_of_its_image_must_be_there(place: Path) -> None:
    folder = place / "submission"
    submission = submission_file.read(folder)
    [stated_session] = submission.sessions
    read = evidence.of_session(folder, stated_session, checking.fingerprints)
    of = Of(requirements.JudgedCase(folder, submission, of_benchmark("asc"), (read,)))
    image = "firmware/images/image.elf"
    digest = submission.files[image]
    assert of.firmware(f"1.0, asc sha256 {digest}", [image]) is True
    assert of.firmware(f"1.0, asc sha256 {'0' * 64}", [image]) is False
    assert of.firmware(f"1.0, asc sha256 {digest}", []) is False
    assert of.firmware("1.0 of a board", []) is False
    assert of.firmware("", []) is True
