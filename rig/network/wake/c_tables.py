# SPDX-License-Identifier: Apache-2.0
"""Print firmware/workloads/sww/nr_sww_tables.h: the constants of the features.

python -m rig.network.wake.c_tables > firmware/workloads/sww/nr_sww_tables.h
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rig.network.c_arrays import numbers
from rig.network.wake.features import bands, cosines

_HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Made by `python -m rig.network.wake.c_tables`; features.py beside it has the
   formulas. Cosines of the first quarter in units of 2^-30; of each mel band its
   first line of the spectrum, the number of its lines, and their weights in units of
   2^-15. */
#ifndef NR_SWW_TABLES_H
#define NR_SWW_TABLES_H

#include <stdint.h>
"""
_TAIL = "#endif\n"


def text() -> str:
    """Return the header."""
    return "\n".join((_HEAD, *_arrays(), "", _TAIL))


def _arrays() -> Iterator[str]:
    filters = bands()
    yield from numbers("int32_t", "nr_sww_cosines", cosines().tolist())
    yield from numbers("uint16_t", "nr_sww_starts", filters.starts)
    yield from numbers("uint16_t", "nr_sww_lengths", filters.lengths)
    yield from numbers("uint16_t", "nr_sww_weights", filters.weights.tolist())


if __name__ == "__main__":
    sys.stdout.write(text())
