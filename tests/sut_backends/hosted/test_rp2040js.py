# SPDX-License-Identifier: Apache-2.0
"""A Raspberry Pi Pico in rp2040js: the image that is flashed, and its SYNC pin, which
judges the firmware's edges.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from rig.bench.doctor.programs import program_rows
from rig.bench.doctor.row import RowState
from rig.bench.probe import probe
from rig.bench.structure import typed
from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.model.steps import Idle, Load, Query, Sync
from rig.session.session import open_bench
from sut_backends.hosted.rp2040js import Rp2040jsSut
from tests.boards import NODE_MODULES, need_rp2040js, pico
from tests.checking import check
from tests.conftest import ROOT
from tests.programs import captured

Opened = tuple[Rp2040jsSut, BenchContext]
#: The device reads its counter some cycles of 83 ns after the pin has fallen.
NS_PER_TICK = 1_000


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Opened]]:
    """Open emulated Picos; close them at the end."""
    need_rp2040js(monkeypatch)
    opened = []

    def open_pico(program: Path, **settings: object) -> Opened:
        context = BenchContext(seed=1)
        context.world.supply_on = True
        chosen = Rp2040jsSut.Settings(program=str(program), **settings)  # type: ignore[arg-type]
        sut = Rp2040jsSut.open(chosen, context)
        opened.append(sut)
        return sut, context

    yield open_pico
    for sut in opened:
        sut.close()


def falls_ns(context: BenchContext) -> list[int]:
    """Return when the pin fell."""
    states = context.world.states()
    return [
        later.time_ns
        for before, later in pairwise(states)
        if before.level and not later.level
    ]


@pytest.mark.parametrize("hold_us", [2, 50])
def test_each_tick_is_the_microsecond_in_which_the_pin_fell(
    start: Callable[..., Opened], hold_us: int
) -> None:
    sut, context = start(pico("null"), sync_hold_us=hold_us, sync_period_us=700)
    origin_ns = context.world.states()[0].time_ns
    ticks = []
    sut.do(Load(0), [bytes(range(96))])
    for repeat in (1, 3, 10):
        ticks += [mark.tick for mark in sut.do(Query((0,), repeat=repeat)).marks]
        ticks += [mark.tick for mark in sut.do(Idle(0.003)).marks]
        ticks += [mark.tick for mark in sut.do(Sync()).marks]
    last_ns = origin_ns + ticks[-1] * NS_PER_TICK
    while context.world.horizon_ns() < last_ns + 200_000:
        sut.do(Idle(0.005))
    pin_ns = [fall - origin_ns for fall in falls_ns(context)][: len(ticks)]
    assert len(ticks) == 3 * (3 + 2 + 8)
    off_ns = [
        tick * NS_PER_TICK - fall for tick, fall in zip(ticks, pin_ns, strict=True)
    ]
    assert all(abs(each) < NS_PER_TICK for each in off_ns), off_ns
    # The counter's steps are anywhere between the two: not all of them agree.
    assert max(off_ns) - min(off_ns) > 300
    states = context.world.states()
    lows_us = [
        (rise.time_ns - fall.time_ns) / 1000
        for fall, rise in level_changes(states)
        if not fall.level
    ][: len(ticks)]
    # An interrupt raises it: late, and never early.
    assert hold_us <= min(lows_us)
    assert max(lows_us) < hold_us + 15


def level_changes(states: tuple) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Return neighbours among the states that begin a level."""
    first = [states[0]]
    for state in states[1:]:
        if state.level != first[-1].level:
            first.append(state)
    return pairwise(first)


def test_the_same_work_takes_the_same_time_and_answers(
    start: Callable[..., Opened],
) -> None:
    sample = bytes(range(1, 97))
    spans = set()
    for _ in range(2):
        sut, _ = start(pico("null"))
        info = sut.info
        assert (info.kind, info.name, info.simulated) == ("rp2040js", "pico", True)
        assert info.details["emulator"].startswith("rp2040js 1.")
        sut.do(Load(0), [sample])
        for _ in range(3):
            done = sut.do(Query((0,), repeat=200))
            assert done.output == sample[:64]
            spans.add(done.marks[-1].tick - done.marks[0].tick)
    assert min(spans) > 500
    assert max(spans) - min(spans) <= 1


def test_a_trial_of_the_null_workload_is_valid(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    need_rp2040js(monkeypatch)
    program = f"sut.rp2040js.program={pico('null')}"
    path = ROOT / "benches" / "pico-null.toml"
    findings = {each.name: each for each in probe(path, [program])}
    assert [name for name, each in findings.items() if each.ok is False] == []
    assert findings["SYNC wire"].detail == (
        "8 marks of the device, 8 edges at the monitor"
    )
    with open_bench(path, [program]) as bench:
        result = bench.run(1, tmp_path)
    assert result.content["problems"] == []
    assert check(result.folder).ok


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda elf: elf[:4096] + b"\xff" + elf[4097:], "the boot ROM finds no image"),
        (lambda elf: moved(elf, 0x2000_0000), "which is no flash"),
    ],
)
def test_an_image_that_a_pico_would_not_start_is_refused(
    start: Callable[..., Opened],
    tmp_path: Path,
    spoil: Callable[[bytes], bytes],
    said: str,
) -> None:
    wrong = tmp_path / "wrong.elf"
    wrong.write_bytes(spoil(pico("null").read_bytes()))
    with pytest.raises(BenchError) as caught:
        start(wrong)
    assert said in str(caught.value)


def moved(elf: bytes, address: int) -> bytes:
    """Return an image whose first segment is stored at another address."""
    table = struct.unpack_from("<I", elf, 28)[0]
    return elf[: table + 12] + struct.pack("<I", address) + elf[table + 16 :]


def test_the_second_stage_has_the_check_that_the_boot_rom_wants(tmp_path: Path) -> None:
    """CRC-32 of polynomial 0x04C11DB7, from all ones, not reflected: RP2040 datasheet,
    2.8.1.3.1; as a polynomial division, not as the emulator's bridge does it.
    """
    stage = tmp_path / "boot"
    command = ["arm-none-eabi-objcopy", "-O", "binary", "-j", ".boot"]
    captured([*command, pico("null"), stage], check=True)
    content = stage.read_bytes()[:256]
    value = int.from_bytes(content[:252]) << 32
    length = 252 * 8 + 32
    value ^= 0xFFFF_FFFF << (length - 32)
    for shift in range(length - 33, -1, -1):
        if value >> (shift + 32) & 1:
            value ^= 0x1_04C1_1DB7 << shift
    assert struct.unpack("<I", content[252:])[0] == value


def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = BenchContext()
    context.world.supply_on = True
    image = tmp_path / "x.elf"
    image.write_bytes(b"\x7fELF")
    settings = Rp2040jsSut.Settings(program=str(image), emulator="no-such-node")
    with pytest.raises(DeviceNotFound, match="no-such-node is not installed"):
        Rp2040jsSut.open(settings, context)
    with pytest.raises(ConfigError, match="a program is needed"):
        Rp2040jsSut.open(Rp2040jsSut.Settings(program=""), context)
    with pytest.raises(ConfigError, match="in the text layer"):
        typed(Rp2040jsSut.Settings, {"program": "x", "layer": "text"}, "sut.rp2040js")
    if shutil.which("node") is None:
        pytest.skip("node is missing (Debian: apt-get install nodejs npm)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NODE_PATH", str(tmp_path))
    with pytest.raises(BenchError) as caught:
        Rp2040jsSut.open(Rp2040jsSut.Settings(program=str(image)), context)
    assert "npm install rp2040js@1.4.1" in str(caught.value)


def test_the_version_that_is_fetched_is_the_one_that_is_named() -> None:
    lock = json.loads((ROOT / "tools/node/package-lock.json").read_text("utf-8"))
    package = lock["packages"]["node_modules/rp2040js"]
    assert package["integrity"].startswith("sha512-") and "resolved" not in package
    for path in ("rig/firmware/rp2040js.cjs", "docs/how-to/EMULATION.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"rp2040js@{package['version']}" in text


def bench_of(folder: Path, **settings: object) -> Path:
    """Write a bench of a Pico with the virtual monitor."""
    lines = "".join(f"{name} = {json.dumps(each)}\n" for name, each in settings.items())
    path = folder / "bench.toml"
    path.write_text(
        f"[sut.rp2040js]\n{lines}[monitor.virtual]\n"
        "[scenario.single_stream]\n[task.null]\n"
    )
    return path


@pytest.mark.parametrize("fed", [True, False])
def test_a_pico_that_answers_without_its_supply_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fed: bool
) -> None:
    need_rp2040js(monkeypatch)
    path = bench_of(tmp_path, program=str(pico("null")), fed_by_uart=fed)
    rows = {row.name: row for row in probe(path)}
    found = rows["supply off, UART"]
    assert found.ok is (not fed)
    if fed:
        assert "pico answers without its supply" in found.detail


def test_the_package_may_lie_beside_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_rp2040js(monkeypatch)
    monkeypatch.delenv("NODE_PATH")
    monkeypatch.chdir(tmp_path)
    image = tmp_path / "project" / "build" / "pico" / "null.elf"
    image.parent.mkdir(parents=True)
    shutil.copy(pico("null"), image)
    settings = Rp2040jsSut.Settings(program=str(image))
    context = BenchContext(seed=1)
    context.world.supply_on = True
    with pytest.raises(BenchError, match="does not start the emulator") as caught:
        Rp2040jsSut.open(settings, context)
    assert caught.value.evidence.endswith("Cannot find module 'rp2040js'")
    assert "npm install rp2040js" in caught.value.try_next
    (tmp_path / "project" / "node_modules").symlink_to(NODE_MODULES)
    sut = Rp2040jsSut.open(settings, context)
    assert sut.info.details["emulator"].startswith("rp2040js 1.")
    sut.close()
    _, package, _ = Rp2040jsSut.needs(settings, context)
    (row,) = program_rows([package])
    assert row.state is RowState.OK and row.detail.startswith("rp2040js 1.")


def test_an_image_that_was_cut_off_is_named(
    tmp_path: Path, start: Callable[..., Opened]
) -> None:
    image = tmp_path / "cut.elf"
    image.write_bytes(pico("null").read_bytes()[:60])
    with pytest.raises(DeviceLost) as caught:
        start(image)
    evidence = caught.value.evidence
    assert "cut.elf is no whole ELF file" in evidence and "at Function" not in evidence
    assert "a program built for this board" in caught.value.try_next
