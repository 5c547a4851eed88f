# SPDX-License-Identifier: Apache-2.0
"""An N6705 whose answers come later than its timeout: reported as late and never taken
for the answers to later queries.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.link import CommandRefused, ScpiLink
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from drivers.keysight_n6705.sim.simulator import Simulator
from rig.errors import DeadlineError, DeviceLost, RemoteProtocolError
from rig.interfaces.context import BenchContext
from rig.simulation.world import World
from rig.trace.trace import Trace

MS = 1_000_000
TIMEOUT_S = 0.4
LOGGING = (
    "FORM REAL;:FORM:BORD NORM;:VOLT 3.3,(@1);:CURR:LIM 0.2,(@1);:OUTP ON,(@1)",
    (
        "SENS:ELOG:FUNC:CURR ON,(@1);VOLT ON,(@1);:SENS:ELOG:PER"
        " 0.0002048,(@1);:TRIG:ELOG:SOUR BUS,(@1)"
    ),
    "INIT:ELOG (@1);:TRIG:ELOG (@1)",
)
Linked = Callable[..., ScpiLink]
Opened = Callable[..., KeysightN6705]


@pytest.fixture(scope="module", params=["pyvisa-py", "vendor's"])
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> str:
    if request.param == "pyvisa-py":
        return "@py"
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler: the simulated VISA library cannot be built")
    built = tmp_path_factory.mktemp("visa") / "libvisa.so"
    source = Path(__file__).with_name("visa_stub.c")
    subprocess.run(
        [compiler, "-std=gnu11", "-shared", "-fPIC", "-o", str(built), str(source)],
        check=True,
        timeout=60,
    )
    return f"{built}@ivi"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def linked(world: World, library: str) -> Iterator[Linked]:
    opened: list[ScpiLink | Simulator] = []

    def start(**faults: object) -> ScpiLink:
        settings = N6705SimulatorSettings(
            clock_ppm=0.0, faults=SimulatorFaults(**faults)
        )
        simulator = Simulator(settings, world, 1, 2, 0)
        link = ScpiLink(simulator.resource, library, TIMEOUT_S)
        opened.extend((link, simulator))
        return link

    yield start
    for item in opened:
        item.close()


def log(link: ScpiLink, world: World) -> None:
    for message in LOGGING:
        link.do(message, "set-up")
    world.put(world.now_ns(), True, 0.033)
    world.advance(1000 * 204_800)


def in_step(link: ScpiLink) -> bool:
    """Say whether each query gets its own answer; they all differ."""
    answers = [
        link.ask(message, "after it")
        for message in ("*OPC?", "VOLT? (@1)", "SYST:CHAN?", "FORM:BORD?")
    ]
    return answers == ["1", "3.300000E+00", "+2", "NORM"]


def test_a_block_that_comes_late_is_reported_as_late_and_not_read_as_a_later_answer(
    linked: Linked, world: World
) -> None:
    link = linked(late="FETC:ELOG?")
    log(link, world)
    with pytest.raises(DeadlineError) as reported:
        link.block("FETC:ELOG? 1000,(@1)", "fetching records")
    assert (
        reported.value.cause
        == f"no answer of the N6705, fetching records, within {TIMEOUT_S:g} s"
    )
    assert reported.value.evidence.startswith(
        "FETC:ELOG? 1000,(@1): its answer came later, b'#48000"
    )
    assert "timeout_s" in reported.value.try_next
    assert in_step(link)
    assert len(link.block("FETC:ELOG? 1000,(@1)", "fetching records")) == 0


@pytest.mark.parametrize("form", ["block", "line", "9.91E37"])
def test_no_records_yet_are_none_in_whatever_form_that_is_reported(
    linked: Linked, world: World, form: str
) -> None:
    link = linked(no_records_as=form)
    log(link, world)
    assert len(link.block("FETC:ELOG? 5000,(@1)", "fetching records")) == 2000
    assert len(link.block("FETC:ELOG? 5000,(@1)", "fetching records")) == 0
    assert in_step(link)


def test_a_line_that_is_no_block_is_refused_with_what_it_says(
    linked: Linked, world: World
) -> None:
    link = linked()
    log(link, world)
    with pytest.raises(RemoteProtocolError) as reported:
        link.block("VOLT? (@1)", "fetching records")
    assert "3.300000E+00" in reported.value.evidence


@pytest.mark.parametrize(
    ("late", "message", "came"),
    [
        ("VOLT?", "VOLT? (@1)", "b'3.300000E+00'"),
        ("SYST:ERR?", "SYST:ERR?", """b'+0,"No error"'"""),
    ],
)
def test_an_answer_that_comes_late_is_reported_as_late(
    linked: Linked, world: World, late: str, message: str, came: str
) -> None:
    link = linked(late=late, late_at=4 if late == "SYST:ERR?" else 1)
    log(link, world)
    with pytest.raises(DeadlineError) as reported:
        link.ask(message, "a step")
    assert reported.value.evidence == f"{message}: its answer came later, {came}"
    assert in_step(link)


def test_a_command_whose_confirmation_comes_late_is_reported_as_late_with_what_it_said(
    linked: Linked, world: World
) -> None:
    link = linked(late="VOLT", late_at=2)
    log(link, world)
    with pytest.raises(DeadlineError) as reported:
        link.do("VOLT 3.3,(@1)", "a step")
    assert (
        reported.value.evidence
        == """VOLT 3.3,(@1): its answer came later, b'+0,"No error"'"""
    )
    assert in_step(link)


def test_an_answer_that_the_instrument_drops_for_the_next_query_is_reported_as_late(
    linked: Linked, world: World
) -> None:
    link = linked(refuse="VOLT?", refuse_error='-410,"Query INTERRUPTED"')
    with pytest.raises(DeadlineError) as reported:
        link.ask("VOLT? (@1)", "a step")
    assert (
        reported.value.evidence
        == "VOLT? (@1): its answer was dropped for the next query, -410 Query"
        " INTERRUPTED"
    )


def test_a_query_that_is_never_answered_is_reported_and_does_not_shift_the_next(
    linked: Linked,
) -> None:
    link = linked(read_back_of="CURR:LIM?", read_back="")
    link.do("VOLT 3.3,(@1)", "set-up")
    with pytest.raises(RemoteProtocolError, match="answered no number"):
        link.numbers("CURR:LIM? (@1)", "a step")
    with pytest.raises(CommandRefused):
        link.ask("NONSENSE?", "a step")
    assert in_step(link)


def test_a_silent_session_is_a_lost_device_and_another_one_begins_again(
    linked: Linked, world: World
) -> None:
    link = linked(late="VOLT?", mute=True)
    log(link, world)
    with pytest.raises(DeviceLost, match="does not answer any more") as reported:
        link.ask("VOLT? (@1)", "a step")
    assert reported.value.evidence.startswith(
        f"no answer to VOLT? (@1) within {TIMEOUT_S:g} s, nor to what was asked next: "
    )
    with pytest.raises(DeviceLost):
        link.ask("*OPC?", "whatever comes in that session is of no use")
    link.reopen()
    assert in_step(link)


def test_an_answer_that_is_no_text_is_reported_and_the_next_one_is_its_own(
    linked: Linked, world: World
) -> None:
    link = linked(read_back_of="CURR:LIM?", read_back="0.2 \N{OHM SIGN}")
    log(link, world)
    with pytest.raises(RemoteProtocolError, match="answered no text") as reported:
        link.numbers("CURR:LIM? (@1)", "current limit")
    assert "CURR:LIM? (@1) gave b'0.2 " in reported.value.evidence
    assert in_step(link)


def test_an_answer_that_is_no_block_is_reported_and_the_next_one_is_its_own(
    linked: Linked, world: World
) -> None:
    link = linked()
    log(link, world)
    with pytest.raises(RemoteProtocolError, match="no block of numbers"):
        link.block("VOLT? (@1)", "a step")
    assert in_step(link)


def test_a_block_that_ends_early_is_reported_and_the_next_answer_is_its_own(
    linked: Linked, world: World
) -> None:
    link = linked(short_block_at=1)
    log(link, world)
    with pytest.raises(RemoteProtocolError, match="before its announced length"):
        link.block("FETC:ELOG? 1000,(@1)", "fetching records")
    assert in_step(link)


def test_after_ctrl_c_in_a_query_its_answer_is_not_taken_for_the_next(
    world: World,
) -> None:
    simulator = Simulator(N6705SimulatorSettings(), world, 1, 2, 0)
    link = ScpiLink(simulator.resource, "@py", 5.0)

    def interrupt(*_: object) -> bytes:
        os.kill(os.getpid(), signal.SIGINT)
        return b"0.2"

    try:
        link.do("VOLT 3.3,(@1)", "set-up")
        simulator._commands["CURR:LIM?"] = interrupt
        with pytest.raises(KeyboardInterrupt):
            link.ask("CURR:LIM? (@1)", "a step")
        assert in_step(link)
    finally:
        link.close()
        simulator.close()


# End of a measurement


@pytest.fixture
def context() -> BenchContext:
    return BenchContext()


@pytest.fixture
def opened(context: BenchContext) -> Iterator[Opened]:
    monitors: list[KeysightN6705] = []

    def start(**faults: object) -> KeysightN6705:
        simulator = N6705SimulatorSettings(faults=SimulatorFaults(**faults))
        monitors.append(
            KeysightN6705.open(
                KeysightN6705.Settings(
                    "simulator", timeout_s=TIMEOUT_S, simulator=simulator
                ),
                context,
            )
        )
        return monitors[-1]

    yield start
    for monitor in monitors:
        monitor.close()


@pytest.mark.parametrize(
    ("late", "at", "told"),
    [
        ("FETC:ELOG?", 1, "fetching records"),
        ("INIT:ELOG", 1, "start of the log"),
        ("STAT:QUES?", 1, "state of the supply"),
        ("ABOR:ELOG", 3, "end of the log"),
    ],
)
def test_a_late_answer_ends_a_recording_and_the_supply_goes_off_without_doubt(
    opened: Opened, context: BenchContext, tmp_path: Path, late: str, at: int, told: str
) -> None:
    monitor = opened(late=late, late_at=at)
    monitor.power(True)
    with (
        pytest.raises(DeadlineError, match=f"no answer of the N6705, {told}, within"),
        monitor.record(tmp_path),
    ):
        context.world.put(context.world.now_ns(), True, 0.033)
        context.world.advance(100 * MS)
    assert context.world.supply_on
    monitor.power(False)
    assert not context.world.supply_on


def test_a_session_that_falls_silent_in_mid_run_loses_no_data_before_and_another_one_switches_off(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(late="FETC:ELOG?", late_at=20, mute=True)
    monitor.power(True)
    with (
        pytest.raises(DeviceLost, match="does not answer any more"),
        monitor.record(tmp_path),
    ):
        context.world.put(context.world.now_ns(), True, 0.033)
        context.world.advance(40_000 * MS)
    assert Trace.open(tmp_path / "trace.jls").duration_s > 0
    assert context.world.supply_on
    monitor.power(False)
    assert not context.world.supply_on


def test_a_late_word_that_the_supply_is_on_is_reported(
    opened: Opened, context: BenchContext
) -> None:
    monitor = opened(late="OUTP")
    with pytest.raises(
        DeadlineError, match="no answer of the N6705, output 1 on, within"
    ):
        monitor.power(True)
    monitor.power(False)
    assert not context.world.supply_on


@pytest.mark.parametrize("mute", [False, True])
def test_a_late_word_that_the_supply_is_off_is_asked_for_again(
    opened: Opened, context: BenchContext, mute: bool
) -> None:
    monitor = opened(late="OUTP", late_at=2, mute=mute)
    monitor.power(True)
    monitor.power(False)
    assert not context.world.supply_on
