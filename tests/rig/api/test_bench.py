# SPDX-License-Identifier: Apache-2.0
"""An open bench of Python: its trials and its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rig
from rig.api.bench import overrides
from rig.session.session import open_bench
from tests.conftest import VIRTUAL_NULL

QUICK = {"task.null.samples": 2, "scenario.single_stream.idle_s": 0.1}


@pytest.mark.parametrize("trials", [0, -1, True, False, 2.5, 2.0, "2", np.float64(2)])
def test_a_number_of_trials_that_is_none_is_refused_before_a_folder_is_made(
    tmp_path: Path, trials: Any
) -> None:
    settings = overrides(QUICK)
    for opened in (rig.open_bench, open_bench):
        with (
            opened(VIRTUAL_NULL, settings) as bench,
            pytest.raises(rig.ConfigError, match="is no number of trials") as caught,
        ):
            bench.run(trials, tmp_path)
        assert repr(trials) in caught.value.cause
        assert "1 or more" in caught.value.try_next
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_taken(tmp_path: Path) -> None:
    numbers = {
        "task.null.samples": np.int64(2),
        "scenario.single_stream.idle_s": np.float32(0.125),
        "sut.virtual.solve.short_vector": np.bool_(False),
    }
    with rig.open_bench(VIRTUAL_NULL, numbers) as bench:
        session = bench.run(np.int64(2), tmp_path)
    assert session.valid
    assert len(session.trials()) == 2
    assert len(session.samples()) == 4
    assert session.check().ok


@pytest.mark.parametrize("value", [None, 1j, {1, 2}, object()])
def test_a_value_that_no_bench_file_has_is_refused_by_its_key(value: Any) -> None:
    with pytest.raises(rig.ConfigError, match="no value of a bench file") as caught:
        rig.open_bench(VIRTUAL_NULL, {"task.null.samples": value})
    assert caught.value.path == "task.null.samples"
