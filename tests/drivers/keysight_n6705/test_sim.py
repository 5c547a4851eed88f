# SPDX-License-Identifier: Apache-2.0
"""The VISA library that the tests build (visa_stub.c) has the functions of VISA, with
the parameters that pyvisa states for them.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.contracts import c_functions

functions = pytest.importorskip(
    "pyvisa.ctwrapper.functions", reason="pyvisa is not installed: the extra keysight"
)
STUB = c_functions(Path(__file__).with_name("visa_stub.c").read_text(), "vi")
#: Types of the stub that are not pointers, by ctypes' codes.
CODES = {
    "Session": ctypes.c_uint32._type_,
    "Status": ctypes.c_int32._type_,
    "uint16_t": ctypes.c_uint16._type_,
    "uint32_t": ctypes.c_uint32._type_,
    "uint64_t": ctypes.c_uint64._type_,
}
POINTER = ctypes.c_void_p._type_


class AnyLibrary:
    """Library that has any requested function, and keeps its signature."""

    def __init__(self) -> None:
        self._functions: list[str] = []
        self._functions_failed: list[str] = []

    def __getattr__(self, name: str) -> SimpleNamespace:
        self.__dict__[name] = SimpleNamespace(argtypes=None, restype=None)
        return self.__dict__[name]


@pytest.fixture(scope="module")
def library() -> AnyLibrary:
    library = AnyLibrary()
    functions.set_signatures(library)
    return library


def stub_code(kind: str) -> str:
    return POINTER if kind.endswith("*") else CODES[kind]


def pyvisa_code(kind: type) -> str:
    """Return the code of a number or a pointer; pyvisa's own classes hand pointers
    on."""
    if issubclass(kind, ctypes._SimpleCData):
        return str(kind._type_)
    return POINTER


def test_the_stub_is_read() -> None:
    assert {"viOpen", "viRead", "viWrite", "viSetAttribute"} <= set(STUB)


@pytest.mark.parametrize("name", sorted(STUB))
def test_a_function_takes_the_parameters_that_pyvisa_states(
    library: AnyLibrary, name: str
) -> None:
    assert name in library._functions
    stated = getattr(library, name).argtypes
    expected = [pyvisa_code(kind) for kind in stated]
    assert [stub_code(kind) for kind in STUB[name]] == expected
