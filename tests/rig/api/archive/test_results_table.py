# SPDX-License-Identifier: Apache-2.0
"""Results of many sessions in one table, its files, and a history."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest
from pyarrow import parquet

import rig
from rig.api.archive import results_table
from rig.api.archive.history_picture import save
from rig.errors import DataError
from tests.commands import rig as command
from tests.conftest import VIRTUAL_NULL

pytestmark = pytest.mark.computes


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sessions")
    for commit, power_w in (("0a1b2c", 0.04), ("3d4e5f", 0.05)):
        settings = [
            "task.null.samples=4",
            "scenario.single_stream.idle_s=0.05",
            f"metadata.commit={json.dumps(commit)}",
            f"sut.virtual.infer.power_w={power_w}",
        ]
        with rig.open_bench(VIRTUAL_NULL, settings) as bench:
            bench.run(2, root=root)
    return root


def stored(session: Path) -> dict[str, dict[str, float]]:
    text = (session / "results.json").read_text(encoding="utf-8")
    metrics: dict[str, dict[str, float]] = json.loads(text)["metrics"]
    return metrics


def test_the_table_has_the_numbers_of_every_results_json(sessions: Path) -> None:
    table = rig.results_table(sessions, every=True)
    for path in sessions.iterdir():
        rows = table[table.session == path.name].set_index("metric")
        content = stored(path)
        assert list(rows.index) == list(content)
        for name, row in content.items():
            value = row["value"]
            assert value is None or rows.value[name] == value
            interval = content[name]["same_samples"]
            low = rows.same_low[name]
            assert low == interval["low"] if interval["low"] is not None else True
    assert set(table.commit) == {"0a1b2c", "3d4e5f"}
    assert "SIMULATED" in table.attrs["labels"]
    assert table.labels.str.contains("SIMULATED").all()


def test_named_metrics_alone_and_a_name_that_is_none(sessions: Path) -> None:
    paths = sorted(sessions.iterdir())
    table = rig.results_table(*paths, metrics=("energy_infer",))
    assert list(table.metric) == ["energy_infer"] * 2
    with pytest.raises(DataError, match="no session has a metric energy_infr"):
        rig.results_table(sessions, metrics=("energy_infr",))


def test_files_have_the_same_numbers_and_the_labels(
    sessions: Path, tmp_path: Path
) -> None:
    csv, other = tmp_path / "r.csv", tmp_path / "r.parquet"
    files = ("--csv", csv, "--parquet", other)
    done = command("results", sessions, "--all", *files)
    assert done.returncode == 0, done.stderr
    table = rig.results_table(sessions, every=True)
    assert csv.read_text(encoding="utf-8").startswith("# neurorig: SIMULATED")
    from_csv = pandas.read_csv(csv, comment="#", dtype={"commit": str, "unit": str})
    from_parquet = parquet.read_table(other)
    for found in (from_csv, from_parquet.to_pandas()):
        assert list(found.columns) == list(table.columns)
        assert found.value.equals(table.value.astype(float))
        assert found.other_high.equals(table.other_high.astype(float))
    assert b"SIMULATED" in from_parquet.schema.metadata[b"labels"]


def test_a_history_names_commits_and_changes_and_has_a_picture(
    sessions: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "history.svg"
    words = ("--history", "energy_infer", "--picture", picture)
    done = command("results", sessions, *words)
    assert done.returncode == 0, done.stderr
    assert "0a1b2c" in done.stdout and "+25" in done.stdout
    assert "SIMULATED" in done.stdout
    drawn = picture.read_text(encoding="utf-8")
    assert "energy_infer in" in drawn and "SIMULATED" in drawn
    rows = results_table.rows(results_table.collect([sessions]), ["energy_infer"])
    with pytest.raises(DataError, match="cannot be written"):
        save(tmp_path / "history.xyz", "energy_infer", rows)


def test_a_history_compares_no_two_benches(sessions: Path, tmp_path: Path) -> None:
    settings = [
        "task.null.samples=4",
        "scenario.single_stream.idle_s=0.05",
        'bench.name="another"',
        "sut.virtual.infer.power_w=0.4",
    ]
    with rig.open_bench(VIRTUAL_NULL, settings) as bench:
        other = bench.run(2, root=tmp_path / "other").path
    picture = tmp_path / "history.svg"
    words = ("--history", "energy_infer", "--picture", picture)
    done = command("results", sessions, other, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("+") == 1, "within one bench"
    heads = [line for line in done.stdout.splitlines() if "virtual monitor" in line]
    assert [head.split(":")[0].strip() for head in heads] == ["virtual-null", "another"]
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.count("energy_infer in") == 2, "axes for each"
    assert "another: virtual device" in drawn


def test_a_history_refuses_other_metrics(sessions: Path) -> None:
    words = ("--history", "energy_infer", "--metric", "energy_total")
    done = command("results", sessions, *words)
    assert done.returncode == 2 and "--metric has no effect" in done.stderr
    every = command("results", sessions, "--history", "energy_infer", "--all")
    assert every.returncode == 2 and "--all has no effect" in every.stderr
