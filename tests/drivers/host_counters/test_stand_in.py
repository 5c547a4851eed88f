# SPDX-License-Identifier: Apache-2.0
"""The simulated NVML takes no call that NVIDIA's binding refuses, and answers with its
codes; where the binding is installed (the extra nvml).
"""

from __future__ import annotations

import pytest

from drivers.host_counters.sim import nvml as simulated
from tests.contracts import described, looser

pynvml = pytest.importorskip(
    "pynvml", reason="NVIDIA's binding is not installed: the extra nvml"
)
CALLS = [
    name
    for name in described(simulated.NvmlSimulator)["attributes"]
    if name.startswith("nvml") and name != "nvmlError"
]
CODES = {
    "lost": "GPU_IS_LOST",
    "permission": "NO_PERMISSION",
    "timeout": "TIMEOUT",
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_the_binding_refuses_is_refused(name: str) -> None:
    board = simulated.NvmlSimulator.__dict__[name].__get__(object())
    assert looser(board, described(getattr(pynvml, name))) == []


def test_codes_and_fields_are_the_bindings() -> None:
    assert simulated.FAULTS.keys() == CODES.keys()
    for fault, name in CODES.items():
        assert simulated.FAULTS[fault] == getattr(pynvml, f"NVML_ERROR_{name}")
    for code, name in (
        (simulated._NOT_SUPPORTED, "NVML_ERROR_NOT_SUPPORTED"),
        (simulated._NOT_FOUND, "NVML_ERROR_NOT_FOUND"),
        (simulated._INVALID, "NVML_ERROR_INVALID_ARGUMENT"),
        (simulated._UNINITIALIZED, "NVML_ERROR_UNINITIALIZED"),
        (simulated._INSTANT, "NVML_FI_DEV_POWER_INSTANT"),
        (simulated._MEMORY, "NVML_CLOCK_MEM"),
        (simulated._HOPPER, "NVML_DEVICE_ARCH_HOPPER"),
        (simulated._PASCAL, "NVML_DEVICE_ARCH_PASCAL"),
    ):
        assert code == getattr(pynvml, name), name
    assert issubclass(pynvml.NVMLError, Exception)
    assert hasattr(pynvml.NVMLError(1), "value")
