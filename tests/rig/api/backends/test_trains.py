# SPDX-License-Identifier: Apache-2.0
"""Spike trains of backends that run the task's network: kept, compared, and found to
differ."""

from __future__ import annotations

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rig.api.backends import comparison, forms, runs, trains
from rig.api.backends.rows import ComparedBackend
from rig.api.backends.runs import RequestedRuns
from rig.api.sessions.session import Session
from rig.bench import plugins
from rig.errors import DataError
from rig.interfaces import plugin_classes
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin, Origins
from rig.network.trains import packed, unpacked
from sut_backends.workers.network_sut import Runner, open_network_sut
from sut_backends.workers.process import Place
from sut_backends.workers.sut import WorkerSut
from tests.conftest import ROOT

MODEL = ROOT / "scenarios" / "tasks" / "asc" / "asc.nir"
SIMULATED = Origins(Origin.SIMULATED, Origin.SIMULATED)
BENCH = """
[sut.virtual]
[monitor.virtual]
[scenario.single_stream]
idle_s = 0.06
warmup = 0
[task.asc]
"""


class ByHand(plugin_classes.Backend):
    """A backend whose runner is beside this file; `changed` adds that to one weight."""

    changed = 0

    @dataclass(frozen=True, slots=True)
    class Settings:
        """None: what differs is the class."""

    @staticmethod
    def simulates(settings: Settings) -> bool:
        return True

    @staticmethod
    def origins(settings: Settings) -> Origins:
        return SIMULATED

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> WorkerSut:
        module = "tests.rig.api.backends.runner_by_hand"
        runner = Runner(
            "virtual", module, "by hand", SIMULATED, {"changed": cls.changed}
        )
        return open_network_sut(runner, Place(isolated=True), context)


class Changed(ByHand):
    """The control: another network, which must not agree."""

    changed = 40


@pytest.fixture(scope="module")
def backends(tmp_path_factory: pytest.TempPathFactory) -> list[ComparedBackend]:
    """The file's network, and the changed one, each with its trains."""
    folder = tmp_path_factory.mktemp("trains")
    bench = folder / "compare.toml"
    bench.write_text(BENCH)
    find = plugins.find
    result = []
    for name, kind in (("file", ByHand), ("changed", Changed)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                plugins, "find", lambda section, key, kind=kind: kind if section == "sut"
                else find(section, key),
            )  # fmt: skip
            planned = runs.plan(str(bench), RequestedRuns(MODEL, 4, 1))
            backend = runs.run(planned, folder / name, None)
            assert backend.session is not None, backend.failure
            trains.record(backend.session, range(4))
            result.append(dataclasses.replace(backend, name=name))
    return result


def test_equal_trains_are_equal_and_the_control_differs(
    backends: list[ComparedBackend],
) -> None:
    result = comparison.compare(backends)
    file, changed = (row.agreement for row in result.rows)
    assert file is not None
    assert changed is not None
    assert [(part.what, part.count) for part in file.parts] == [
        ("spike trains", 4), ("spike counts", 4), ("membranes", 4),
    ]  # fmt: skip
    assert changed.parts[0].count < 4
    assert changed.parts[0].largest == 1
    assert "| file | 4 of 4 | 4 of 4 | 4 of 4 | 4 of 4 |" in forms.markdown(
        forms.page(result)
    )


def test_the_trains_are_of_the_session_and_checked(
    backends: list[ComparedBackend], tmp_path: Path
) -> None:
    session = backends[0].session
    assert session is not None
    kept = trains.read(session)
    assert sorted(kept) == [0, 1, 2, 3]
    assert kept[0].shape == (125, 4)
    before = (session.path / trains.TRAINS).stat().st_mtime_ns
    trains.record(session, range(4))
    assert (session.path / trains.TRAINS).stat().st_mtime_ns == before
    # The class of the backend is another one by now; the trains are right until they
    # are changed.
    assert trains.TRAINS not in wrong(session)
    copy = tmp_path / session.path.name
    shutil.copytree(session.path, copy)
    (copy / trains.TRAINS).write_bytes(packed([[1]], None))
    assert trains.TRAINS in wrong(Session(copy))


def wrong(session: Session) -> set[str]:
    """Faults that a check finds."""
    return {finding.name for finding in session.check().findings if not finding.ok}


def test_late_trains_are_named(backends: list[ComparedBackend]) -> None:
    session = backends[0].session
    assert session is not None
    ours = trains.read(session)
    late = {
        index: np.vstack([np.zeros((2, 4)), item[:-2]]) for index, item in ours.items()
    }
    reported = trains.agreed(late, ours)
    assert reported is not None
    assert (reported.count, reported.lag_steps) == (4, 2)
    early = trains.agreed(ours, late)
    assert early is not None
    assert early.count == 0
    assert trains.agreed({}, ours) is None


def test_bytes_that_are_no_trains_are_refused(tmp_path: Path) -> None:
    values, membranes = unpacked(packed([[1, 0], [0, 31]], None))
    assert values.tolist() == [[1, 0], [0, 31]]
    assert membranes is None
    for block in (b"", b"PK no archive", packed([[1]], [2.5])[:40]):
        with pytest.raises(ValueError, match="no packed values"):
            unpacked(block)
    (tmp_path / trains.TRAINS).write_bytes(b"nothing")
    with pytest.raises(DataError, match="holds no trains"):
        trains.read(Session(tmp_path))
