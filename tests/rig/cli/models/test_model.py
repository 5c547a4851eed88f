# SPDX-License-Identifier: Apache-2.0
"""`rig model`: a network looked at, checked, and run from files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rig.bench import plugins
from rig.cli.models.model import model
from rig.errors import ConfigError, DataError
from scenarios.tasks.asc.task import SHIPPED_MODEL
from tests.commands import rig
from tests.conftest import ROOT

VECTORS = ROOT / "tests" / "vectors" / "nir"


def invoke(*words: str | Path | int) -> tuple[int, str]:
    done = CliRunner().invoke(
        model, [str(word) for word in words], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return done.return_value or 0, done.output


def test_inspect_names_nodes_shapes_sizes_and_conventions() -> None:
    code, text = invoke("inspect", SHIPPED_MODEL)
    assert code == 0
    assert "neurons: 100; synapses: 3200" in text.replace("\n", " ")
    assert "xylo" in text
    assert "time step: 8 ms" in text
    _, text = invoke("inspect", VECTORS / "conv2d-3x5.nir")
    assert "4 x 9 x 4" in text


def test_check_ends_with_1_where_something_is_wrong() -> None:
    path = VECTORS / "norse-lif-0.001.nir"
    code, text = invoke("check", path)
    assert code == 1
    assert "no time step" in text
    code, text = invoke("check", path, "--dt", "0.001")
    assert code == 0
    code, text = invoke("check", path, "--dt", "0.1")
    assert code == 1
    assert "milliseconds" in text


def test_run_gives_the_spikes_of_the_other_program(tmp_path: Path) -> None:
    with np.load(VECTORS / "norse-lif-0.001.npz") as stored:
        vector = dict(stored)
    np.save(tmp_path / "in.npy", vector["input"])
    out = tmp_path / "out.npz"
    path = VECTORS / "norse-lif-0.001.nir"
    words = ("run", path, tmp_path / "in.npy", "--dt", "0.001", "--output", out)
    code, text = invoke(*words, "--record", "weight")
    assert code == 0
    assert f"neurons: {int(vector['output'].sum())} spikes" in text
    with np.load(out) as stored:
        written = dict(stored)
    assert np.array_equal(written["output"][0], vector["output"])
    assert written["weight"].shape == (1, 300, 10)


def test_run_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    path = VECTORS / "norse-lif-0.001.nir"
    np.save(tmp_path / "in.npy", np.zeros((3, 8)))
    with pytest.raises(DataError, match="cannot be run"):
        invoke("run", path, tmp_path / "in.npy")
    with pytest.raises(ConfigError, match="no node 'else'"):
        invoke("run", path, tmp_path / "in.npy", "--dt=0.001", "--record=else")
    np.save(tmp_path / "object.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("1 2 3")
    for name, words in (
        ("object.npy", r"no \.npy file"),
        ("text.npy", r"no \.npy file"),
        ("missing.npy", "does not exist"),
    ):
        with pytest.raises(DataError, match=words):
            invoke("run", path, tmp_path / name, "--dt", "0.001")


def test_quantize_writes_a_network_that_runs_in_whole_numbers(tmp_path: Path) -> None:
    with np.load(VECTORS / "norse-lif-0.001.npz") as stored:
        vector = dict(stored)
    np.save(tmp_path / "in.npy", vector["input"])
    path = VECTORS / "norse-lif-0.001.nir"
    report = tmp_path / "report.json"
    for name in ("x.nir", "x.json"):
        words = ("quantize", path, "--dt", "0.001", "--input", tmp_path / "in.npy")
        _, text = invoke(*words, "-o", tmp_path / name, "--report", report)
        assert "1 of 1 samples decided as in floating point" in text.replace("\n", " ")
        out = tmp_path / "out.npz"
        run = (
            "run",
            tmp_path / name,
            tmp_path / "in.npy",
            "--fixed-point",
            "--output",
            out,
        )
        invoke(*run)
        with np.load(out) as stored:
            differing = np.abs(stored["output"][0] - vector["output"]).sum()
        stated = json.loads(report.read_text())
        assert differing == sum(node["differing"] for node in stated["nodes"]) < 10
        with pytest.raises(
            ConfigError, match="its time step and conventions are in it"
        ):
            invoke(*run, "--dt", "0.001")
    out = tmp_path / "y.json"
    _, text = invoke("quantize", path, "--dt=0.001", f"--output={out}", "--bits=4")
    assert "is not known" in text
    # In floating point any reader takes the file, its weights rounded.
    _, text = invoke("run", tmp_path / "x.nir", tmp_path / "in.npy")
    assert "neurons: 118 spikes" in text


PRESETS_FOLDER = ROOT / "tests" / "vectors" / "nir" / "presets"


def test_a_file_that_does_not_state_the_reset_is_doubtful_until_it_is_chosen() -> None:
    path = PRESETS_FOLDER / "snntorch-leaky.nir"
    for words in (("check", path, "--dt", "1e-4"), ("inspect", path)):
        guessed = rig("model", *words)
        assert "the file does not state the reset" in guessed.stdout.replace("\n", " ")
        for choice in (("--as", "snntorch"), ("--reset", "subtract")):
            chosen = rig("model", *words, *choice)
            assert "does not state the reset" not in chosen.stdout
            assert chosen.returncode == 0


def test_the_reset_that_is_chosen_changes_the_spikes(tmp_path: Path) -> None:
    with np.load(PRESETS_FOLDER / "snntorch-leaky.npz") as stored:
        np.save(tmp_path / "input.npy", stored["input"])
        theirs = int(stored["output"].sum())
    counts = {}
    for reset in ("zero", "subtract", "subtract-next", "none"):
        files = (PRESETS_FOLDER / "snntorch-leaky.nir", tmp_path / "input.npy")
        conventions = ("--as=snntorch", f"--reset={reset}")
        output = tmp_path / f"{reset}.npz"
        reported = rig("model", "run", *files, *conventions, "--output", output)
        assert reported.returncode == 0, reported.stderr
        with np.load(tmp_path / f"{reset}.npz") as stored:
            counts[reset] = int(stored["output"].sum())
    assert counts["subtract-next"] == theirs
    assert len(set(counts.values())) == 4


def test_a_backend_that_cannot_be_loaded_is_no_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = plugins.find

    def without_loihi(section: str, kind: str) -> type:
        if kind == "loihi":
            raise ConfigError("needs a package that is not installed: lava")
        return find(section, kind)

    monkeypatch.setattr(plugins, "find", without_loihi)
    with pytest.raises(ConfigError, match="maps no networks") as caught:
        invoke("map", SHIPPED_MODEL, "--on", "cpu")
    assert "xylo" in caught.value.try_next
    assert "loihi" not in caught.value.try_next
