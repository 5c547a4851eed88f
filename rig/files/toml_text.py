# SPDX-License-Identifier: Apache-2.0
"""Values as a bench file states them."""

from __future__ import annotations

from typing import Any

import tomli_w


def of_value(value: Any) -> str:
    """Return a value in TOML, whose texts are not those of JSON: a character beyond the
    first plane, as in the name of a file, has no pair of escapes.
    """
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
