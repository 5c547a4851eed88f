# SPDX-License-Identifier: Apache-2.0
"""A session whose files were changed after its run is marked in every view, and no
other.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rig
from lab.faults import forgeries
from lab.faults.forger import edit_json
from rig.api.archive.listing import CHANGED as OUTCOME
from rig.api.archive.listing import Listing
from rig.api.comparing.comparison import compare
from rig.api.report import write_report
from rig.api.trials.replication import session_trials
from rig.errors import ConfigError, DataError
from rig.pytest_plugin.tested import TestedSession, properties
from rig.results import claim
from rig.results.changed import CHANGED
from rig.results.verdict import Outcome
from rig.store.event_file import write_derived
from rig.store.session_folder import SessionFolder
from tests.commands import rig as command
from tests.conftest import VIRTUAL_NULL

pytestmark = pytest.mark.computes

#: Edits of a finished session, and the file that is to be named.
EDITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a number of the results": (
        lambda folder: edit_json(folder / "results.json", halve),
        "results.json",
    ),
    "the label of the provenance": (
        lambda folder: edit_json(
            folder / "provenance.json", lambda about: about.update(simulated=False)
        ),
        "provenance.json",
    ),
    "the results taken away": (
        lambda folder: (folder / "results.json").unlink(),
        "results.json",
    ),
    "the events": (
        lambda folder: (folder / "events.jsonl").write_text(
            (folder / "events.jsonl").read_text().replace('"success"', '"success "')
        ),
        "events.jsonl",
    ),
    "another hash in a line of its own": (
        lambda folder: (
            edit_json(folder / "results.json", halve),
            write_derived(
                SessionFolder(folder),
                "results.json",
                (folder / "results.json").read_bytes(),
            ),
        ),
        "results.json",
    ),
}


def halve(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Halve the energy in the content of results.json, in the value and in each
    trial."""
    row = results["metrics"]["energy_total"]
    row["value"] /= 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sessions: a, b."""
    root = tmp_path_factory.mktemp("made")
    small = ["task.null.samples=4", "scenario.single_stream.idle_s=0.05"]
    for name in ("a", "b"):
        with rig.open_bench(VIRTUAL_NULL, [*small, f"bench.name={name}"]) as bench:
            bench.run(5, root).path.rename(root / name)
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "sessions")


@pytest.fixture
def edited(root: Path) -> Path:
    """Return a session whose results were edited by hand; b beside it was not."""
    edit_json(root / "a" / "results.json", halve)
    return root / "a"


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield forgeries.session(
        "optimization", tmp_path_factory.mktemp("grid"), report=False
    )


def test_an_untouched_session_has_no_mark(root: Path) -> None:
    session = rig.open_session(root / "b")
    assert session.changed == () and session.verdict.ok and session.valid
    assert CHANGED not in session.labels and CHANGED not in repr(session)
    [_, row] = sorted(Listing(root).rows(), key=lambda row: row.name)
    assert not row.changed and row.outcome == "PASS"
    for words in (("list",), ("sessions",), ("compare", "sessions/a", "sessions/b")):
        done = command(*words, cwd=root.parent)
        assert done.returncode == 0 and CHANGED not in done.stdout, words


@pytest.mark.parametrize(("edit", "named"), EDITS.values(), ids=EDITS)
def test_python_says_what_was_changed_and_calls_the_session_neither_valid_nor_true(
    root: Path, edit: Callable[[Path], object], named: str
) -> None:
    edit(root / "a")
    session = rig.open_session(root / "a")
    assert [change.name for change in session.changed] == [named]
    assert not session.valid and named in session.invalid_because
    assert CHANGED in session.labels and CHANGED in repr(session)
    assert CHANGED in session._repr_html_()
    assert (
        session.verdict.outcome is Outcome.INVALID and named in session.verdict.reason
    )


def test_spike_trains_that_no_line_names_are_marked(root: Path) -> None:
    (root / "a" / "trains.npz").write_bytes(b"PK")
    [change] = rig.open_session(root / "a").changed
    assert str(change).startswith("trains.npz was added")


@pytest.mark.parametrize("name", ["samples.jsonl", "completions.jsonl"])
def test_the_samples_of_a_trial_are_looked_at_too(root: Path, name: str) -> None:
    path = root / "a" / "trial-2" / name
    path.write_text(path.read_text().replace("1", "2", 1))
    [change] = rig.open_session(root / "a").changed
    assert str(change).startswith(f"trial-2/{name} was changed: SHA-256 ")


def test_results_that_were_put_into_a_session_that_was_cut_off_are_marked(
    root: Path,
) -> None:
    folder = root / "a"
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:3]))
    session = rig.open_session(folder)
    assert [str(change) for change in session.changed] == [
        "results.json was added: no line of events.jsonl names it"
    ]
    assert ": killed (" in repr(session) and repr(session).endswith(f", {CHANGED})>")


def test_a_link_in_the_place_of_a_file_is_not_followed(
    root: Path, tmp_path: Path
) -> None:
    path = root / "a" / "results.json"
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(DataError, match="is a link"):
        rig.open_session(root / "a")
    assert "is no regular file" in str(rig.Session(root / "a").changed[0])


def test_the_list_marks_it_in_outcome_labels_and_reason(edited: Path) -> None:
    row, other = sorted(Listing(edited.parent).rows(), key=lambda row: row.name)
    assert row.changed and row.outcome == OUTCOME and row.verdict is Outcome.INVALID
    assert CHANGED in row.labels and "results.json was changed" in row.reason
    assert other.outcome == "PASS"


def test_a_list_that_has_read_a_session_sees_a_later_change_of_its_bench(
    root: Path,
) -> None:
    result = Listing(root)
    assert [row.changed for row in result.rows()] == [False, False]
    with (root / "a" / "bench.toml").open("a") as stream:
        stream.write("# more\n")
    assert {row.name: row.changed for row in result.rows()} == {"a": True, "b": False}


def test_a_report_page_that_was_edited_is_marked_and_one_that_was_removed_is_not(
    root: Path,
) -> None:
    page = write_report(root / "a")
    assert not any(row.changed for row in Listing(root).rows())
    page.write_text(page.read_text().replace("SIMULATED", "MEASURED"))
    [row] = [row for row in Listing(root).rows() if row.changed]
    assert row.reason.startswith("report.html was changed")
    page.unlink()
    assert not any(row.changed for row in Listing(root).rows())


def test_every_command_that_shows_it_marks_it(edited: Path) -> None:
    root = edited.parent.parent
    listed = command("list", cwd=root)
    [line] = [line for line in listed.stdout.splitlines() if line.split()[:1] == ["a"]]
    assert CHANGED in line and "verdict" not in line
    [other] = [line for line in listed.stdout.splitlines() if line.split()[:1] == ["b"]]
    assert CHANGED not in other and "PASS" in other

    rows = command("sessions", "changed", cwd=root).stdout
    assert OUTCOME in rows and CHANGED in rows and "1 session: 1 changed" in rows

    checked = command("check", edited, cwd=root)
    assert checked.returncode == 1 and CHANGED in checked.stdout

    measured = command("measure", edited / "trial-1", cwd=root)
    assert (
        "changed after the run: results.json was changed"
        in measured.stdout + measured.stderr
    )


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_comparison_with_it_is_marked_and_ends_with_1(
    edited: Path, order: tuple[str, str]
) -> None:
    root = edited.parent
    done = command("compare", *(root / name for name in order), cwd=root)
    assert done.returncode == 1
    assert CHANGED in done.stdout
    assert "note: a was changed after its run: results.json was changed" in done.stdout
    result = compare(*(rig.open_session(root / name) for name in order))
    assert any("a was changed after its run" in note for note in result.notes)


def test_a_table_of_backends_with_it_is_marked_in_every_form_and_ends_with_1(
    edited: Path, tmp_path: Path
) -> None:
    other = edited.parent / "b"
    done = command("compare", edited, other, "--output", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert (
        f"{CHANGED}: a" in done.stdout and "a: results.json was changed" in done.stdout
    )
    for form in ("csv", "json", "md"):
        assert CHANGED in (tmp_path / "out" / f"comparison.{form}").read_text(), form
    rows = list(
        csv.DictReader(io.StringIO((tmp_path / "out" / "comparison.csv").read_text()))
    )
    assert [(row["valid"], row["verdict"]) for row in rows] == [
        ("False", "invalid"),
        ("True", "pass"),
    ]


def test_a_report_of_it_is_no_pass_and_says_so_at_the_top_and_in_every_picture(
    edited: Path,
) -> None:
    page = write_report(edited).read_text(encoding="utf-8")
    assert f"<b>{CHANGED}</b>" in page.split("<main>")[0]
    assert "✗ INVALID" in page and "✓ PASS" not in page
    assert all(CHANGED in part.split("</svg>")[0] for part in page.split("<svg ")[1:])


def test_the_trials_of_it_do_not_replicate(edited: Path) -> None:
    view = session_trials(rig.open_session(edited))
    assert view.results.replication.judged is Outcome.INVALID
    assert "results.json was changed" in view.results.replication.reason


def test_coverage_of_it_is_marked_and_ends_with_1(grid: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(grid, tmp_path / grid.name)
    done = command("coverage", folder, cwd=tmp_path)
    assert done.returncode == 0 and CHANGED not in done.stdout, done.stdout
    with (folder / "bench.toml").open("a") as stream:
        stream.write("# more\n")
    done = command("coverage", folder, cwd=tmp_path)
    assert done.returncode == 1 and CHANGED in done.stdout
    scored = command("qubo", "rescore", folder, cwd=tmp_path)
    assert scored.returncode == 1 and CHANGED in scored.stdout


def test_edited_results_are_no_claim(edited: Path) -> None:
    with pytest.raises(ConfigError, match="is no claim") as caught:
        claim.read(edited / "results.json")
    assert "results.json was changed" in caught.value.evidence
    assert claim.read(edited.parent / "b" / "results.json").values


def test_the_report_of_a_test_run_says_so(edited: Path) -> None:
    output = dict(properties(TestedSession(edited), edited.parent))
    assert output["rig.verdict"] == "INVALID" and CHANGED in output["rig.labels"]


def test_a_bundle_with_it_says_so(edited: Path) -> None:
    root = edited.parent
    done = command("bundle", edited, "--out", "b.zip", cwd=root)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(root / "b.zip") as archive:
        output = json.loads(archive.read("session/metrics.json"))
    assert output["changed after the run"][0].startswith("results.json was changed")
