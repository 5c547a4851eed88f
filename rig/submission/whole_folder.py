# SPDX-License-Identifier: Apache-2.0
"""A folder that is whole, or not there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.errors import ConfigError, storage_error
from rig.store.session_folder import PARTIAL_SUFFIX


@contextmanager
def new_folder(to: Path) -> Iterator[Path]:
    """Yield a folder that gets its name once it is whole; raise ConfigError where it is
    there.
    """
    if to.exists():
        raise ConfigError(
            f"{to} is there already", path="--to", try_next="a folder that is not"
        )
    partial = to.with_name(to.name + PARTIAL_SUFFIX)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        partial.rename(to)
    except OSError as error:
        raise storage_error(error, to) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def copy(path: Path, to: Path) -> None:
    """Copy a file into a folder, which need not be there."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)
