# SPDX-License-Identifier: Apache-2.0
"""The plugin: a whole test of a device in two lines."""

from __future__ import annotations

import pytest

from tests.conftest import VIRTUAL_NULL


def test_a_two_line_test_runs_on_any_bench(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_energy(rig_session):
            assert rig_session.metrics["energy_infer"].value < 5e-3
        """
    )
    bench = ("--rig-bench", VIRTUAL_NULL, "--rig-set", "task.null.samples=4")
    done = pytester.runpytest_subprocess(*bench)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(
        [
            "rig bench: *virtual-null.toml (RANDOM BYTES)",
            "rig session: *: verdict true (SIMULATED, RANDOM BYTES)",
        ]
    )
    pytester.runpytest_subprocess(
        *bench, "--rig-set", "sut.virtual.infer.power_w=5.0"
    ).assert_outcomes(failed=1)


def test_the_bench_is_open_in_a_test_and_its_supply_off_afterwards(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        from rig.model.steps import Sync

        def test_supply(rig_bench):
            assert rig_bench.context.world.supply_on
            assert len(rig_bench.sut.do(Sync()).marks) == 8
        """
    )
    pytester.runpytest_subprocess("--rig-bench", VIRTUAL_NULL).assert_outcomes(passed=1)
