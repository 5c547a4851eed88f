# SPDX-License-Identifier: Apache-2.0
"""Print a header of firmware/workloads/sound: the constants of spectra, or of features.

python -m rig.network.sound.c_tables mfcc > firmware/workloads/sound/nr_mfcc_tables.h

The other one is `spectrum`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rig.network.c_arrays import numbers
from rig.network.sound import mfcc
from rig.network.sound.mel import Bands
from rig.network.sound.spectrum import CIRCLE, quarter

_HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Made by `python -m rig.network.sound.c_tables {name}`; {name}.py beside it has
   the formulas. {about} */
#ifndef NR_{macro}_TABLES_H
#define NR_{macro}_TABLES_H

#include <stdint.h>
"""
_ABOUT = {
    "spectrum": (
        "Cosines of the first quarter of a circle of 1,024, in units of\n   2^-30."
    ),
    "mfcc": (
        "Cosines of the first quarter of a circle of 480, in units of 2^-30;\n"
        "   of each mel band its first line of the spectrum, the number of its lines,"
        " and their\n   weights in units of 2^-15."
    ),
}


def text(name: str) -> str:
    """Return a header."""
    head = _HEAD.format(name=name, macro=name.upper(), about=_ABOUT[name])
    arrays = _spectrum() if name == "spectrum" else _mfcc()
    return "\n".join((head, *arrays, "", "#endif\n"))


def band_arrays(prefix: str, bands: Bands) -> Iterator[str]:
    """Return the arrays of mel bands."""
    yield from numbers("uint16_t", f"{prefix}_starts", bands.starts)
    yield from numbers("uint16_t", f"{prefix}_lengths", bands.lengths)
    yield from numbers("uint16_t", f"{prefix}_weights", bands.weights.tolist())


def _spectrum() -> Iterator[str]:
    # Both sources that read them share them.
    table = numbers("int32_t", "nr_spectrum_cosines", quarter(CIRCLE).tolist())
    yield from (line.removeprefix("static ") for line in table)


def _mfcc() -> Iterator[str]:
    yield from numbers("int32_t", "nr_mfcc_cosines", quarter(mfcc.WINDOW).tolist())
    yield from band_arrays("nr_mfcc", mfcc.bands())


if __name__ == "__main__":
    sys.stdout.write(text(sys.argv[1]))
