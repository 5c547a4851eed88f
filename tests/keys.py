# SPDX-License-Identifier: Apache-2.0
"""Keys of SSH that tests sign with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

needs_ssh = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"
)


def key(folder: Path, name: str) -> Path:
    """Make a key and a file that allows its owner to sign."""
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)],
        check=True,
    )
    (folder / f"{name}.signers").write_text(
        f"{name}@lab {path.with_suffix('.pub').read_text()}"
    )
    return path
