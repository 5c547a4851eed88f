# SPDX-License-Identifier: Apache-2.0
"""A submission holds what its sessions and its author state, names missing entries, and
is whole or not there.
"""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import jsonschema
import pytest

from rig.errors import ConfigError, DataError, StorageFull
from rig.results import submission_file
from rig.results.submission_file import CRATE, REPORT, SUBMISSION, Submission
from rig.session.session import open_bench
from rig.submission import about, build, entries, workflow
from tests.conftest import ROOT
from tests.recorded import recorded
from tests.submissions import built, record_asc, statements


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    [folder] = recorded(tmp_path_factory, "submitted-asc", record_asc).iterdir()
    return folder


def crate_of(folder: Path) -> dict[str, dict[str, object]]:
    tree = json.loads((folder / CRATE).read_text())
    assert tree["@context"] == "https://w3id.org/ro/crate/1.1/context"
    return {entity["@id"]: entity for entity in tree["@graph"]}


def test_all_of_it_is_there_and_hashed(session: Path, tmp_path: Path) -> None:
    folder = built([session], statements(tmp_path / "stated"), tmp_path / "made")
    made = submission_file.read(folder)
    assert made.missing == ()
    files = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.name != SUBMISSION
    }
    assert set(made.files) == files
    assert f"sessions/{session.name}/trial-5/trace.jls" in files
    assert {"firmware/sources/src/main.c", "firmware/images/image.elf"} <= files
    for name, digest in made.files.items():
        assert digest == sha256((folder / name).read_bytes()).hexdigest()
    [stated] = made.sessions
    results = json.loads((session / "results.json").read_text())
    assert {name: one.value for name, one in stated.metrics.items()} == {
        name: one["value"] for name, one in results["metrics"].items()
    }
    assert stated.no_result == results["absent"]
    assert stated.labels == ("SIMULATED", "GENERATED DATA", "SUBSET")
    assert stated.chain in (session / "events.jsonl").read_text()


def test_it_meets_its_published_schema(session: Path, tmp_path: Path) -> None:
    folder = built([session], statements(tmp_path / "stated"), tmp_path / "made")
    page = ROOT / "docs/reference/schemas/submission.schema.json"
    checker = jsonschema.Draft202012Validator(json.loads(page.read_text()))
    tree = json.loads((folder / SUBMISSION).read_text())
    assert not list(checker.iter_errors(tree))
    assert list(checker.iter_errors({**tree, "more": 1}))


def test_repositories_learn_who_what_licence_and_which_file(
    session: Path, tmp_path: Path
) -> None:
    folder = built([session], statements(tmp_path / "stated"), tmp_path / "made")
    crate = crate_of(folder)
    root = crate["./"]
    assert crate["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    assert root["license"] == "CC-BY-4.0"
    assert crate["#submitter"]["name"] == "A. Author"
    run = crate[f"#run-{session.name}"]
    assert run["result"] == {"@id": f"sessions/{session.name}/results.json"}
    parts = root["hasPart"]
    assert isinstance(parts, list)
    for part in parts:
        assert (folder / part["@id"]).is_file()
        assert part["@id"] in crate
    trace = crate[f"sessions/{session.name}/trial-1/trace.jls"]
    assert trace["contentSize"] == str((session / "trial-1/trace.jls").stat().st_size)


def test_the_report_has_texts_without_markup_and_every_number(
    session: Path, tmp_path: Path
) -> None:
    stated = statements(tmp_path / "stated")
    folder = built([session], stated, tmp_path / "made")
    page = (folder / REPORT).read_text()
    assert "A \\| Laboratory" in page
    assert "one virtual core \\<at\\> 80 MHz" in page
    assert "**SIMULATED, GENERATED DATA, SUBSET**" in page
    assert "MISSING" not in page
    results = json.loads((session / "results.json").read_text())
    for name, metric in results["metrics"].items():
        assert f"| `{session.name}` | `{name}` | {metric['value']!r} |" in page
    assert "200" not in page.split("power.time_resolution")[1].split("\n")[0]
    assert "20 kHz (virtual monitor)" in page


def test_the_diagram_is_drawn_from_the_phases() -> None:
    drawing = workflow.drawing(["preprocess", "in<fer"])
    root = ElementTree.fromstring(drawing)
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[1:] == [
        "data initialisation",
        "host pre-processing",
        "loading",
        "preprocess",
        "in<fer",
        "host post-processing",
    ]


def test_without_statements_the_missing_ones_are_named(
    session: Path, tmp_path: Path
) -> None:
    made = made_of(session, tmp_path / "made")
    assert "submitter.name" in made.missing and "power.tap" in made.missing
    assert "power.device" not in made.missing
    assert made.report["power.time_resolution"] == "20 kHz (virtual monitor)"
    page = (tmp_path / "made" / REPORT).read_text()
    assert "`power.tap`: **MISSING**: not stated" in page


def made_of(session: Path, to: Path) -> Submission:
    read = entries.read(session)
    stated = about.AuthorStatements()
    request = build.SubmissionRequest(sessions=(read,), about=stated, beside=to.parent)
    return build.build(request, to)


def test_a_bench_s_metadata_stands_where_the_author_states_nothing(
    session: Path, tmp_path: Path
) -> None:
    read = entries.read(session)
    provenance = replace(
        read.results.provenance,
        metadata={
            "architecture": "a core",
            "components_included": {"core": "3.3 V"},
            "components_omitted": ["debugger"],
        },
    )
    read = replace(read, results=replace(read.results, provenance=provenance))
    stated = about.AuthorStatements()
    request = build.SubmissionRequest(sessions=(read,), about=stated, beside=tmp_path)
    made = build.build(request, tmp_path / "made")
    assert made.report["system.architecture"] == "a core"
    assert made.components_included == ("core: 3.3 V",)
    assert made.components_omitted == ("debugger",)


def test_raw_data_may_stay_in_another_place(session: Path, tmp_path: Path) -> None:
    stated = statements(tmp_path / "stated")
    url = "https://example.org/raw"
    folder = built([session], stated, tmp_path / "made", raw=url)
    made = submission_file.read(folder)
    assert made.sessions[0].raw == url
    names = {name.rpartition("/")[2] for name in made.files}
    assert not names & {"trace.jls", "uart.log", "completions.jsonl"}
    assert {"events.jsonl", "results.json", "samples.jsonl"} <= names


def test_the_template_is_read_and_states_nothing(tmp_path: Path) -> None:
    path = tmp_path / "about.toml"
    path.write_text(about.template())
    assert about.read(path) == about.AuthorStatements()


def test_what_cannot_be_submitted_leaves_no_folder(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "made"
    stated = statements(tmp_path / "stated")
    (tmp_path / "stated" / "image.elf").unlink()
    with pytest.raises(ConfigError, match="is no file and no folder"):
        built([session], stated, to)
    with pytest.raises(ConfigError, match="the same name"):
        built([session, session], stated, to)
    changed = tmp_path / "changed"
    shutil.copytree(session, changed)
    (changed / "results.json").write_text("{}")
    with pytest.raises(DataError, match="was changed after the run"):
        built([changed], stated, to)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(StorageFull):
        made_of(session, to)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["changed", "stated"]


def test_sessions_of_two_tasks_are_refused(session: Path, tmp_path: Path) -> None:
    with open_bench(
        ROOT / "benches" / "virtual-null.toml", ["task.null.samples=2"]
    ) as it:
        other = it.run(1, tmp_path / "sessions").folder
    with pytest.raises(ConfigError, match="are of several tasks"):
        built([session, other], statements(tmp_path / "stated"), tmp_path / "made")
