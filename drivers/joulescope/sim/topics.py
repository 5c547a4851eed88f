# SPDX-License-Identifier: Apache-2.0
"""The settings of the simulated Joulescopes: each topic's options, by number and names,
and what an instrument has of itself.
"""

from __future__ import annotations

from typing import Any

Options = list[list[Any]]
_ON_OFF: Options = [[0, "off"], [1, "on"]]
_UNITS = {1_000_000: "MHz", 1_000: "kHz", 1: "Hz"}
_FACTORS = (500, 200, 100, 50, 20, 10, 5, 2, 1)


def _rates() -> Options:
    """Return the sampling rates up to 2 MHz, fastest first."""
    rates: Options = []
    for unit, name in _UNITS.items():
        wanted = [factor for factor in _FACTORS if factor * unit <= 2_000_000]
        rates += [[factor * unit, f"{factor} {name}"] for factor in wanted]
    return rates


_RATES = _rates()
#: The numbers of the JS220's modes are in its firmware only; 0 for off has been seen,
#: the others are assumed.
_MODES: Options = [[0, "off"], [1, "auto"], [2, "manual"]]
#: Any number: samples of 1 MHz of a JS220, of 2 MHz of a JS110.
_ANY: Options = []
_CTRLS = ("s/i", "s/v", "s/p", "s/i/range", "s/stats", "s/gpi/0", "s/gpi/1")

JS220: dict[str, tuple[Options, int | None]] = {
    **{
        f"{name}/ctrl": (_ON_OFF, 0)
        for name in (*_CTRLS, "s/gpi/2", "s/gpi/3", "s/gpi/7")
    },
    "s/stats/scnt": (_ANY, 100_000),
    "h/fs": (_RATES, None),
    "h/fp": ([row for row in _RATES if row[0] <= 10_000], None),
    "h/filter": ([[0, "wideband"], [1, "sinc1"]], None),
    "s/dwn2/mode": ([[0, "wideband"], [1, "sinc1"]], 0),
    "s/gpi/+/dwnN/mode": (
        [[0, "off"], [1, "toggle"], [2, "first"], [3, "majority"]],
        0,
    ),
    "c/gpio/vref": ([[0, "external"], [1, "3v3"]], 0),
    "c/trigger/dir": ([[0, "input"], [1, "output"]], 0),
    "s/i/range/mode": (_MODES, 0),
    "s/i/range/select": (
        [
            [129, "10 A"],
            [130, "180 mA"],
            [132, "18 mA"],
            [136, "1.8 mA"],
            [144, "180 µA"],
            [160, "18 µA"],
        ],
        129,
    ),
    "s/i/range/min": ([[number] for number in range(6)], 0),
    "s/i/range/max": ([[number] for number in range(6)], 5),
    "s/v/range/mode": (_MODES[1:], 1),
    "s/v/range/select": ([[0, "15 V"], [1, "2 V"]], 0),
}
#: Of a JS320, whose firmware has the numbers: 4 and 5 for the current, and 1 for a
#: fixed range of the voltage, are in the maker's sources (example/minibitty/stream.c
#: and js320_cal.c of joulescope_driver); that for off, which the maker's UI sends by
#: its name, and 0 for the voltage are assumed.
_CURRENT_MODES: Options = [[0, "off"], [4, "auto"], [5, "manual"]]
_VOLTAGE_MODES: Options = [[0, "auto"], [1, "manual"]]
_OF_JS220_ALONE = ("h/filter", "s/dwn2/mode")
JS320: dict[str, tuple[Options, int | None]] = {
    **{name: row for name, row in JS220.items() if name not in _OF_JS220_ALONE},
    "s/adc/0/ctrl": (_ON_OFF, 0),
    "s/adc/1/ctrl": (_ON_OFF, 0),
    # js320_fs_to_dwn_n refuses 2 MHz, which the metadata have.
    "h/fs": ([row for row in _RATES if row[0] <= 1_000_000], None),
    "s/i/range/mode": (_CURRENT_MODES, 0),
    "s/v/range/mode": (_VOLTAGE_MODES, 0),
    "s/i/range/predict": ([[number] for number in range(6)], 0),
    # Of an input, the first of 8 or of 16 samples: no other is simulated.
    "s/gpi/+/dwnN/mode": ([[2, "first"]], 2),
    "s/gpi/+/dwnN/N": ([[8], [16]], 16),
}
JS110: dict[str, tuple[Options, int | None]] = {
    **{f"{name}/ctrl": (_ON_OFF, 0) for name in _CTRLS},
    "s/sstats/ctrl": (_ON_OFF, 1),
    "s/stats/scnt": (_ANY, 1_000_000),
    "h/fs": (_RATES, 2_000_000),
    "s/i/range/select": (
        [
            [128, "auto"],
            [1, "10 A"],
            [2, "2 A"],
            [4, "180 mA"],
            [8, "18 mA"],
            [16, "1.8 mA"],
            [32, "180 µA"],
            [64, "18 µA"],
            [0, "off"],
        ],
        0,
    ),
    "s/v/range/select": ([[0, "15 V"], [1, "5 V"]], 0),
    "s/extio/voltage": (
        [
            [0, "0V", "off"],
            *(
                [mv, f"{mv / 1000:.1f}V"]
                for mv in (1800, 2100, 2500, 2700, 3000, 3300, 3600, 5000)
            ),
        ],
        3300,
    ),
    "s/i/lsb_src": ([[0, "normal"], [2, "gpi0"], [3, "gpi1"]], 0),
    "s/v/lsb_src": ([[0, "normal"], [2, "gpi0"], [3, "gpi1"]], 0),
    "s/i/range/mode": (
        [[0, "off"], [1, "mean"], [2, "interp", "interpolate"], [3, "nan"]],
        2,
    ),
    "s/i/range/pre": ([[number] for number in range(9)], 1),
    "s/i/range/win": ([[0, "manual"], [1, "m"], [2, "n"]], 2),
    "s/i/range/win_sz": ([[number] for number in range(32)], 10),
    "s/i/range/post": ([[number] for number in range(9)], 1),
}


def metadata(model: str, options: Options) -> dict[str, Any]:
    """Return the metadata of a setting. A JS110's host driver states no options of
    switches and of plain numbers."""
    if model == "js110" and options is _ON_OFF:
        return {"dtype": "bool"}
    if not options or (model == "js110" and all(len(row) == 1 for row in options)):
        return {"dtype": "u32"}
    return {"dtype": "u32", "options": options}
