# SPDX-License-Identifier: Apache-2.0
"""Several networks on the same systems, through the command: figures of one phase, what
an emulator counts, and what does not compare.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples import make_tflite
from rig.api.backends import comparison, network_forms, network_picture, networks
from rig.api.backends.networks import NetworksComparison
from rig.api.backends.rows import ComparedBackend, Failure, ModelComparison
from rig.api.sessions.session import Session
from rig.errors import DataError
from rig.kinds import registry
from rig.results.verdict import Outcome
from rig.store import completion_lines
from tests.builds import built
from tests.commands import rig
from tests.conftest import ROOT

pytestmark = [pytest.mark.posix, pytest.mark.long]

ASC = ROOT / "scenarios" / "tasks" / "asc"
SPIKING, CONVOLUTIONAL = "asc", "asc_cnn"
EMULATOR = all(map(shutil.which, ("arm-none-eabi-gcc", "qemu-system-arm")))
SYSTEMS = ["posix", "cpu", "virtual", *(["stm32f405"] if EMULATOR else [])]
BENCH = """
[scenario.single_stream]
idle_s = 0.06
warmup = 0
"""
#: An instruction of an emulated board, by the bench: shift 5.
INSTRUCTION_S = 32e-9


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """A comparison of two networks that was run, and the folder it was run in."""

    folder: Path
    reported: CompletedProcess[str]

    def session(self, network: str, system: str) -> Path:
        (found,) = (self.folder / "sessions").glob(f"*-compare-{network}-{system}")
        return found

    def content(self, ending: str) -> str:
        return (self.folder / "out" / f"comparison.{ending}").read_text("utf-8")

    @property
    def lines(self) -> dict[tuple[str, str], dict[str, str]]:
        rows = csv.DictReader(io.StringIO(self.content("csv")))
        return {(row["system"], row["network"]): row for row in rows}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The spiking and the convolutional network of ASC."""
    built("posix")
    if EMULATOR:
        built("emulated")
    folder = tmp_path_factory.mktemp("networks")
    (folder / "short.toml").write_text(BENCH)
    models = [ASC / f"{SPIKING}.nir", ASC / f"{CONVOLUTIONAL}.tflite"]
    words = ["compare", *models, "--suts", ",".join([*SYSTEMS, "loihi"])]
    words += ["--set", "sut.loihi.interpreter=/no/python", "--bench", "short.toml"]
    words += ["--samples", "4", "--trials", "1", "--output", "out"]
    return Done(folder, rig(*words, cwd=folder))


@pytest.fixture(scope="module")
def found(done: Done) -> NetworksComparison:
    """The same comparison, made of its sessions."""
    return networks.compare(
        {name: of_sessions(done, name) for name in (SPIKING, CONVOLUTIONAL)}
    )


def of_sessions(done: Done, network: str) -> ModelComparison:
    """Compare the sessions of one network."""
    paths = {system: done.session(network, system) for system in SYSTEMS}
    return comparison.compare(
        [ComparedBackend(system, Session(path)) for system, path in paths.items()]
    )


def test_both_networks_run_on_every_system_and_agree_with_their_references(
    done: Done,
) -> None:
    # One trial is no verdict, and one system has no interpreter.
    assert done.reported.returncode == 1, done.reported.stdout + done.reported.stderr
    lines = done.lines
    assert len(lines) == 2 * (len(SYSTEMS) + 1)
    for system in SYSTEMS:
        for name in (SPIKING, CONVOLUTIONAL):
            assert lines[system, name]["agree_outputs"] == "4", (system, name)
    assert lines["loihi", SPIKING]["failure"]
    # The image of the convolutional network was built; that of the task is in the tree.
    images = [path.name for path in (done.folder / "sessions" / "images").iterdir()]
    assert len(images) == 1 + EMULATOR
    assert all(name.startswith("tflite-") for name in images)


def test_what_is_compared_is_the_phase_that_both_have(
    done: Done, found: NetworksComparison
) -> None:
    assert found.metrics == ("accuracy", "latency_infer", "energy_infer")
    assert "so infer is compared" in done.reported.stdout
    spiking = json.loads(
        (done.session(SPIKING, "posix") / "results.json").read_text("utf-8")
    )
    cells = done.lines["posix", SPIKING]
    stated = spiking["metrics"]["latency_infer"]["value"]
    assert float(cells["latency_infer"]) == stated
    assert stated < 0.7 * spiking["metrics"]["latency_total"]["value"]


@pytest.mark.skipif(not EMULATOR, reason="qemu-system-arm, arm-none-eabi-gcc")
def test_instructions_are_those_between_the_marks_of_an_inference(done: Done) -> None:
    for name, operations in ((SPIKING, 238_956.25), (CONVOLUTIONAL, 157_302.0)):
        session = done.session(name, "stm32f405")
        ticks = []
        for line in completion_lines.read(session / "trial-1"):
            if registry.of(line.step).measured and line.completion.output:
                before, after = line.completion.marks[-2:]
                ticks.append(after.tick - before.tick)
        assert len(ticks) == 4
        counted = np.mean(ticks) * 1e-6 / INSTRUCTION_S
        cells = done.lines["stm32f405", name]
        assert float(cells["instructions"]) == pytest.approx(counted, rel=1e-3)
        assert float(cells["instructions_per_operation"]) == pytest.approx(
            counted / operations, rel=1e-3
        )
    assert done.lines["posix", SPIKING]["instructions"] == ""


def test_what_is_simulated_says_what_it_counts_and_what_does_not_compare(
    done: Done, found: NetworksComparison
) -> None:
    counts = {row.system: row.row.counts for row in found.rows}
    expected = {"posix": "basic blocks", "cpu": "", "virtual": "a setting"}
    assert counts.items() >= expected.items()
    reasons = {(one.system, one.metric): one.reason for one in found.contrasts}
    for metric in found.metrics:
        assert reasons["virtual", metric] == "a setting of the simulated device"
    for system in ("posix", "cpu"):
        assert reasons[system, "energy_infer"] == "its power is a setting"
        assert not reasons[system, "latency_infer"]
    against = f"{CONVOLUTIONAL} against {SPIKING}"
    assert f"virtual: {against}: not comparable: a setting" in done.reported.stdout
    rows = done.lines
    for system in ("posix", "cpu"):
        one, two = (
            float(rows[system, name]["latency_infer"])
            for name in (SPIKING, CONVOLUTIONAL)
        )
        factor = float(rows[system, CONVOLUTIONAL]["latency_infer_factor"])
        assert factor == pytest.approx(two / one)
        assert f"{system}: {against}: accuracy" in done.reported.stdout
    assert "effective synaptic operations 0.658 times" in done.reported.stdout


def test_the_forms_hold_the_same_numbers(done: Done, found: NetworksComparison) -> None:
    tree = json.loads(done.content("json"))
    assert tree["schema"] == network_forms.SCHEMA
    stated = {(row["system"], row["network"]): row["figures"] for row in tree["rows"]}
    for row in found.rows:
        values = [
            figure and figure["value"] for figure in stated[row.system, row.network]
        ]
        assert values == [figure and figure.value for figure in row.figures]
    assert "| posix | asc_cnn | 4 of 4 |" in done.content("md")
    assert "| loihi | asc | did not run: " in done.content("md")


def test_two_intervals_that_meet_show_no_difference(found: NetworksComparison) -> None:
    first = found.rows[0].figures[1]
    assert first is not None
    low, high = first.same_samples
    assert low is not None
    assert high is not None
    for ends, apart in (
        ((low, high), False),
        ((high, 2 * high), False),
        ((1.01 * high, 2 * high), True),
        ((0.5 * low, 0.99 * low), True),
        ((None, None), False),
    ):
        other = dataclasses.replace(first, same_samples=ends)
        assert networks.apart(first, other) is apart, ends
        assert networks.apart(other, first) is apart, ends


def test_the_picture_is_hollow_where_it_is_simulated(
    found: NetworksComparison, tmp_path: Path
) -> None:
    rows = list(found.rows)
    gone = dataclasses.replace(rows[-1].row, failure=Failure("no such board"))
    rows[-1] = dataclasses.replace(rows[-1], row=gone)
    drawn = network_picture.drawing(dataclasses.replace(found, rows=tuple(rows)))
    panels = drawn.get_axes()
    titles = [axes.get_title(loc="left") for axes in panels]
    assert titles == [*found.metrics, *(["instr./op."] if EMULATOR else [])]
    assert len(panels[0].get_yticks()) == len(SYSTEMS)
    latency = panels[1]
    marks = [line for line in latency.lines if line.get_marker() in ("o", "s")]
    hollow = [line for line in marks if line.get_markerfacecolor() == "white"]
    assert len(marks) - len(hollow) == 2  # those of the processor
    words = [text.get_text() for text in latency.texts]
    assert words.count("a setting, no result") == 2 - (SYSTEMS[-1] == "virtual")
    assert words.count("did not run") == 1
    network_picture.write(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000


def test_the_picture_names_a_verdict_that_is_not_pass(
    found: NetworksComparison,
) -> None:
    first, second, *rest = found.rows
    failed = dataclasses.replace(first.row, verdict=Outcome.FAIL, valid=True)
    passed = dataclasses.replace(second.row, verdict=Outcome.PASS, valid=True)
    rows = (
        dataclasses.replace(first, row=failed),
        dataclasses.replace(second, row=passed),
        *rest,
    )
    accuracy, latency, *_ = network_picture.drawing(
        dataclasses.replace(found, rows=rows)
    ).get_axes()
    words = [text.get_text() for text in latency.texts]
    assert words[0].endswith(", FAIL")
    assert "," not in words[1]
    assert not any("FAIL" in text.get_text() for text in accuracy.texts)


def test_other_samples_are_refused(done: Done, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(done.session(CONVOLUTIONAL, "virtual"), copy)
    path = copy / "results.json"
    path.write_text(
        path.read_text("utf-8").replace("4 of 120, class-balanced", "4 of 120, others"),
        "utf-8",
    )
    with pytest.raises(DataError, match="did not get the same samples"):
        networks.compare(
            {
                "a": _alone(done.session(SPIKING, "virtual")),
                "b": _alone(copy),
            }
        )


def _alone(session: Path) -> ModelComparison:
    return comparison.compare([ComparedBackend("virtual", Session(session))])


@pytest.fixture
def own(tmp_path: Path) -> list[str | Path]:
    """Write a NIR file and a .tflite file that are no task's own, with inputs of each
    and labels of both; return the words of the command.
    """
    vector = ROOT / "tests" / "vectors" / "nir" / "complexity" / "feedforward"
    with np.load(vector.with_suffix(".npz")) as stored:
        spikes = stored["input"]
        dt_s = float(stored["dt_s"])
    np.save(tmp_path / "spikes.npy", spikes)
    net = make_tflite.Layers((1, 6, 5, 2), 21)
    net.reshape(1, 60)
    net.dense(3)
    (tmp_path / "own.tflite").write_bytes(net.content())
    images = np.random.default_rng(2).integers(-128, 128, (len(spikes), 6, 5, 2))
    np.save(tmp_path / "images.npy", images.astype(np.int8))
    np.save(tmp_path / "labels.npy", np.zeros(len(spikes), np.int64))
    words: list[str | Path] = ["compare", vector.with_suffix(".nir"), "own.tflite"]
    words += ["--suts", "cpu", "--dt", repr(dt_s), "--as", "snntorch-zero"]
    words += ["--set", "scenario.single_stream.repeat=20"]
    return [*words, "--trials", "1"]


def test_models_of_the_user_have_inputs_each_and_labels_together(
    own: list[str | Path], tmp_path: Path
) -> None:
    inputs = ["--inputs", "spikes.npy", "--inputs", "images.npy"]
    reported = rig(*own, *inputs, "--labels", "labels.npy", cwd=tmp_path)
    assert reported.returncode == 4, reported.stdout + reported.stderr
    assert "cpu: own against feedforward: accuracy" in reported.stdout
    refused = rig(*own, *inputs, cwd=tmp_path)
    assert refused.returncode == 2
    assert "networks of two tasks are compared by labels" in refused.stderr
    refused = rig(*own, *inputs[:2], cwd=tmp_path)
    assert refused.returncode == 2
    assert "1 --inputs for 2 models" in refused.stderr


def test_two_models_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    for folder in (tmp_path, tmp_path / "one"):
        shutil.copy(ASC / "asc.nir", folder)
    words = ["compare", "asc.nir", "one/asc.nir", "--suts", "virtual"]
    reported = rig(*words, cwd=tmp_path)
    assert reported.returncode == 2
    assert "two models have one name" in reported.stderr
