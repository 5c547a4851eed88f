# SPDX-License-Identifier: Apache-2.0
"""A process that imports this module and is then forked computes in its first session,
report and check no more than in the second: templates, quantiles and the hash of the
sources are there, and all modules are imported.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from rig.api.report import write_report
from rig.check.check import check
from rig.session.session import open_bench

_BENCH = Path(__file__).resolve().parents[1] / "benches" / "virtual-null.toml"

with tempfile.TemporaryDirectory() as scratch:
    with open_bench(_BENCH, ["task.null.samples=2"]) as bench:
        folder = bench.run(1, Path(scratch)).folder
    write_report(folder)
    check(folder)
