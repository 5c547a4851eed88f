# SPDX-License-Identifier: Apache-2.0
"""Searches on the QUBO firmware: right vectors, correct marks, and the errors of a
wrong or disturbed search.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rig.errors import DeadlineError, LocalProtocolError, SutError
from rig.interfaces.context import BenchContext
from rig.model.completion import END, REACHED, Completion
from rig.model.steps import Idle, Load, Query, Solve
from scenarios.tasks.qubo.edges import HEAD, encode
from scenarios.tasks.qubo.graph import Workload, generate
from sut_backends.hosted.posix import PosixSut
from sut_backends.hosted.sync_wire import Power
from sut_backends.lines.faults import LineFaults
from sut_backends.shim import messages
from tests.sut_backends.framed import CAPS

networkx = pytest.importorskip(
    "networkx", reason="needs networkx (pip install networkx)"
)
pytestmark = pytest.mark.posix

WORKLOADS = (Workload(100, 0.25, 0), Workload(250, 0.05, 1), Workload(50, 0.1, 2))
MEMORY_B = 13_000_000
START = 1
# between two looks at the clock lie moves that touch about 64 neighbours
# (docs/reference/QUBO.md): 7 us, measured
LOOK_TICKS = 20
WORST = (0, -5, -10, -40)


@dataclass(frozen=True)
class Answer:
    """An output, taken apart here as docs/reference/QUBO.md says, and the cost of its
    vector on an edge list that is not the product's.
    """

    claimed: int
    end: int
    nodes: int
    vector: tuple[int, ...]
    rest: bytes

    @classmethod
    def of(cls, output: bytes) -> Answer:
        claimed, end, nodes = struct.unpack("<iBI", output[:9])
        packed = output[9 : 9 + (nodes + 7) // 8]
        vector = tuple(
            packed[node // 8] >> node % 8 & 1 if node // 8 < len(packed) else 0
            for node in range(nodes)
        )
        return cls(claimed, end, nodes, vector, output[9 + (nodes + 7) // 8 :])

    def cost(self, workload: Workload) -> int:
        edges = int(0.5 * workload.density * workload.nodes**2)
        graph = networkx.gnm_random_graph(workload.nodes, edges, workload.seed)
        return 8 * sum(self.vector[a] * self.vector[b] for a, b in graph.edges()) - sum(
            self.vector
        )


@pytest.fixture(scope="session")
def payloads() -> list[bytes]:
    """Give the workloads as the device gets them."""
    return [encode(generate(workload)) for workload in WORKLOADS]


@contextmanager
def opened(
    null_program: Path, context: BenchContext, workload: str = "qubo", **settings: Any
) -> Iterator[PosixSut]:
    sut = PosixSut.open(
        PosixSut.Settings(program=str(null_program.with_name(workload)), **settings),
        context,
    )
    try:
        yield sut
    finally:
        sut.close()


def spans(completion: Completion) -> list[int]:
    return [later.tick - earlier.tick for earlier, later in pairwise(completion.marks)]


def duration(completion: Completion) -> int:
    return completion.marks[-1].tick - completion.marks[0].tick


def test_it_says_what_it_can_do(null_program: Path, context: BenchContext) -> None:
    with opened(null_program, context) as sut:
        assert (
            sut.info.task,
            sut.info.solves,
            sut.info.thresholds_max,
            sut.info.slots,
        ) == ("qubo", True, 16, 4)
        assert sut.info.batch_max == 0
    with opened(null_program, context, "null") as sut:
        assert (sut.info.solves, sut.info.thresholds_max) == (False, 0)


@pytest.mark.parametrize("number", range(len(WORKLOADS)))
def test_a_time_out_ends_a_search_and_the_vector_costs_what_it_says(
    null_program: Path, context: BenchContext, payloads: list[bytes], number: int
) -> None:
    with opened(null_program, context) as sut:
        sut.do(Load(number), [payloads[number]])
        done = sut.do(Solve(number, 0.01, seed=5))
    answer = Answer.of(done.output)
    assert [mark.phase for mark in done.marks] == [START, END]
    assert 10_000 <= duration(done) < 10_500
    assert (done.iterations, done.rx_in_window_b) == (1, 0)
    assert (answer.end, answer.nodes, answer.rest) == (0, WORKLOADS[number].nodes, b"")
    assert answer.claimed == answer.cost(WORKLOADS[number]) < -10


def test_thresholds_are_marked_in_order_and_only_those_that_were_reached(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context, sync_hold_us=0) as sut:
        sut.do(Load(0), [payloads[0]])
        done = sut.do(
            Solve(0, 0.05, seed=5, thresholds=(*WORST[:3], *range(-11, -22, -1)))
        )
    best = Answer.of(done.output).cost(WORKLOADS[0])
    phases = [mark.phase for mark in done.marks]
    assert (phases[0], phases[1], phases[-1]) == (START, REACHED, END)
    assert phases[1:-1] == sorted({*phases[1:-1]})
    assert max(phases[1:-1]) == REACHED + 2 + (-10 - best)
    assert len(phases) >= 5
    assert all(span > 0 for span in spans(done))


def test_the_device_knows_by_its_own_timer_what_its_marks_tell_late(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    thresholds = (-1, -5, -10, *range(-11, -22, -1))
    with opened(null_program, context, sync_hold_us=500) as sut:
        sut.do(Load(0), [payloads[0]])
        slow = sut.do(Solve(0, 0.05, seed=5, thresholds=thresholds))
    with opened(null_program, context, sync_hold_us=0) as sut:
        sut.do(Load(0), [payloads[0]])
        fast = sut.do(Solve(0, 0.05, seed=5, thresholds=thresholds))
    assert slow.known is not None and fast.known is not None
    for done in (slow, fast):
        begin = done.marks[0].tick
        last = done.marks[-2]
        assert len(done.known or ()) == last.phase - REACHED + 1
        assert begin <= (done.known or ())[0] and (done.known or ())[-1] <= last.tick
    # The first threshold is reached in the first pulse: its mark waits for two of them,
    # and its message does not.
    assert slow.marks[1].tick - slow.marks[0].tick >= 1000
    assert slow.known[0] - slow.marks[0].tick < 200
    assert slow.known[0] - slow.marks[0].tick == pytest.approx(
        fast.known[0] - fast.marks[0].tick, abs=2
    )


def test_firmware_that_does_not_tell_is_not_asked(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context) as sut:
        assert sut.info.details["knows_thresholds"] is True
        dut = sut._dut
        dut.caps = dataclasses.replace(dut.caps, more=messages.More(0))
        assert sut.info.details["knows_thresholds"] is False
        sut.do(Load(0), [payloads[0]])
        done = sut.do(Solve(0, 0.01, seed=5, thresholds=(-1, -5)))
    assert done.known is None and done.marks[0].phase == START


def test_the_target_ends_a_search(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context) as sut:
        sut.do(Load(1), [payloads[1]])
        done = sut.do(Solve(1, 5.0, seed=1, target=-60, thresholds=(-50, -60, -70)))
    answer = Answer.of(done.output)
    assert answer.end == 1
    assert answer.claimed == answer.cost(WORKLOADS[1]) <= -60
    assert done.marks[-2].phase == REACHED + 1
    assert duration(done) < 5_000_000 / 2


def test_the_same_seed_gives_the_same_search_and_another_one_another(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(
        null_program, context, sync_hold_us=0
    ) as sut:  # a mark waits for the pulse of the one before it
        sut.do(Load(0), [payloads[0]])
        first, again, other = (
            sut.do(Solve(0, 0.02, seed=seed, thresholds=(-12, -15, -16)))
            for seed in (5, 5, 6)
        )
    assert first.output == again.output
    assert [mark.phase for mark in first.marks] == [mark.phase for mark in again.marks]
    assert (
        max(
            abs(item - two)
            for item, two in zip(spans(first)[:-1], spans(again)[:-1], strict=True)
        )
        <= 1
    )
    assert (
        max(
            abs(item - two)
            for item, two in zip(spans(first)[:-1], spans(other)[:-1], strict=True)
        )
        > 1
    )
    # Time ends it at a look at the clock: which one may hang on the part of a tick that
    # had passed when it began.
    assert all(
        20_000 <= duration(each) < 20_000 + LOOK_TICKS for each in (first, again, other)
    )


def test_each_slot_keeps_its_graph(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context) as sut:
        for number, payload in enumerate(payloads):
            sut.do(Load(number), [payload])
        for number in (1, 0, 2, 0):
            answer = Answer.of(sut.do(Solve(number, 0.005, seed=2)).output)
            assert answer.nodes == WORKLOADS[number].nodes
            assert answer.claimed == answer.cost(WORKLOADS[number])


def test_power_in_the_world_is_that_of_the_search_until_its_end(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(
        null_program, context, power_w=Power(idle=0.01, preprocess=0.03, infer=0.05)
    ) as sut:
        sut.do(Load(0), [payloads[0]])
        done = sut.do(Solve(0, 0.02, seed=5, thresholds=(0, -16)))
        sut.do(Idle(0.01))
        assert sut.late_events == sut.edges.reordered_events == 0
    falls = [state for state in context.world.states() if not state.level][:4]
    assert [mark.phase for mark in done.marks] == [START, REACHED, REACHED + 1, END]
    assert [state.power_w for state in falls] == [0.03, 0.03, 0.03, 0.01]
    by_state = [
        (later.time_ns - earlier.time_ns) / 1e3 for earlier, later in pairwise(falls)
    ]
    assert by_state == pytest.approx(spans(done), abs=1.1)


def test_lost_and_changed_bytes_on_the_line_change_no_search(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    step = Solve(1, 0.02, seed=9, target=-66, thresholds=(-30, -60))
    with opened(null_program, context) as sut:
        sut.do(Load(1), [payloads[1]])
        clean = sut.do(step)
    with opened(
        null_program, context, faults=LineFaults(0.001, 0.001, 0.001, 4)
    ) as sut:
        for index in (1, 2):
            sut.do(Load(index), [payloads[1]])
        result = [sut.do(Solve(index, 0.02, 9, -66, (-30, -60))) for index in (1, 2)]
    assert sum(done.retransmissions for done in result) > 0
    assert {done.output for done in result} == {clean.output}
    assert all(len(done.marks) == len(clean.marks) for done in result)


def test_a_power_cut_in_a_search_is_resumed_with_the_graph(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context, restart_after_queries=1) as sut:
        sut.do(Load(0), [payloads[0]])
        first, second = (sut.do(Solve(0, 0.005, seed=3)) for _ in range(2))
    assert (first.restarts, second.restarts) == (0, 1)
    assert first.output == second.output


# ---- refusals ----


def test_a_graph_too_large_for_the_device_is_refused_with_its_limit(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context) as sut:
        with pytest.raises(SutError, match="too large") as caught:
            sut.do(Load(0), [HEAD.pack(60_000, 5_000_000, 0)])
        assert caught.value.code == 4
        assert (
            f"detail {MEMORY_B}: needs more memory than the workload has"
            in caught.value.evidence
        )


def test_an_input_that_is_no_graph_is_refused_with_the_reason_of_the_workload(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    spoilt = bytes([*payloads[0][:-1], payloads[0][-1] ^ 1])
    with opened(null_program, context) as sut:
        for payload, reason in ((b"short", 1), (spoilt, 3)):
            with pytest.raises(SutError) as caught:
                sut.do(Load(0), [payload])
            assert caught.value.code == 7
            assert f"detail {reason}" in caught.value.evidence
        with pytest.raises(LocalProtocolError, match="not loaded"):
            sut.do(Solve(0, 0.01, seed=1))


@pytest.mark.parametrize("thresholds", [(-5, -5), (-5, -4), tuple(range(0, -17, -1))])
def test_thresholds_that_cannot_be_marked_are_our_own_error(
    null_program: Path,
    context: BenchContext,
    payloads: list[bytes],
    thresholds: tuple[int, ...],
) -> None:
    with opened(null_program, context) as sut:
        sut.do(Load(0), [payloads[0]])
        with pytest.raises(
            LocalProtocolError, match="16 at most, and each below the one before"
        ):
            sut.do(Solve(0, 0.01, seed=1, thresholds=thresholds))


@pytest.mark.parametrize(
    ("marks_max", "max_payload_b", "most"),
    [(18, 256, 16), (16, 256, 14), (4, 64, 2), (16, 64, (64 - 20) // 4)],
)
def test_a_request_has_room_for_as_many_thresholds_as_done_has_marks_or_its_frame_bytes(
    marks_max: int, max_payload_b: int, most: int
) -> None:
    caps = replace(CAPS, marks_max=marks_max, max_payload_b=max_payload_b)
    assert messages.OptimizeMessage.most(caps) == most


def test_a_time_out_that_is_no_number_of_microseconds_is_our_own_error(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context) as sut:
        sut.do(Load(0), [payloads[0]])
        for timeout_s in (1e-7, 5000.0):
            with pytest.raises(LocalProtocolError, match="time-out"):
                sut.do(Solve(0, timeout_s, seed=1))


def test_a_search_cannot_be_run_and_what_can_be_run_cannot_search(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context) as sut:
        sut.do(Load(0), [payloads[0]])
        with pytest.raises(SutError, match="not supported") as caught:
            sut.do(Query((0,)))
        assert "this workload knows OPTIMIZE only" in caught.value.evidence
        assert Answer.of(sut.do(Solve(0, 0.001, seed=1)).output).nodes == 100
    with opened(null_program, context, "null") as sut:
        sut.do(Load(0), [b"x" * 8])
        with pytest.raises(LocalProtocolError, match="search, which it cannot"):
            sut.do(Solve(0, 0.01, seed=1))


def test_in_the_text_layer_there_is_no_search(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context, layer="text") as sut:
        assert not sut.info.solves
        sut.do(Load(0), [payloads[2]])
        with pytest.raises(
            LocalProtocolError, match=r"the text layer has no command for .* 'solve'"
        ) as caught:
            sut.do(Solve(0, 0.01, seed=1))
        assert "auto" in caught.value.try_next
        with pytest.raises(SutError) as refused:
            sut.do(Query((0,)))
        assert "knows OPTIMIZE only" in refused.value.evidence


# ---- devices that are wrong ----


def test_a_device_that_claims_a_better_cost_than_its_vector_has(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context, wrong_cost=True) as sut:
        sut.do(Load(0), [payloads[0]])
        answer = Answer.of(sut.do(Solve(0, 0.005, seed=1)).output)
    assert answer.claimed == answer.cost(WORKLOADS[0]) - 1


def test_a_device_that_cuts_its_vector(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context, short_vector=True) as sut:
        sut.do(Load(0), [payloads[0]])
        output = sut.do(Solve(0, 0.005, seed=1)).output
    assert len(output) == 9 + 13 - 1


def test_a_device_that_overruns_its_time_out_is_seen_in_its_marks_and_given_up_behind_the_limit(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    with opened(null_program, context, overrun_timeout_us=30_000) as sut:
        sut.do(Load(0), [payloads[0]])
        assert 40_000 <= duration(sut.do(Solve(0, 0.01, seed=1))) < 41_000
        with pytest.raises(DeadlineError):
            sut.do(Solve(0, 0.01, seed=1, limit_s=0.02))


# the host's clock judges the timer, and each ms of delay is a percent
@pytest.mark.alone
def test_a_probe_searches(
    null_program: Path, context: BenchContext, payloads: list[bytes]
) -> None:
    context = replace(context, sample=payloads[0])
    findings = list(
        PosixSut.probe(
            PosixSut.Settings(program=str(null_program.with_name("qubo"))), context
        )
    )
    assert "search" in [finding.name for finding in findings]
    assert all(finding.ok for finding in findings), findings
