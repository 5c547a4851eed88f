# SPDX-License-Identifier: Apache-2.0
"""The rig with a firmware that was built without all parts that can be left out:
unchanged, and with a report of the present parts.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rig.errors import SutError
from rig.interfaces.context import BenchContext
from rig.session.session import open_bench
from sut_backends.hosted.posix import PosixSut
from tests.builds import built_with
from tests.checking import check
from tests.conftest import ROOT

pytestmark = pytest.mark.posix
SMALLEST = "CLASSIC SELF_TEST OPTIMIZE STREAM WORDS"
UNKNOWN = 1


@pytest.fixture(scope="module")
def program() -> Path:
    if not shutil.which("cc") or not shutil.which("make"):
        pytest.skip("the POSIX firmware needs a C compiler and make")
    settings = (f"LEAVE_OUT={SMALLEST}", "WORKLOADS=null", "CFLAGS=-O0")
    return built_with("posix", *settings) / "posix" / "null"


@pytest.fixture
def context() -> BenchContext:
    context = BenchContext(folder=ROOT, seed=1)
    context.world.supply_on = True
    return context


def test_the_probe_passes_and_says_that_there_is_no_self_test(
    program: Path, context: BenchContext
) -> None:
    result = {
        finding.name: finding
        for finding in PosixSut.probe(PosixSut.Settings(program=str(program)), context)
    }
    assert all(finding.ok for finding in result.values()), result
    assert result["query"].ok and "this firmware has none" in result["self-test"].detail


def test_a_bench_measures_it(program: Path, tmp_path: Path) -> None:
    with open_bench(
        ROOT / "benches" / "posix-null.toml",
        [f"sut.posix.program={program}", "task.null.samples=6"],
    ) as bench:
        result = bench.run(1, tmp_path)
    assert result.content["problems"] == []
    assert check(result.folder).ok


def test_what_was_left_out_is_unknown_to_it_and_the_host_has_the_words(
    program: Path, context: BenchContext
) -> None:
    sut = PosixSut.open(PosixSut.Settings(program=str(program)), context)
    try:
        with pytest.raises(SutError, match="SELFTEST: unknown message type") as refused:
            sut.self_test()
        assert refused.value.code == UNKNOWN
        assert refused.value.evidence == "error 1, detail 5"
    finally:
        sut.close()


def test_without_frames_there_is_no_session_with_it(
    program: Path, context: BenchContext
) -> None:
    with pytest.raises(SutError, match="the DUT refused `profile`") as refused:
        PosixSut.open(PosixSut.Settings(program=str(program), layer="text"), context)
    assert "only name and frame 1" in refused.value.evidence
