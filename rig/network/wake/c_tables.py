# SPDX-License-Identifier: Apache-2.0
"""Print firmware/workloads/sww/nr_sww_tables.h: the constants of the features.

python -m rig.network.wake.c_tables > firmware/workloads/sww/nr_sww_tables.h
"""

from __future__ import annotations

import sys

from rig.network.sound.c_tables import band_arrays
from rig.network.wake.features import bands

_HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Made by `python -m rig.network.wake.c_tables`; features.py beside it has the
   formulas. Of each mel band its first line of the spectrum, the number of its lines,
   and their weights in units of 2^-15. */
#ifndef NR_SWW_TABLES_H
#define NR_SWW_TABLES_H

#include <stdint.h>
"""
_TAIL = "#endif\n"


def text() -> str:
    """Return the header."""
    return "\n".join((_HEAD, *band_arrays("nr_sww", bands()), "", _TAIL))


if __name__ == "__main__":
    sys.stdout.write(text())
