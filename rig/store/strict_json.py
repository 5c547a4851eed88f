# SPDX-License-Identifier: Apache-2.0
"""JSON from an untrusted source: what two readers could take for two things, or what
exhausts one, is refused.
"""

from __future__ import annotations

import json
import math
from typing import Any


def parse(text: str) -> Any:
    """Return the content of a JSON text; raise ValueError for anything else.

    Also refused: NaN and infinities, duplicate keys, and nesting beyond Python's limit.
    """
    try:
        return json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once
        )
    except (RecursionError, MemoryError) as error:
        raise ValueError("it is nested too deeply, or too large") from error


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object that a text is; raise ValueError for anything else."""
    content = parse(text)
    if not isinstance(content, dict):
        raise ValueError(f"it is {type(content).__name__}, no object")
    return content


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is beyond all numbers")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found
