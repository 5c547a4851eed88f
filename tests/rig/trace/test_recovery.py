# SPDX-License-Identifier: Apache-2.0
"""Traces that were torn off: no reader is asked where it would loop for ever, and whole
parts are recovered.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import numpy as np
import pyjls
import pytest

from rig.api.traces.trace import open_trace
from rig.check import check as command
from rig.errors import DataError
from rig.session import session
from rig.store.events import Event
from rig.trace import limited_child, recovery
from rig.trace.recovery import recover
from rig.trace.trace import Trace, reading
from tests.checking import check, fingerprints
from tests.commands import program, rig
from tests.length import length
from tests.rig.session.test_resume import cut_off
from tests.traces import trace_writer

HZ = 100_000
#: The first 4 KiB of a trace hold no sample.
HEAD_B = 4096


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    noise = np.random.default_rng(1).normal(0.01, 0.001, HZ).astype(np.float32)
    with trace_writer(folder, HZ) as writer:
        writer.analog(noise, np.full(HZ, 3.3, np.float32))
        writer.sync(np.ones(HZ, np.uint8))
    return (folder / "trace.jls").read_bytes()


def test_a_file_without_a_whole_block_of_samples_is_given_to_no_reader(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("its reader was asked")

    monkeypatch.setattr(limited_child, "run", refused)
    monkeypatch.setattr(pyjls, "Reader", refused)
    path = tmp_path / "trace.jls"
    for size_b in range(HEAD_B + 1):
        path.write_bytes(content[:size_b])
        with pytest.raises(DataError):
            recover(path, tmp_path / "copy.jls")
        for opened in (Trace.open, lambda torn: reading(torn).__enter__()):
            with pytest.raises(
                DataError, match=r"not closed properly|not a readable trace"
            ):
                opened(path)


COPIES = """
import os, resource
from contextlib import suppress
from pathlib import Path
from rig.trace.recovery import copy_all
_, most_s = resource.getrlimit(resource.RLIMIT_CPU)
# A copy takes a hundredth of a second; the limit may be lower already.
end_s = 120 if most_s == resource.RLIM_INFINITY else min(120, most_s)
resource.setrlimit(resource.RLIMIT_CPU, (end_s, most_s))
content = Path("trace.jls").read_bytes()
for number, size_b in enumerate({sizes}):
    print(size_b, flush=True)
    partial = Path("trace.jls.partial")
    partial.write_bytes(content[:size_b])
    into = Path(str(number))
    into.mkdir()
    with suppress(RuntimeError):
        copy_all(partial, into / "trace.jls")
print("all", flush=True)
"""


def test_a_copy_ends_wherever_its_trace_was_torn_off(
    content: bytes, tmp_path: Path
) -> None:
    draw = Random(1)
    (tmp_path / "trace.jls").write_bytes(content)
    # The library copied for ever where a header was torn, from its tenth byte on.
    with (tmp_path / "trace.jls").open("rb") as stream:
        heads = [end for *_, end in recovery._stored(stream)]
    early = [at for at in heads if at < HEAD_B]
    late = draw.sample(heads[len(early) :], length(40, 10))
    torn = [at + draw.randrange(9, 32) for at in (*early, *late)]
    anywhere = [draw.randrange(HEAD_B, len(content)) for _ in range(length(60, 10))]
    done = program(COPIES.format(sizes=[*torn, *anywhere]), tmp_path)
    assert done.stdout.endswith("all\n"), f"{done.returncode}: {done.stdout[-20:]}"


def test_what_is_whole_before_a_torn_header_is_recovered(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "trace.jls"
    path.write_bytes(content)
    with path.open("rb") as stream:
        last = [
            end for tag, _, _, end in recovery._stored(stream) if tag == recovery._DATA
        ][-6]
    path.write_bytes(content[: last + 20])
    with open_trace(path) as trace:
        assert 0.3 < trace.duration_s < 1.0
        assert "not closed properly" in " ".join(trace.notes)
        trace.export(tmp_path / "part.csv", 0.0, 0.001)


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """Return a session that was cut off in its second trial, whose trace was not
    closed."""
    folder = cut_off(tmp_path / "sessions", 20)
    trace = folder / "trial-2" / "trace.jls"
    trace.rename(trace.with_name("trace.jls.partial"))
    return folder


@pytest.mark.parametrize("size_b", [0, 40, 225, 3000, 3560, 40_000])
def test_a_session_with_a_torn_trace_is_checked_and_goes_on(
    cut: Path, size_b: int
) -> None:
    torn = cut / "trial-2" / "trace.jls.partial"
    os.truncate(torn, size_b)
    reported: list[Path] = []
    checked = command.check(
        cut, fingerprints, begun=lambda path, limit_s: reported.append(path)
    )
    (output,) = [each.detail for each in checked.findings if not each.ok]
    assert output.startswith("was cut off")
    assert reported == ([torn] if size_b == 40_000 else [])
    if size_b < HEAD_B:
        with pytest.raises(DataError, match=r"damaged|not a JLS file"):
            open_trace(torn)
    else:
        with open_trace(torn) as trace:
            assert trace.duration_s < 1.0
    heard: list[Event] = []
    session.resume(cut, [heard.append])
    assert check(cut).ok


@pytest.mark.parametrize("size_b", [0, 225, 40_000])
def test_a_trace_that_a_power_cut_tore_off_after_it_was_closed(
    cut: Path, size_b: int
) -> None:
    trace = cut / "trial-2" / "trace.jls"
    trace.with_name("trace.jls.partial").rename(trace)
    os.truncate(trace, size_b)
    assert not check(cut).ok
    session.resume(cut)
    assert check(cut).ok


def test_a_torn_trace_of_a_finished_session_is_named_and_reported(cut: Path) -> None:
    session.resume(cut)
    trace = cut / "trial-1" / "trace.jls"
    os.truncate(trace, 225)
    assert "trial-1/trace.jls" in [
        each.name for each in check(cut).findings if not each.ok
    ]
    done = rig("report", cut)
    assert done.returncode == 1 and "was changed" in done.stderr
    with pytest.raises(DataError, match="damaged") as refused:
        open_trace(trace)
    assert "225 bytes" in refused.value.evidence
