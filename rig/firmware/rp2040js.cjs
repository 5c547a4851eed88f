// SPDX-License-Identifier: Apache-2.0
// A Raspberry Pi Pico in rp2040js (https://github.com/wokwi/rp2040js), with as many of QEMU's
// options as the rig gives: `node rp2040js.cjs -M pico -kernel IMAGE -chardev socket,id=line,fd=3
// -serial chardev:line`; a second -serial is the wire that tells what the SYNC pin does:
//     L ns level running   from `ns` on SYNC is at `level`, and the processor runs (1) or sleeps
//     T ns                 everything before `ns` was told
// Numbers are hexadecimal, of emulated nanoseconds. A sleep of less than 0.5 ms counts as running.
// While the processor runs, its time is its own; while it sleeps, it is the wall's.
'use strict';
const fs = require('fs');
const net = require('net');
const path = require('path');

const BOARDS = { pico: { uart: 0, sync: 2 } };
const FLASH = 0x10000000;
const BOOT = 0x20041f00; // where the boot ROM puts the first 256 bytes of the flash
const BOOT_B = 256;
const FIFO_B = 32;
const SLICE_NS = 2e6; // so long, in emulated time, the sockets wait at most
const BEAT_NS = 5e6;
const SHORT_SLEEP_NS = 5e5;
const BEHIND_NS = 5e7; // a computer so far behind does not catch up
const BITS_A_BYTE = 10;
const TX_FULL = 1 << 5;
const BUSY = 1 << 3;

function fail(text) {
  fs.writeSync(2, text + '\n');
  process.exit(1);
}

function options(words) {
  const found = { chardev: {}, serial: [] };
  for (let i = 0; i < words.length; i += 2) {
    const [name, value] = [words[i].replace(/^-+/, ''), words[i + 1]];
    if (name === 'chardev') {
      const parts = Object.fromEntries(value.split(',').map((part) => part.split('=')));
      found.chardev[parts.id] = parts;
    } else if (name === 'serial') {
      found.serial.push(value.replace('chardev:', ''));
    } else {
      found[name] = value;
    }
  }
  return found;
}

function library(image) {
  const beside = image ? [path.dirname(path.resolve(image))] : [];
  const shared = path.join(path.dirname(process.execPath), '..', 'lib', 'node_modules');
  try {
    const main = require.resolve('rp2040js', { paths: [process.cwd(), ...beside, shared] });
    const about = JSON.parse(fs.readFileSync(path.join(main, '../../../package.json'), 'utf8'));
    return { ...require(main), version: about.version };
  } catch (error) {
    const why = error.message.split('\n')[0]; // the rest lists who asked for it
    return fail(`rp2040js is not installed (npm install rp2040js@1.4.1): ${why}`);
  }
}

// The segments of an ELF file, where they are stored, go into the flash.
function load(image, flash) {
  const elf = fs.readFileSync(image);
  const [table, size, count] = [elf.readUInt32LE(28), elf.readUInt16LE(42), elf.readUInt16LE(44)];
  for (let i = 0; i < count; i++) {
    const at = table + i * size;
    const [offset, place, length] = [4, 12, 16].map((field) => elf.readUInt32LE(at + field));
    if (elf.readUInt32LE(at) !== 1 || length === 0) continue;
    if (place < FLASH || place - FLASH + length > flash.length) {
      fail(`${image}: a part of it lies at 0x${place.toString(16)}, which is no flash`);
    }
    flash.set(elf.subarray(offset, offset + length), place - FLASH);
  }
}

function crc32Mpeg2(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x80000000 ? 0x04c11db7 : 0);
  }
  return crc >>> 0;
}

// As the boot ROM does (RP2040 datasheet, 2.8.1).
function boot(chip) {
  const stage = chip.flash.subarray(0, BOOT_B);
  const stored = chip.flashView.getUint32(BOOT_B - 4, true);
  const crc = crc32Mpeg2(stage.subarray(0, BOOT_B - 4));
  if (crc !== stored) {
    fail(`the boot ROM finds no image: CRC 0x${crc.toString(16)}, not 0x${stored.toString(16)}`);
  }
  chip.sram.set(stage, BOOT - 0x20000000);
  chip.core.PC = BOOT;
}

function channel(parts, onData) {
  const end = { socket: null, write: (data) => end.socket && end.socket.write(data) };
  const take = (socket) => {
    end.socket = socket.setNoDelay ? socket.setNoDelay(true) : socket;
    socket.on('data', onData);
    socket.on('error', () => {});
    socket.on('close', () => (parts.server === 'on' ? (end.socket = null) : process.exit(0)));
  };
  if (parts.server === 'on') net.createServer(take).listen({ fd: Number(parts.fd) });
  else take(new net.Socket({ fd: Number(parts.fd), readable: true, writable: true }));
  return end;
}

function emulate(wanted) {
  const board = BOARDS[wanted.M] || fail(`no board ${wanted.M}: ${Object.keys(BOARDS)}`);
  const { RP2040, GPIOPinState, ConsoleLogger, LogLevel } = library(wanted.kernel);
  const chip = new RP2040();
  const { clock, core } = chip;
  const uart = chip.uart[board.uart];
  chip.logger = new ConsoleLogger(LogLevel.Error, true);
  try {
    load(wanted.kernel, chip.flash);
  } catch (error) {
    fail(`${wanted.kernel} is no whole ELF file of 32 bits: ${error.message}`);
  }
  boot(chip);

  // ---- the line: bytes take their time, both ways ----
  const byteNs = () => (BITS_A_BYTE * 1e9) / uart.baudRate;
  const incoming = [];
  let [receiving, sentNs, outgoing] = [false, 0, []];
  const arrival = clock.createAlarm(() => {
    uart.feedByte(incoming.shift());
    receiving = incoming.length > 0;
    if (receiving) arrival.schedule(byteNs());
  });
  const line = channel(wanted.chardev[wanted.serial[0]], (data) => {
    pass(); // time goes on to the present before the first bit comes
    for (const byte of data) incoming.push(byte);
    if (!receiving) arrival.schedule(byteNs());
    receiving = true;
    go();
  });
  uart.onByte = (byte) => {
    sentNs = Math.max(sentNs, clock.nanos) + byteNs();
    outgoing.push(byte);
  };
  const plain = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(uart), 'flags').get;
  Object.defineProperty(uart, 'flags', {
    get() {
      const leftNs = sentNs - clock.nanos;
      const full = leftNs > FIFO_B * byteNs() ? TX_FULL : 0;
      return plain.call(uart) | full | (leftNs > 0 ? BUSY : 0);
    },
  });

  // ---- the wire ----
  const pin = chip.gpio[board.sync];
  let [told, toldNs, level, runs, asleepNs] = ['', 0, 1, 1, -1];
  const wire = wanted.serial[1] && channel(wanted.chardev[wanted.serial[1]], () => {});
  const tell = (nanos) => {
    told += `L ${Math.round(nanos).toString(16)} ${level} ${runs}\n`;
  };
  const sleeps = () => {
    if (asleepNs < 0) asleepNs = clock.nanos;
  };
  const wakes = () => {
    if (asleepNs >= 0 && clock.nanos - asleepNs >= SHORT_SLEEP_NS) {
      runs = 0;
      tell(asleepNs);
      runs = 1;
      tell(clock.nanos);
    }
    asleepNs = -1;
  };
  pin.addListener((state) => {
    level = state === GPIOPinState.Low ? 0 : 1;
    pin.setInputValue(level === 1); // an output is read back, too
    tell(clock.nanos);
  });
  // Edges first: who has read an answer has all of them.
  const send = () => {
    const safeNs = asleepNs >= 0 ? asleepNs : clock.nanos;
    if (safeNs - toldNs >= BEAT_NS || told || outgoing.length) {
      toldNs = Math.max(toldNs, safeNs);
      if (wire) wire.write(`${told}T ${Math.floor(toldNs).toString(16)}\n`);
      told = '';
    }
    if (outgoing.length) line.write(Buffer.from(outgoing));
    outgoing = [];
  };

  // ---- time ----
  const wallNs = () => Number(process.hrtime.bigint());
  let [aheadNs, timer] = [-wallNs(), null];
  const presentNs = () => wallNs() + aheadNs;
  const awake = () => !core.waiting || (core.pendingInterrupts & core.enabledInterrupts) !== 0;
  // Lets a sleeping processor's time go on to the present, or to what wakes it.
  function pass() {
    while (!awake()) {
      const leftNs = presentNs() - clock.nanos;
      if (leftNs <= 0) return;
      clock.tick(clock.nextAlarm ? Math.min(leftNs, clock.nanosToNextAlarm) : leftNs);
    }
  }
  function compute() {
    const untilNs = clock.nanos + SLICE_NS;
    core.waiting = false;
    wakes();
    while (!core.waiting && clock.nanos < untilNs) {
      clock.tick((core.executeInstruction() * 1e9) / chip.clkSys);
    }
    const driftNs = clock.nanos - presentNs();
    if (driftNs > 0 || driftNs < -BEHIND_NS) aheadNs += driftNs;
  }
  function go() {
    clearTimeout(timer);
    clearImmediate(timer);
    pass();
    if (awake()) compute();
    if (core.waiting) sleeps();
    send();
    const restNs = clock.nextAlarm ? clock.nextAlarm.nanos - presentNs() : BEAT_NS;
    timer = awake() || restNs < 1e6 ? setImmediate(go) : setTimeout(go, restNs / 1e6);
  }
  go();
}

const wanted = options(process.argv.slice(2));
process.on('SIGTERM', () => process.exit(0));
if ('version' in wanted) {
  console.log(`rp2040js ${library(wanted.kernel).version}, node ${process.version}`);
  process.exit(0);
} else {
  emulate(wanted);
}
