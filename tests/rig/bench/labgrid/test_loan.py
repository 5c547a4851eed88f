# SPDX-License-Identifier: Apache-2.0
"""Boards from labgrid: its own coordinator and exporter as processes, two places with
the POSIX firmware.
"""

from __future__ import annotations

import json
import signal
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rig.bench.config import load
from rig.bench.labgrid.loan import on_loan
from rig.bench.place_settings import LabgridSettings
from rig.errors import BenchError
from rig.host.stop import Stop
from tests.conftest import ROOT
from tests.rig.bench.labgrid.lab import HOST, LIMIT_S, USER, Lab, running
from tests.waiting import eventually

pytest.importorskip("labgrid", reason="needs labgrid: pip install labgrid")
pytestmark = pytest.mark.posix

BENCHES = ROOT / "benches"
ME = f"{HOST}/{USER}"


@pytest.fixture(scope="module")
def module_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture
def lab(module_lab: Lab) -> Iterator[Lab]:
    module_lab.switches.said.clear()
    yield module_lab
    assert module_lab.holder("board-1") == module_lab.holder("board-2") == ""


def only(folder: Path) -> Path:
    (session,) = folder.iterdir()
    return session


@pytest.mark.parametrize(("place", "scheme"), [("board-1", "rfc"), ("board-2", "soc")])
def test_a_session_has_its_place_and_then_gives_it_back(
    lab: Lab, tmp_path: Path, place: str, scheme: str
) -> None:
    bench = lab.bench(tmp_path, place)
    code, said = lab.rig("run", bench, "--sessions", tmp_path / "sessions")
    assert code == 4, said  # one trial: not tested
    assert lab.switches.asked(int(place[-1])) == ["on", "off"]
    session = only(tmp_path / "sessions")
    about = json.loads((session / "provenance.json").read_text())
    has_network = "network" in json.dumps(about["sut"])
    assert has_network == (scheme == "rfc")
    assert f'place = "{place}"' in (session / "bench.toml").read_text()
    code, said = lab.rig("check", session)
    assert code == 0 and "every number recomputed" in said, said


def test_a_place_is_served_to_another_host(lab: Lab, tmp_path: Path) -> None:
    process = lab.start("serve", lab.bench(tmp_path, "board-1"), "--pty")
    try:
        assert process.stdout is not None
        introduced = iter(process.stdout.readline, "")
        port = next(line for line in introduced if line.startswith("port = "))
        assert lab.holder("board-1") == ME
        far = tmp_path / "far.toml"
        text = lab.bench(tmp_path, "").read_text()
        _, _, rest = text.partition("[sut.uart]")
        _, _, rest = rest.partition('port = "labgrid"')
        far.write_text(f"[bench]\ntrials = 1\n[sut.uart]\n{port}{rest}")
        code, said = lab.rig("run", far, "--sessions", tmp_path / "sessions")
        assert code == 4, said  # one trial: not tested
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=LIMIT_S)
    assert "the device and the port are closed" in said
    assert lab.switches.asked(1) == ["on", "off"]


def test_a_place_of_another_is_refused_with_its_holder(
    lab: Lab, tmp_path: Path
) -> None:
    lab.client("-p", "board-1", "acquire", user="eve")
    try:
        code, said = lab.rig("run", lab.bench(tmp_path, "board-1"))
        assert code == 3
        assert f"the place board-1 is held by {HOST}/eve" in said
        assert "Traceback" not in said
        assert lab.holder("board-1") == f"{HOST}/eve"
        assert lab.switches.asked(1) == []
    finally:
        lab.client("-p", "board-1", "release", user="eve")


def test_a_place_that_its_user_had_stays_acquired(lab: Lab, tmp_path: Path) -> None:
    lab.client("-p", "board-2", "acquire")
    try:
        bench = lab.bench(tmp_path, "board-2")
        code, said = lab.rig("run", bench, "--sessions", tmp_path / "sessions")
        assert code == 4, said
        assert lab.holder("board-2") == ME
        assert lab.switches.asked(2) == ["on", "off"]
    finally:
        lab.client("-p", "board-2", "release")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_place_is_free_and_off_after_the_end(
    lab: Lab, tmp_path: Path, how: signal.Signals
) -> None:
    """Ctrl-C, TERM, and kill -9, in the middle of a trial; and two rigs at once."""
    bench = lab.bench(tmp_path, "board-1", samples=20_000)
    process = lab.start("run", bench, "--sessions", tmp_path / "sessions")
    try:
        eventually(lambda: (tmp_path / "sessions").exists(), LIMIT_S)
        code, said = lab.rig("run", bench)
        assert code == 3 and "another rig on this computer holds it" in said
        assert lab.holder("board-1") == ME
    finally:
        process.send_signal(how)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == {signal.SIGKILL: -9}.get(how, 130)
    eventually(lambda: lab.holder("board-1") == "", LIMIT_S)
    assert lab.switches.asked(1) == ["on", "off"]


def test_a_device_that_hangs_up_gives_the_place_back(lab: Lab, tmp_path: Path) -> None:
    bench = lab.bench(tmp_path, "board-1", samples=20_000)
    process = lab.start("run", bench, "--sessions", tmp_path / "sessions")
    eventually(lambda: (tmp_path / "sessions").exists(), LIMIT_S)
    lab.bridge.drop()
    said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3, said
    assert "is gone" in said and "Traceback" not in said
    assert lab.switches.asked(1) == ["on", "off"]


@pytest.mark.parametrize(
    ("place", "more", "expected"),
    [
        ("board-9", "", "there is no place 'board-9'"),
        ("board-1", 'environment = "missing.yaml"', "is no environment file"),
    ],
)
def test_a_wrong_place_is_one_sentence(
    lab: Lab, tmp_path: Path, place: str, more: str, expected: str
) -> None:
    code, said = lab.rig("run", lab.bench(tmp_path, place, more=more))
    assert code == 2
    assert expected in " ".join(said.split()) and "Traceback" not in said


def test_a_wrong_resource_names_those_of_the_place(lab: Lab, tmp_path: Path) -> None:
    bench = lab.bench(tmp_path, "board-1")
    code, said = lab.rig("run", bench, "--set", "sut.uart.port=labgrid:uart7")
    assert code == 2
    assert "the place board-1 has no resource uart7" in said
    assert "labgrid:NetworkSerialPort" in said
    assert lab.switches.asked(1) == ["on", "off"]


def test_no_coordinator_is_one_sentence(lab: Lab, tmp_path: Path) -> None:
    bench = lab.bench(tmp_path, "board-1")
    where = "labgrid.coordinator=127.0.0.1:1"
    code, said = lab.rig("probe", bench, "--set", where)
    assert code == 3
    assert "no coordinator of labgrid answers at 127.0.0.1:1" in said


def test_a_switch_that_never_answers_is_one_sentence(tmp_path: Path) -> None:
    """In an environment without a coordinator, by a program that does not end."""
    (tmp_path / "local.yaml").write_text(
        textwrap.dedent("""
        targets:
          main:
            resources:
              RawSerialPort: {port: /dev/null}
            drivers:
              ExternalPowerDriver: {cmd_on: "sleep 600", cmd_off: "true"}
        """)
    )
    settings = LabgridSettings(environment=str(tmp_path / "local.yaml"))
    bench = replace(load(BENCHES / "virtual-null.toml"), labgrid=settings)
    began_s = time.monotonic()
    failed = pytest.raises(BenchError, match="labgrid failed")
    with failed as caught, on_loan(bench, Stop()):
        pytest.fail("it has no place")
    assert "no answer within 20 s" in caught.value.evidence
    assert time.monotonic() - began_s < LIMIT_S


def test_an_environment_names_place_and_drivers(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(
        textwrap.dedent("""
        targets:
          main:
            resources:
              RemotePlace:
                name: board-2
            drivers:
              NetworkPowerDriver: {}
        """)
    )
    bench = lab.bench(tmp_path, "", more='environment = "lab.yaml"')
    code, said = lab.rig("probe", bench)
    assert code == 0, said
    assert lab.switches.asked(2) == ["on", "off"]


def test_an_environment_without_a_coordinator(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "local.yaml").write_text(
        textwrap.dedent(f"""
        targets:
          main:
            resources:
              NetworkSerialPort:
                host: 127.0.0.1
                port: {lab.bridge.port}
            drivers:
              ExternalPowerDriver:
                cmd_on: "touch {tmp_path}/on"
                cmd_off: "touch {tmp_path}/off"
        """)
    )
    bench = lab.bench(tmp_path, "", more='environment = "local.yaml"')
    code, said = lab.rig("probe", bench, "--set", "labgrid.coordinator=")
    assert code == 0, said
    assert (tmp_path / "on").exists() and (tmp_path / "off").exists()


def test_tests_run_on_two_boards_side_by_side(lab: Lab, tmp_path: Path) -> None:
    """By pytest-xdist: each board's tests on one worker, one after the other."""
    import subprocess
    import sys

    (tmp_path / "test_boards.py").write_text(
        textwrap.dedent("""
        import time

        def test_answers(rig_session, rig_choice, worker_id):
            assert rig_session.metrics["accuracy"].value == 1.0
            with open(f"worker-{rig_choice.bench.stem}", "a") as stream:
                stream.write(f"{worker_id}\\n")
            time.sleep(1.0)  # long enough for the other worker to begin

        def test_latency(rig_session, rig_choice, worker_id):
            assert rig_session.metrics["latency_total"].value > 0
            with open(f"worker-{rig_choice.bench.stem}", "a") as stream:
                stream.write(f"{worker_id}\\n")
        """)
    )
    benches = [lab.bench(tmp_path, place) for place in ("board-1", "board-2")]
    words = [f"--rig-bench={bench}" for bench in benches]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n2", "--dist=loadgroup", *words],
        cwd=tmp_path,
        env=lab.environment(),
        capture_output=True,
        text=True,
        timeout=2 * LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    workers = [
        set((tmp_path / f"worker-{bench.stem}").read_text().split())
        for bench in benches
    ]
    assert len(workers[0]) == len(workers[1]) == 1
    assert workers[0] != workers[1]
