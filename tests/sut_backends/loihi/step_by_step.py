# SPDX-License-Identifier: Apache-2.0
"""Run a network's fixed-point processes in Lava a step at a time, and keep every state;
run by the interpreter that has Lava.

    INTERPRETER step_by_step.py PLAIN.npz COUNTS.npy OUT.npz
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from lava.magma.core.run_conditions import RunSteps
from lava.magma.core.run_configs import Loihi2SimCfg

from sut_backends.loihi import stock_rule
from sut_backends.loihi.fixed_point import fixed_point
from sut_backends.loihi.stock_plan import plan
from sut_backends.workers.inside.plain_network import read


def main(place: str, counts_at: str, out: str) -> None:
    """Write currents and membranes of each process after each step."""
    counts = np.load(counts_at)
    result = plan(read(place), vectors=False)
    built: Any = stock_rule.build(
        result, counts.shape[1], len(counts), fixed_point(result)
    )
    built.entry.data.init = counts.T
    config = Loihi2SimCfg(select_tag="fixed_pt")
    kept: dict[str, list[Any]] = {}
    try:
        for _ in counts:
            built.entry.run(condition=RunSteps(num_steps=1), run_cfg=config)
            for index in range(len(result.cells)):
                for name, (variable, _) in zip(
                    "uv", built.states[2 * index :], strict=False
                ):
                    kept.setdefault(f"{name}{index}", []).append(
                        np.array(variable.get())
                    )
    finally:
        built.entry.stop()
    np.savez(out, **{name: np.stack(rows) for name, rows in kept.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
