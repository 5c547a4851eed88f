# SPDX-License-Identifier: Apache-2.0
"""[sut.loihi] and [sut.spinnaker] as a bench file has them; with Lava where an
interpreter with it is there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rig.cli.models.model import model
from rig.errors import BenchError, ConfigError, DataError, DeadlineError, DeviceLost
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin
from rig.model.steps import Load, Query
from scenarios.tasks.asc.integer import outputs
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.programs import network
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.loihi.backend import LoihiSut
from sut_backends.spinnaker.backend import SpinnakerSut
from sut_backends.workers.sut import WorkerSut
from tests.conftest import ROOT
from tests.sut_backends.loihi.test_rules import PYTHON, with_lava
from tests.sut_backends.loihi.waves import seconds
from tests.sut_backends.workers.test_process import gone


@pytest.fixture
def asc(context: BenchContext) -> BenchContext:
    """A context with the network of the task."""
    return replace(context, network=network(SHIPPED_MODEL, read_model(SHIPPED_MODEL)))


def test_a_python_without_the_sdk_is_refused_in_a_sentence(asc: BenchContext) -> None:
    for kind in (LoihiSut, SpinnakerSut):
        settings = {"interpreter": sys.executable} | (
            {"machine": "192.168.240.1"} if kind is SpinnakerSut else {}
        )
        with pytest.raises(BenchError) as caught:
            kind.open(kind.Settings(**settings), asc)
        assert "is not installed for this Python" in caught.value.evidence


def test_spinnaker_without_a_machine_is_no_system_under_test(asc: BenchContext) -> None:
    with pytest.raises(ConfigError, match="needs a machine") as caught:
        SpinnakerSut.open(SpinnakerSut.Settings(), asc)
    assert "data from a run are empty" in caught.value.evidence
    assert "rig model map" in caught.value.try_next


def test_only_a_board_may_have_sensors_of_its_own() -> None:
    simulated = LoihiSut.origins(LoihiSut.Settings())
    assert (simulated.time, simulated.energy) == (Origin.SIMULATED, Origin.SIMULATED)
    chip = LoihiSut.Settings(rule="stock", hardware=True)
    assert LoihiSut.origins(chip).energy is Origin.OWN_SENSOR
    assert LoihiSut.simulates(LoihiSut.Settings()) and not LoihiSut.simulates(chip)


def stand_in_python(folder: Path) -> str:
    """Return a Python whose Lava with lava-loihi is the stand-in."""
    (folder / "sitecustomize.py").write_text(
        "from importlib import metadata\n"
        "from tests.stand_ins import lava_loihi\n"
        "metadata.version = lambda name: '0.10.0'\n"
        "held = lava_loihi.installed()\n"
        "held.__enter__()\n"
    )
    python = folder / "python"
    path = f"{folder}:{ROOT}"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return str(python)


def test_settings_reach_a_chip_and_its_spikes_the_answer(
    asc: BenchContext, tmp_path: Path
) -> None:
    settings = LoihiSut.Settings(
        rule="stock",
        hardware=True,
        host="10.0.0.1",
        interpreter=stand_in_python(tmp_path),
    )
    audio = seconds(2)
    with closing(LoihiSut.open(settings, asc)) as sut:
        assert not sut.info.simulated
        assert sut.info.details["runs on"] == "Loihi 2"
        assert sut.info.details["lag_steps"] == 3
        for number, second in enumerate(audio):
            sut.do(Load(number), [second.tobytes()])
        answers = [sut.do(Query((number,))).output for number in (0, 1, 0)]
    assert answers[0] == answers[2] != answers[1]
    counts = np.frombuffer(answers[0], "<i4") // 65_536
    assert counts.sum() > 10


def mapped(*words: str) -> str:
    done = CliRunner().invoke(model, ["map", *words], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.output


def test_a_network_is_mapped_to_registers_without_a_chip() -> None:
    reported = json.loads(mapped(str(SHIPPED_MODEL), "--on", "loihi", "--json"))
    assert (reported["processes"], reported["lag_steps"]) == (10, 3)
    assert sum(item["cells"] for item in reported["fixed point"]) == 100
    assert "du 2047, dv 2048, vth 768" in mapped(str(SHIPPED_MODEL), "--on", "loihi")
    image = ROOT / "tests" / "vectors" / "nir" / "conv1d.nir"
    with pytest.raises(
        DataError, match="cannot be stock cells: output is not fed by neurons"
    ) as not_stock:
        mapped(str(image), "--on", "loihi", "--dt", "0.001")
    assert 'rule = "file"' in not_stock.value.try_next
    with pytest.raises(ConfigError, match=r"\[sut.cpu\] maps no networks") as caught:
        mapped(str(SHIPPED_MODEL), "--on", "cpu")
    assert "loihi" in caught.value.try_next
    with pytest.raises(BenchError, match=r"asc\.nir is not mapped") as refused:
        mapped(
            str(SHIPPED_MODEL),
            "--on",
            "spinnaker",
            "--set",
            f"interpreter={sys.executable}",
        )
    assert "sPyNNaker is not installed" in refused.value.evidence
    with pytest.raises(
        ConfigError, match="py-spinnaker2 maps a network as it loads it"
    ):
        mapped(str(SHIPPED_MODEL), "--on", "spinnaker", "--set", "generation=2")


def test_what_has_no_sensors_says_so(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((3, 16)))
    words = [str(SHIPPED_MODEL), str(tmp_path / "in.npy"), "--on"]
    for kind, output in (
        ("loihi", "Lava's simulator has no sensors"),
        ("spinnaker", "needs a machine"),
        ("cpu", "has no sensors of its own"),
    ):
        done = CliRunner().invoke(model, ["sense", *words, kind], standalone_mode=False)
        assert isinstance(done.exception, ConfigError)
        assert output in done.exception.cause
    chip = [
        *words,
        "loihi",
        "--set",
        "hardware=true",
        "--set",
        f"interpreter={sys.executable}",
    ]
    done = CliRunner().invoke(model, ["sense", *chip], standalone_mode=False)
    assert isinstance(done.exception, BenchError)
    assert done.exception.cause == "asc.nir was not sensed"


def in_lava(asc: BenchContext, **settings: object) -> WorkerSut:
    return LoihiSut.open(LoihiSut.Settings(interpreter=PYTHON, **settings), asc)


@with_lava
def test_lava_answers_byte_for_byte_as_the_integer_model(asc: BenchContext) -> None:
    model_ = read_model(SHIPPED_MODEL)
    audio = seconds(2)
    due = outputs(model_, audio).astype("<i4")
    with closing(in_lava(asc)) as sut:
        assert sut.info.simulated
        assert sut.info.details["versions"]["lava-nc"] == "0.10.0"
        assert sut.info.details["python"] == "CPython 3.10.13"
        for number, second in enumerate(audio):
            sut.do(Load(number), [second.tobytes()])
        for number in (0, 1, 0):
            assert sut.do(Query((number,))).output == due[number].tobytes()
    with pytest.raises(BenchError) as caught:
        in_lava(asc, rule="stock", hardware=True)
    assert "needs lava-loihi" in caught.value.evidence


def descendants(pid: int) -> set[int]:
    result = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(status.parent.name)
            result |= {child} | descendants(child)
    return result


@with_lava
def test_a_worker_that_dies_or_hangs_is_named_and_leaves_no_process(
    asc: BenchContext,
) -> None:
    (audio,) = seconds(1)
    for kill in (True, False):
        with closing(in_lava(asc)) as sut:
            sut.do(Load(0), [audio.tobytes()])
            sut.do(Query((0,)))
            worker = sut._process.pid
            running = descendants(worker)
            assert len(running) > 5
            if kill:
                os.kill(worker, signal.SIGKILL)
                with pytest.raises(DeviceLost, match="gone"):
                    sut.do(Query((0,)))
            else:
                for pid in running:
                    os.kill(pid, signal.SIGSTOP)
                with pytest.raises(DeadlineError):
                    sut.do(Query((0,), limit_s=0.5))
        assert [pid for pid in running if not gone(pid)] == []
