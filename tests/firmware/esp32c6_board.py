# SPDX-License-Identifier: Apache-2.0
"""An ESP32-C6 whose processor is Unicorn's: its UART at a TCP port, the edges of its
SYNC pin in a file. An environment of its own has Unicorn.

    python esp32c6_board.py IMAGE.elf EDGES

The peripherals are those that the firmware uses, as the descriptions of espressif/esp-idf
(components/soc/esp32c6) have them; an access to any other address ends the program. The
first line of the output is the TCP port; each far end that goes adds a line with the
registers of clocks and watchdogs. A byte of the UART takes its time on the line; the far
end may send faster.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path

from unicorn import (
    UC_ARCH_RISCV,
    UC_HOOK_BLOCK,
    UC_HOOK_CODE,
    UC_MODE_RISCV32,
    Uc,
    riscv_const,
)

CPU_HZ = 40e6
COUNT_HZ = 16e6
CYCLES_A_COUNT = CPU_HZ / COUNT_HZ
SYNC_PIN = 18
PINS = 31
#: Sources of interrupts: soc/esp32c6/include/soc/interrupts.h.
UART0_SOURCE = 43
ALARM_SOURCES = (57, 58, 59)
#: soc_etm_source.h: the events of the alarms, and the tasks that set pins, a channel each.
ALARM_EVENTS = (50, 51, 52)
SET_TASKS = range(1, 9)
WATCHDOG_KEY = 0x50D83AA1
PAGE = 0x1000
WFI = 0x10500073
FIFO_B = 128
SLICE = 20_000


class RegisterBlock:
    """The registers of a peripheral, which keep the words that are written."""

    def __init__(self, **words: int) -> None:
        self.words = {int(name[1:], 16): word for name, word in words.items()}

    def read(self, at: int) -> int:
        return self.words.get(at, 0)

    def write(self, at: int, word: int) -> None:
        self.words[at] = word


class KeyedBlock(RegisterBlock):
    """Registers that take a word while another one, that of `keys`, holds the key."""

    def __init__(self, keys: dict[int, int], **words: int) -> None:
        super().__init__(**words)
        self.keys = keys

    def write(self, at: int, word: int) -> None:
        if at not in self.keys or self.words.get(self.keys[at]) == WATCHDOG_KEY:
            self.words[at] = word


class Systimer(RegisterBlock):
    """Unit 0 at 16 MHz, and alarms that fire once."""

    def __init__(self, board: Esp32c6) -> None:
        super().__init__(x0=1 << 30)
        self.board = board
        self.copy = 0
        self.targets = [0, 0, 0]
        self.armed = [False, False, False]
        self.raised = 0
        self.due_cycles = math.inf

    def read(self, at: int) -> int:
        if at == 0x40:
            return self.copy >> 32
        if at == 0x44:
            return self.copy & 0xFFFF_FFFF
        return 1 << 29 if at == 0x04 else super().read(at)

    def write(self, at: int, word: int) -> None:
        super().write(at, word)
        if at == 0x04 and word >> 30 & 1 and self.words[0] >> 30 & 1:
            self.copy = int(self.board.cycles / CYCLES_A_COUNT)
        elif at == 0x6C:
            self.raised &= ~word
        elif at in (0x50, 0x54, 0x58):
            number = (at - 0x50) // 4
            high = self.words.get(0x1C + 8 * number, 0)
            self.targets[number] = high << 32 | self.words.get(0x20 + 8 * number, 0)
        elif at == 0x00:
            self.armed = [bool(word >> (24 - number) & 1) for number in range(3)]
        self._look_ahead()

    def _look_ahead(self) -> None:
        targets = zip(self.targets, self.armed, strict=True)
        waiting = [target for target, is_armed in targets if is_armed]
        self.due_cycles = min(waiting, default=math.inf) * CYCLES_A_COUNT

    def tick(self) -> None:
        """Fire the alarms whose time has come."""
        for number, target in enumerate(self.targets):
            if self.armed[number] and target * CYCLES_A_COUNT <= self.board.cycles:
                self.armed[number] = False
                self.raised |= 1 << number
                if self.words[0] >> 1 & 1:
                    self.board.happen(ALARM_EVENTS[number], target)
        self._look_ahead()

    def sources(self) -> list[int]:
        enabled = self.raised & self.words.get(0x64, 0)
        return [s for bit, s in enumerate(ALARM_SOURCES) if enabled >> bit & 1]


class Uart0(RegisterBlock):
    """UART0; registers of another clock are valid after an update."""

    def __init__(self) -> None:
        super().__init__(x14=694, x20=0x1C, x24=0x6060)
        self.valid = dict(self.words)
        self.received: deque[int] = deque()
        self.sent = bytearray()
        self.raised = 0

    def read(self, at: int) -> int:
        if at == 0x00:
            return self.received.popleft() if self.received else 0
        if at == 0x04:
            return self.raised
        if at == 0x1C:
            return len(self.received)
        return 0 if at in (0x70, 0x98) else super().read(at)

    def write(self, at: int, word: int) -> None:
        super().write(at, word)
        if at == 0x00:
            self.sent.append(word & 0xFF)
        elif at == 0x10:
            self.raised &= ~word
            self._look()
        elif at == 0x98:
            self.valid = dict(self.words)

    def put(self, data: bytes) -> None:
        """Receive bytes."""
        self.received += data
        self._look()

    def _look(self) -> None:
        if len(self.received) >= max(self.words[0x24] & 0xFF, 1):
            self.raised |= 1
        if self.received and self.valid.get(0x64, 0) & 1:
            self.raised |= 1 << 8

    def sources(self) -> list[int]:
        return [UART0_SOURCE] if self.raised & self.words.get(0x0C, 0) else []

    def byte_cycles(self) -> float:
        """The time of a byte: start, 8 bits and stop, of a crystal's clocks each."""
        divider = self.valid[0x14]
        return 10 * ((divider & 0xFFF) + (divider >> 20 & 15) / 16)


class GpioMatrix(RegisterBlock):
    """Output registers, and the pins that the pads let out and in."""

    def __init__(self, board: Esp32c6) -> None:
        super().__init__()
        self.board = board
        self.out = 0

    def drive(self, out: int, at_ns: float) -> None:
        """Change the output register, and with it pins that are outputs."""
        changed = self.out ^ out
        self.out = out
        if (
            changed >> SYNC_PIN & 1
            and self.seen() >> SYNC_PIN & 1 == out >> SYNC_PIN & 1
        ):
            self.board.edges.write(f"{out >> SYNC_PIN & 1} {at_ns:.1f}\n")

    def seen(self) -> int:
        """The levels of pins that are a GPIO's output, and are read back."""
        levels = 0
        for pin in range(PINS):
            pad = self.board.pads.read(4 + 4 * pin)
            is_gpio = pad >> 12 & 7 == 1 and pad >> 9 & 1 == 1
            is_out = self.read(0x20) >> pin & 1 == 1
            if is_gpio and is_out and self.read(0x554 + 4 * pin) & 0xFF == 128:
                levels |= self.out & 1 << pin
        return levels

    def read(self, at: int) -> int:
        return self.seen() if at == 0x3C else super().read(at)

    def write(self, at: int, word: int) -> None:
        now_ns = self.board.now_ns()
        if at == 0x08:
            self.drive(self.out | word, now_ns)
        elif at == 0x0C:
            self.drive(self.out & ~word, now_ns)
        elif at == 0x24:
            self.words[0x20] = self.read(0x20) | word
        else:
            super().write(at, word)

    def obey(self, channel: int, at_ns: float) -> None:
        """Set the pins that obey the tasks of a channel (gpio_ext_reg.h)."""
        out = self.out
        for pin in range(PINS):
            field = self.read(0xF00 + 0xA0 + pin // 4 * 4) >> pin % 4 * 8 & 15
            if field == channel << 1 | 1:
                out |= 1 << pin
        self.drive(out, at_ns)


class Esp32c6:
    """The processor, its peripherals, and the time, in its cycles."""

    def __init__(self, image: Path, edges: Path) -> None:
        self.cycles = 0.0
        self.edges = edges.open("w", encoding="ascii", buffering=1)
        self.uart = Uart0()
        self.timer = Systimer(self)
        self.gpio = GpioMatrix(self)
        self.pads, self.matrix, self.plic, self.etm = (
            RegisterBlock(),
            RegisterBlock(),
            RegisterBlock(),
            RegisterBlock(),
        )
        # As a boot from flash leaves them, with the processor at 80 MHz of the PLL.
        self.clocks = RegisterBlock(x110=1 << 16, x118=0x103, x11C=0x303, x120=0x101)
        self.timer_group = KeyedBlock({0x48: 0x64}, x48=1 << 14, x64=WATCHDOG_KEY)
        self.low_power = KeyedBlock({0xC00: 0xC18, 0xC1C: 0xC20}, xC00=1 << 12)
        self.blocks: dict[int, RegisterBlock] = {
            0x2000_1000: self.plic,
            0x6000_0000: self.uart,
            0x6000_8000: self.timer_group,
            0x6000_A000: self.timer,
            0x6001_0000: self.matrix,
            0x6001_3000: self.etm,
            0x6009_0000: self.pads,
            0x6009_1000: self.gpio,
            0x6009_6000: self.clocks,
            0x600B_1000: self.low_power,
        }
        self.is_asleep = False
        self.free_cycles = 0.0
        self.waiting = bytearray()
        self.uc = Uc(UC_ARCH_RISCV, UC_MODE_RISCV32)
        self.uc.mem_map(0x4080_0000, 512 << 10)
        for base in self.blocks:
            hooks = (self._read, base, self._write, base)
            self.uc.mmio_map(base, PAGE, *hooks)
        self.uc.hook_add(UC_HOOK_BLOCK, self._block)
        self._load(image.read_bytes())

    def _load(self, elf: bytes) -> None:
        """Put the segments in place, and jump, as the boot ROM."""
        entry, at = struct.unpack_from("<2I", elf, 24)
        size, count = struct.unpack_from("<2H", elf, 42)
        for number in range(count):
            header = struct.unpack_from("<8I", elf, at + number * size)
            kind, offset, _, address, length_b = header[:5]
            if kind == 1:
                self.uc.mem_write(address, elf[offset : offset + length_b])
                self._hook_sleep(elf[offset : offset + length_b], address)
        self._set("PC", entry)

    def _hook_sleep(self, code: bytes, address: int) -> None:
        """Unicorn's own wfi would stop it for good."""
        instruction = WFI.to_bytes(4, "little")
        found = code.find(instruction)
        while found >= 0:
            place = address + found
            self.uc.hook_add(UC_HOOK_CODE, self._sleep, begin=place, end=place)
            found = code.find(instruction, found + 2)

    def now_ns(self) -> float:
        return self.cycles / CPU_HZ * 1e9

    def happen(self, event: int, count: int) -> None:
        """Carry an event to the tasks of its channels (soc_etm_reg.h)."""
        for channel in range(32):
            is_on = self.etm.read(0x04) >> channel & 1
            task = self.etm.read(0x1C + 8 * channel)
            if is_on and self.etm.read(0x18 + 8 * channel) == event:
                self.gpio.obey(SET_TASKS.index(task), count / COUNT_HZ * 1e9)

    # ---- called by Unicorn ----

    def _read(self, _uc: Uc, at: int, _size: int, base: int) -> int:
        self.cycles += 2
        return self.blocks[base].read(at) & 0xFFFF_FFFF

    def _write(self, _uc: Uc, at: int, _size: int, word: int, base: int) -> None:
        self.cycles += 2
        self.blocks[base].write(at, word)

    def _block(self, uc: Uc, _at: int, size_b: int, _data: object) -> None:
        self.cycles += size_b // 3 or 1  # instructions of 2 or 4 bytes, a cycle each
        if self.cycles >= self.timer.due_cycles:
            self.timer.tick()
        if (self.timer.raised or self.uart.raised) and self._takes() and self._line():
            uc.emu_stop()

    def _sleep(self, uc: Uc, at: int, _size_b: int, _data: object) -> None:
        self.is_asleep = True
        self._set("PC", at + 4)
        uc.emu_stop()

    # ---- interrupts ----

    def _get(self, register: str) -> int:
        return int(self.uc.reg_read(getattr(riscv_const, f"UC_RISCV_REG_{register}")))

    def _set(self, register: str, value: int) -> None:
        self.uc.reg_write(getattr(riscv_const, f"UC_RISCV_REG_{register}"), value)

    def _takes(self) -> bool:
        return bool(self._get("MSTATUS") & 8)

    def _line(self) -> int:
        """The processor's line of an interrupt that is due and enabled; 0 for none."""
        enabled = self.plic.read(0x00) & self._get("MIE")
        for source in (*self.timer.sources(), *self.uart.sources()):
            line = self.matrix.read(4 * source)
            priority = self.plic.read(0x10 + 4 * line)
            if enabled >> line & 1 and priority >= max(self.plic.read(0x90), 1):
                return line
        return 0

    def _trap(self) -> None:
        line = self._line()
        if not line or not self._takes():
            return
        self._set("MEPC", self._get("PC"))
        self._set("MCAUSE", 1 << 31 | line)
        status = self._get("MSTATUS")
        self._set("MSTATUS", status & ~8 | 1 << 7 | 3 << 11)
        table = self._get("MTVEC")
        assert table & 0xFF == 1, "a table of jumps, aligned to 256 bytes"
        self._set("PC", table - 1 + 4 * line)

    # ---- running ----

    def serve(self, line: socket.socket) -> None:
        """Run until the far end has gone."""
        line.setblocking(False)
        with line, suppress(ConnectionError):
            while self._step(line):
                pass

    def _step(self, line: socket.socket) -> bool:
        self.is_asleep = False
        self.uc.emu_start(self._get("PC"), 0, count=SLICE)
        if self.uart.sent:
            line.setblocking(True)
            line.sendall(self.uart.sent)
            line.setblocking(False)
            self.cycles += len(self.uart.sent) * self.uart.byte_cycles()
            self.uart.sent.clear()
        with suppress(BlockingIOError):
            data = line.recv(4096)
            if not data:
                return False
            self.waiting += data
        if self.waiting and self.cycles >= self.free_cycles:
            self._receive()
        if self.is_asleep and not self._line():
            self._skip()
        self.timer.tick()
        self._trap()
        return True

    def _receive(self) -> None:
        """Receive as much as the FIFO takes: byte for byte a sample takes minutes."""
        room_b = FIFO_B - len(self.uart.received)
        data = bytes(self.waiting[:room_b])
        del self.waiting[:room_b]
        self.uart.put(data)
        self.free_cycles = self.cycles + len(data) * self.uart.byte_cycles()

    def _skip(self) -> None:
        """Go on to the end of the sleep: an alarm, or more bytes."""
        ends = [self.timer.due_cycles, self.free_cycles if self.waiting else math.inf]
        if math.isfinite(min(ends)):
            self.cycles = max(self.cycles, min(ends))

    def registers(self) -> dict[str, list[int]]:
        clocks = [self.clocks.read(at) for at in (0x110, 0x118, 0x11C, 0x120)]
        low_power = [self.low_power.read(at) for at in (0xC00, 0xC1C)]
        watchdogs = [self.timer_group.read(0x48), *low_power]
        return {"clocks": clocks, "watchdogs": watchdogs}


def main() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    board = Esp32c6(Path(sys.argv[1]), Path(sys.argv[2]))
    print(server.getsockname()[1], flush=True)
    while True:
        line, _ = server.accept()
        board.serve(line)
        print(json.dumps(board.registers()), flush=True)


main()
