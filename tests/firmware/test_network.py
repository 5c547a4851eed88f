# SPDX-License-Identifier: Apache-2.0
"""The firmware's network against the integer model, bit for bit: any network on this
host, the shipped one on the emulated cores too.
"""

from __future__ import annotations

import ctypes
import json
import shutil
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import nir
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.network_instructions import CASES, count
from examples.make_networks import CHANNELS, DT_S, STEPS, recurrent, samples
from rig.errors import DataError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query
from rig.network import graph
from rig.network.conventions import Conventions, Reset
from rig.network.fixed.c_header import header
from rig.network.fixed.file import from_text, to_text
from rig.network.fixed.form import FixedNetwork, Ints
from rig.network.fixed.interpreter import run
from rig.network.fixed.make import quantised, side_by_side
from rig.network.fixed.report import to_inputs
from rig.network.fixed.tables import KINDS, tables
from sut_backends.hosted.posix import PosixSut
from sut_backends.hosted.qemu import QemuSut
from tests.boards import BOARDS, image
from tests.builds import FIRMWARE, built
from tests.firmware.network_library import DeviceNetwork, opened
from tests.length import length
from tests.rig.network.random_networks import (
    random_conventions,
    random_graph,
    random_values,
)

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        shutil.which("cc") is None or shutil.which("make") is None,
        reason="needs make and a C compiler",
    ),
]
HEADER = FIRMWARE / "workloads" / "network" / "nr_network_model.h"
SHORT = 12


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return opened(built("network-library") / "network" / "library.so")


def random_case(seed: int) -> tuple[FixedNetwork, Ints] | None:
    """Return a random network and inputs, often such as saturate it; None where shapes
    misfit."""
    rng = np.random.default_rng(seed)
    made = random_graph(seed)
    try:
        network = graph.network(made)
    except DataError:
        return None
    values = random_values(seed, network.place("input").shape_out, 2, SHORT)
    known = values if rng.random() < 0.7 else None
    fixed = quantised(
        made, known, None, random_conventions(seed), int(rng.integers(2, 9))
    ).fixed
    if rng.random() < 0.5:
        return fixed, to_inputs(fixed, side_by_side(network, values))[0]
    least = 0 if fixed.input_b == 1 else -fixed.input_max - 1
    extreme = [least, least + 1, 0, 1, fixed.input_max]
    return fixed, rng.choice(extreme, (2, SHORT, fixed.channels)).astype(np.int64)


def payload_of(fixed: FixedNetwork, inputs: Ints) -> bytes:
    return inputs.astype("<u1" if fixed.input_b == 1 else "<i2").tobytes()


def compare(library: ctypes.CDLL, seed: int) -> tuple[set[int], bool]:
    """Run a random network on both; return its kinds of nodes, and whether it was
    limited."""
    case = random_case(seed)
    if case is None:
        return set(), False
    return compare_inputs(library, *case)


def compare_inputs(
    library: ctypes.CDLL, fixed: FixedNetwork, inputs: Ints
) -> tuple[set[int], bool]:
    """Run a network on both; return its kinds of nodes, and whether it was limited."""
    done = run(fixed, inputs)
    sums, last = done.answers(fixed)
    rows = tables(fixed)
    device = DeviceNetwork(library, rows, fixed.answers)
    for sample in (0, 1, 0):  # the first once more: a reset leaves no state
        result = device.answer(payload_of(fixed, inputs[sample]), SHORT)
        assert np.array_equal(result[0], sums[sample])
        assert np.array_equal(result[1], last[sample])
    return {row[0] for row in rows.nodes}, bool(done.saturated)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=length(100, 40))
def test_any_network_answers_bit_for_bit_as_the_integer_model(
    library: ctypes.CDLL, seed: int
) -> None:
    compare(library, seed)


def test_every_kind_of_node_and_limit_is_met(library: ctypes.CDLL) -> None:
    kinds: set[int] = set()
    limited = 0
    for seed in range(80):
        result, was_limited = compare(library, seed)
        kinds |= result
        limited += was_limited
    assert kinds == set(range(len(KINDS)))
    assert limited > 10


def test_a_membrane_at_its_threshold_fires_or_not_on_both(library: ctypes.CDLL) -> None:
    item = np.ones(1)
    nodes = {
        "input": nir.Input(np.array([1])),
        "if": nir.IF(item / DT_S, 2 * item, 0 * item),
        "output": nir.Output(np.array([1])),
    }
    made = nir.NIRGraph(
        nodes, list(pairwise(nodes)), metadata={"dt_s": DT_S}, type_check=False
    )
    inputs = np.ones((2, SHORT, 1), np.int64)
    inputs[1, ::2] = 4
    spikes = []
    for above, reset in product((True, False), Reset):
        how = Conventions(
            above=above, reset=reset, spikes_max=3 if reset is Reset.SUBTRACT else 1
        )
        fixed = quantised(made, None, None, how).fixed
        compare_inputs(library, fixed, inputs)
        spikes.append(run(fixed, inputs).answers(fixed)[0].ravel().tolist())
    # Of 1 a step: above 2 every third step, then again; at 2 every second. Value,
    # subtract, subtract in the next step, none. An integrator does not leak: the last
    # but one is a subtraction of one spike a step; without a reset, each step above or
    # at it fires.
    assert spikes[:4] == [[4, 6], [5, 14], [5, SHORT], [SHORT - 2, SHORT]]
    assert spikes[4:] == [[6, 6], [6, 15], [6, SHORT], [SHORT - 1, SHORT]]


def layer(kind: str, rows: int, size: int, weight: int) -> tuple[Any, Any]:
    """Return a graph of a layer with weights of -`weight` to `weight`, and the shape
    of its input."""
    rng = np.random.default_rng(rows * size)
    if kind == "dense":
        shape: tuple[int, ...] = (size,)
        own = nir.Linear(rng.integers(-weight, weight + 1, (rows, size)).astype(float))
        out: tuple[int, ...] = (rows,)
    else:
        groups = 2 if kind == "groups" else 1
        shape = (size, 5, 6)
        kernels = rng.integers(-weight, weight + 1, (rows, size // groups, 3, 3))
        bias = rng.integers(-9, 10, rows).astype(float)
        own = nir.Conv2d(
            shape[1:],
            kernels.astype(float),
            (1, 2),
            (1, 1),
            dilation=1,
            groups=groups,
            bias=bias,
        )
        out = (rows, 5, 3)
    nodes = {
        "input": nir.Input(np.array(shape)),
        "layer": own,
        "output": nir.Output(np.array(out)),
    }
    made = nir.NIRGraph(
        nodes, list(pairwise(nodes)), metadata={"dt_s": DT_S}, type_check=False
    )
    return made, shape


@pytest.mark.parametrize("kind", ["dense", "image", "groups"])
@pytest.mark.parametrize("largest", [1, 3, 255, -3])
def test_a_layer_of_any_size_answers_as_the_integer_model(
    library: ctypes.CDLL, kind: str, largest: int
) -> None:
    kinds = set()
    for rows, size in ((1, 600), (16, 258), (17, 259), (38, 3), (64, 40), (6, 517)):
        rng = np.random.default_rng(size)
        size += size % 2
        rows += rows % 2 if kind == "groups" else 0
        made, shape = layer(kind, rows, size, 127 if kind == "dense" else 100)
        values = rng.integers(min(largest, 0), abs(largest) + 1, (2, SHORT, *shape))
        values[0] = abs(largest)  # every sum at its largest
        values[1, ::3] *= rng.random(shape) < 0.05
        values[1, 0] = 0
        fixed = quantised(made, values.astype(float), DT_S).fixed
        kinds |= compare_inputs(library, fixed, values.reshape(2, SHORT, -1))[0]
    name = "DENSE" if kind == "dense" else "CONVOLUTION"
    assert KINDS.index(name if largest < 0 else f"{name}_EVENTS") in kinds


#: What no quantiser writes, or only at another place.
ODD = (
    -1,
    0,
    1,
    3,
    7,
    63,
    127,
    255,
    256,
    2**15,
    -(2**15),
    2**31 - 1,
    2**31,
    -(2**31),
    2**63,
    1e300,
)


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of each number in JSON."""
    if isinstance(content, dict | list):
        inner = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in inner:
            yield from leaves(value, (*path, key))
    elif isinstance(content, int | float):
        yield path


@given(seed=st.integers(0, 300), data=st.data())
@settings(max_examples=length(60, 30))
def test_a_file_with_an_odd_number_is_refused_or_is_a_network_as_any_other(
    library: ctypes.CDLL, seed: int, data: st.DataObject
) -> None:
    case = random_case(seed)
    if case is None:
        return
    content = json.loads(to_text(case[0]))
    *way, last = data.draw(st.sampled_from(list(leaves(content))))
    position = content
    for key in way:
        position = position[key]
    position[last] = data.draw(st.sampled_from(ODD))
    try:
        fixed = from_text(json.dumps(content), HEADER)
    except DataError:
        return
    if fixed.channels != case[1].shape[2]:
        return
    # The library ends the process where a number leads out of its type.
    inputs = np.clip(
        case[1], 0 if fixed.input_b == 1 else -fixed.input_max - 1, fixed.input_max
    )
    compare_inputs(library, fixed, inputs)


@pytest.mark.parametrize("number", [0, 4, 5, 7])
def test_a_layer_takes_no_more_instructions_than_its_limit(number: int) -> None:
    image("stm32f405", "null")  # where no tool is missing
    case = CASES[number]
    assert count(case).layer <= case.limit


@pytest.fixture(scope="module")
def shipped() -> tuple[FixedNetwork, Ints]:
    values = samples((CHANNELS,))
    fixed = quantised(recurrent(False), values, DT_S).fixed
    return fixed, to_inputs(fixed, values)[0]


def test_the_shipped_header_is_that_of_the_example(
    shipped: tuple[FixedNetwork, Ints],
) -> None:
    # Written by header() as here: "python -m pytest" says when it is another.
    assert header(shipped[0], STEPS) == HEADER.read_text(encoding="utf-8")


def expected(fixed: FixedNetwork, inputs: Ints) -> list[bytes]:
    sums, last = run(fixed, inputs).answers(fixed)
    both = np.concatenate([sums, last], axis=1)
    return [row.astype("<i4").tobytes() for row in both]


@pytest.mark.parametrize("port", ["posix", *BOARDS])
def test_the_image_of_the_network_answers_as_the_integer_model(
    shipped: tuple[FixedNetwork, Ints], port: str
) -> None:
    fixed, inputs = shipped
    context = BenchContext(seed=1)
    context.world.supply_on = True
    sut: PosixSut | QemuSut
    if port == "posix":
        program = built("posix") / "posix" / "network"
        sut = PosixSut.open(PosixSut.Settings(program=str(program)), context)
    else:
        program = image(port, "network")
        sut = QemuSut.open(
            QemuSut.Settings(program=str(program), machine=BOARDS[port]), context
        )
    try:
        answers = expected(fixed, inputs[:3])
        for sample, answer in zip(inputs, answers, strict=False):
            sut.do(Load(0), [payload_of(fixed, sample)])
            assert sut.do(Query((0,), limit_s=60.0)).output == answer
        assert len(set(answers)) == 3
        # A shorter one is run for its steps; a torn one is refused.
        short = payload_of(fixed, inputs[3, :5])
        sut.do(Load(0), [short])
        assert [sut.do(Query((0,))).output] == expected(fixed, inputs[3:4, :5])
        with pytest.raises(SutError):
            sut.do(Load(0), [short[:-1]])
    finally:
        sut.close()
