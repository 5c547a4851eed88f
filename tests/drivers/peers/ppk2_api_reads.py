# SPDX-License-Identifier: Apache-2.0
"""ppk2-api measures with a PPK2 in source mode; an environment of its own has it."""

from __future__ import annotations

import json
import sys
import time

from ppk2_api.ppk2_api import PPK2_API

SAMPLES = 120_000
LIMIT_S = 30.0

ppk2 = PPK2_API(sys.argv[1], timeout=1, write_timeout=1, exclusive=True)
assert ppk2.get_modifiers(), "no metadata"
ppk2.use_source_meter()
ppk2.set_source_voltage(3300)
ppk2.toggle_DUT_power("ON")
ppk2.start_measuring()
raw = bytearray()
currents_ua: list[float] = []
lines: list[int] = []
block = b""
end_s = time.monotonic() + LIMIT_S
while len(currents_ua) < SAMPLES and time.monotonic() < end_s:
    block += ppk2.get_data()
    # It counts a first piece of less than a word as one.
    if len(block) >= 4:
        raw += block
        more_ua, more_lines = ppk2.get_samples(block)
        currents_ua += more_ua
        lines += more_lines
        block = b""
ppk2.stop_measuring()
ppk2.toggle_DUT_power("OFF")
time.sleep(0.5)  # the instrument hears it before the port is closed
told = {"raw": raw.hex(), "currents_ua": currents_ua, "lines": lines}
print(json.dumps({**told, "modifiers": ppk2.modifiers}))
