# SPDX-License-Identifier: Apache-2.0
"""The calls of samna. Its package cannot be had from a registry: the one of that name
on PyPI calls pip when it is imported, and is never imported. So the contract is how
Rockpool, the vendor's own library, calls it, read from Rockpool's source where that is
installed, and how the vendor's examples do.
"""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from sut_backends.xylo import board_runner, power_events
from sut_backends.xylo.sim import nodes
from sut_backends.xylo.sim.board import Core, SimulatedHdk
from tests.contracts import described
from tests.sut_backends.xylo.test_backend import PYTHON, needs_xylosim

#: A call: the method, how many arguments without a name, the names of the others.
Form = tuple[str, int, frozenset[str]]
#: Calls of samna's objects that the worker makes.
METHODS = {
    "get_power_monitor", "get_source_node", "is_auto_power_measurement_active",
    "stop_auto_power_measurement", "start_auto_power_measurement", "get_stop_watch", "sink_from",
    "get_events",
}  # fmt: skip
#: Of the stopwatch in the vendor's examples: started, then reset. Rockpool itself does
#: not reset.
PUBLISHED: set[Form] = {(name, 0, frozenset()) for name in ("start", "reset", "stop")}
#: The simulated board's values for them.
STAND_INS = {
    "get_power_monitor": SimulatedHdk.get_power_monitor,
    "get_stop_watch": SimulatedHdk.get_stop_watch,
    "get_source_node": nodes.PowerMonitor.get_source_node,
    "is_auto_power_measurement_active": (
        nodes.PowerMonitor.is_auto_power_measurement_active
    ),
    "stop_auto_power_measurement": nodes.PowerMonitor.stop_auto_power_measurement,
    "start_auto_power_measurement": nodes.PowerMonitor.start_auto_power_measurement,
    "get_events": nodes.Sink.get_events,
    "apply_configuration": Core.apply_configuration,
}


def calls(source: str) -> Iterator[tuple[str, Form]]:
    """Yield every call of a method: its object, and its form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escaping foreign text
        tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = frozenset(
                word.arg for word in node.keywords if word.arg is not None
            )
            form = (node.func.attr, len(node.args), named)
            yield ast.unparse(node.func.value).lower(), form


def is_stopwatch(on: str) -> bool:
    return "stopwatch" in on or "stop_watch" in on


def ours() -> Iterator[tuple[str, Form]]:
    """Yield the calls of the worker."""
    for module in (power_events, board_runner):
        assert module.__file__ is not None
        yield from calls(Path(module.__file__).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rockpools() -> dict[bool, set[Form]]:
    """Forms of Rockpool's calls: on a stopwatch, on all else."""
    (folder,) = Path(PYTHON).parent.parent.glob(
        "lib/python*/site-packages/rockpool/devices/xylo"
    )
    result: dict[bool, set[Form]] = defaultdict(set)
    for path in sorted(folder.rglob("*.py")):
        for on, form in calls(path.read_text(encoding="utf-8")):
            result[is_stopwatch(on)].add(form)
    return result


def foreign(
    made: Iterator[tuple[str, Form]], rockpools: dict[bool, set[Form]]
) -> list[tuple[str, Form]]:
    """Return calls of samna in a form that neither Rockpool nor the vendor's examples
    have."""
    return [
        (on, form)
        for on, form in made
        if (form not in rockpools[True] | PUBLISHED if is_stopwatch(on) else False)
        or (form[0] in METHODS and form not in rockpools[False])
    ]


@needs_xylosim
def test_samna_is_called_as_rockpool_and_the_vendors_examples_call_it(
    rockpools: dict[bool, set[Form]],
) -> None:
    made = list(ours())
    assert {form[0] for _, form in made} >= METHODS
    assert foreign(iter(made), rockpools) == []
    # Rockpool with a stopwatch acts as the examples do.
    assert ("start", 0, frozenset()) in rockpools[True]


@needs_xylosim
def test_a_call_of_another_form_would_be_found(
    rockpools: dict[bool, set[Form]],
) -> None:
    for wrong in (
        "self._stopwatch.start(True)",
        "board.get_stop_watch().start(reset=True)",
        "monitor.start_auto_power_measurement(hz=100.0)",
        "monitor.get_power_monitor('io')",
    ):
        assert foreign(calls(wrong), rockpools), wrong


def test_the_stopwatch_is_started_and_then_reset() -> None:
    forms = [form for on, form in ours() if is_stopwatch(on)]
    assert [name for name, *_ in forms] == ["start", "reset"]


@needs_xylosim
@pytest.mark.parametrize("name", STAND_INS)
def test_the_simulated_board_takes_no_more_than_rockpool_gives(
    name: str, rockpools: dict[bool, set[Form]]
) -> None:
    given = [form for form in rockpools[False] if form[0] == name]
    assert given
    parameters = described(STAND_INS[name])["parameters"][1:]
    assert all(kind == "POSITIONAL_OR_KEYWORD" for _, kind, _ in parameters)
    assert len(parameters) in {count + len(named) for _, count, named in given}


def test_the_simulated_stopwatch_refuses_what_no_example_says() -> None:
    source = nodes.PowerSource(nodes.Truth(), nodes.Bag())
    watch = nodes.StopWatch(source, 0)
    with pytest.raises(TypeError):
        watch.start(True)  # type: ignore[call-arg]
    watch.start()
    first = source.zero_ns
    watch.start()
    assert source.zero_ns == first is not None
    watch.reset()
    assert source.zero_ns > first
