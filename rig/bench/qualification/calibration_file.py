# SPDX-License-Identifier: Apache-2.0
"""Write a calibration file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tomli_w

from rig.errors import ConfigError
from rig.files import typed
from rig.store.session_folder import write_text
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.calibration import HASH, TABLE, hash_of


def refuse_existing(path: Path) -> None:
    """Raise ConfigError where the file is there already."""
    if os.path.lexists(path):
        raise ConfigError(
            f"{path} is there already",
            path="--out",
            try_next="another file, or remove this one: sessions keep copies of it",
        )


def write(path: Path, accuracy: Accuracy) -> None:
    """Write limits of error with a calibration, whole or not at all, with the hash of
    their content. Raises ConfigError and BenchError.
    """
    refuse_existing(path)
    content: dict[str, Any] = typed.to_json(accuracy)
    # Its key comes last: all that follows a table's name in TOML belongs to it.
    table = content.pop(TABLE)
    table.pop(HASH)
    content[TABLE] = {**table, HASH: hash_of({**content, TABLE: table})}
    write_text(path, tomli_w.dumps(content))
