# SPDX-License-Identifier: Apache-2.0
"""The simulated NVML takes no call that NVIDIA's binding refuses, and answers with its
codes; the library that the tests build (nvml_stub.c) has the functions that the binding
calls, with as many arguments; where the binding is installed (the extra nvml).
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from drivers.host_counters.sim import nvml as simulated
from tests.contracts import c_functions, described, looser

pynvml = pytest.importorskip(
    "pynvml", reason="NVIDIA's binding is not installed: the extra nvml"
)
CALLS = [
    name
    for name in described(simulated.NvmlSimulator)["attributes"]
    if name.startswith("nvml") and name != "nvmlError"
]
STUB = c_functions(Path(__file__).with_name("nvml_stub.c").read_text(), "nvml")
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


@pytest.fixture(scope="module")
def called() -> dict[str, set[int]]:
    """Return with how many arguments the binding calls each function of the library."""
    calls: dict[str, set[int]] = {}
    for function in ast.parse(Path(pynvml.__file__).read_text()).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        pointers: dict[str, str] = {}
        for node in ast.walk(function):
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=variable)],
                    value=ast.Call(
                        func=ast.Name(id="_nvmlGetFunctionPointer"),
                        args=[ast.Constant(value=name)],
                    ),
                ):
                    pointers[variable] = name
                case ast.Call(func=ast.Name(id=variable), args=arguments) if (
                    variable in pointers
                ):
                    calls.setdefault(pointers[variable], set()).add(len(arguments))
    return calls


def test_the_stub_and_the_calls_of_the_binding_are_read(
    called: dict[str, set[int]],
) -> None:
    assert {"nvmlInitWithFlags", "nvmlDeviceGetTotalEnergyConsumption"} <= set(STUB)
    assert len(called) > 200


@pytest.mark.parametrize("name", sorted(STUB))
def test_a_function_of_the_stub_takes_what_the_binding_hands_over(
    called: dict[str, set[int]], name: str
) -> None:
    assert called[name] == {len(STUB[name])}
