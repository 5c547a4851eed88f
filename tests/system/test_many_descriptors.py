# SPDX-License-Identifier: Apache-2.0
"""Benches in a process whose first 1100 descriptors are taken: select() fails from 1024
on."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import captured

_LIMIT_S = 120
_CODE = """
import os, resource, sys
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (2200, most))
for _ in range(1100):
    os.open(os.devnull, os.O_RDONLY)
from rig.cli.main import main
sys.exit(main())
"""


@pytest.mark.posix
@pytest.mark.paced
@pytest.mark.skipif(
    0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2200,
    reason="this account may open fewer files",
)
@pytest.mark.parametrize(
    "bench",
    [
        ("benches/posix-null.toml", "task.null.samples=2"),
        ("benches/posix-asc-lpm01a.toml", "task.asc.samples=2"),
    ],
)
def test_a_bench_runs_with_descriptors_beyond_those_of_select(
    firmware: Path, tmp_path: Path, bench: tuple[str, str]
) -> None:
    words = [
        "run",
        bench[0],
        "--set",
        bench[1],
        "--trials",
        "1",
        "--sessions",
        str(tmp_path),
    ]
    done = captured([sys.executable, "-c", _CODE, *words], cwd=ROOT, timeout=_LIMIT_S)
    # one trial is too few for a verdict
    assert done.returncode == 4, done.stdout + done.stderr
    assert list(tmp_path.glob("*/results.json"))
