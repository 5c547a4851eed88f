# SPDX-License-Identifier: Apache-2.0
"""Signature of a session: a detached signature of events.jsonl, whose chain stands for
every other file.

Made by `ssh-keygen -Y sign -n neurorig -f KEY SESSION/events.jsonl`, with any key that
SSH knows. Trusted signers stand in a file of allowed signers (`ssh-keygen(1)`, ALLOWED
SIGNERS): a line `NAME KEYTYPE KEY` each.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from rig.errors import ConfigError
from rig.files import foreign_files
from rig.model.finding import Finding
from rig.store import inventory
from rig.store.session_folder import EVENTS, SIGNATURE

NAMESPACE = "neurorig"
_PROGRAM = "ssh-keygen"
_LIMIT_S = 20.0


def unverified(session: Path) -> list[Finding]:
    """Return the finding on a signature that was not verified; empty where there is
    none.
    """
    said = (
        "is a signature, not verified: rig check --signers FILE, with the keys that you"
        " trust"
    )
    return (
        [Finding(SIGNATURE, True, said)]
        if SIGNATURE in inventory.files(session)
        else []
    )


def verified(session: Path, signers: Path) -> Finding:
    """Check whether one of the allowed signers signed a session as it is; raise
    ConfigError where that cannot be found out.
    """
    if not signers.is_file():
        raise ConfigError(
            f"{signers} is no file",
            path="--signers",
            try_next="a line for each signer: NAME KEYTYPE KEY",
        )
    if SIGNATURE not in inventory.files(session):
        made = f"{_PROGRAM} -Y sign -n {NAMESPACE} -f KEY {session / EVENTS}"
        return Finding(
            SIGNATURE, False, f"is missing: nobody signed this session ({made} does)"
        )
    signature = foreign_files.checked(session / SIGNATURE, session)
    content = foreign_files.read_bytes(session / EVENTS, session)
    found = _run(["find-principals", "-s", signature, "-f", str(signers)], b"")
    names = found.stdout.decode(errors="replace").split("\n")
    if found.returncode or not names[0]:
        return Finding(SIGNATURE, False, f"is of nobody whom {signers} names")
    how = ["-n", NAMESPACE, "-s", signature, "-f", str(signers), "-I", names[0]]
    done = _run(["verify", *how], content)
    if done.returncode:
        said = (
            (done.stderr or done.stdout)
            .decode(errors="replace")
            .strip()
            .split("\n")[-1]
        )
        return Finding(SIGNATURE, False, f"is not of {EVENTS} as it is: {said[:200]}")
    return Finding(SIGNATURE, True, f"signed by {names[0]}")


def _run(words: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [_PROGRAM, "-Y", *words]
    try:
        return subprocess.run(
            command, input=content, capture_output=True, check=False, timeout=_LIMIT_S
        )
    except FileNotFoundError as error:
        hint = "OpenSSH 8.2 or newer, which brings it"
        raise ConfigError(
            f"{_PROGRAM} is not installed", path="--signers", try_next=hint
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(
            f"{_PROGRAM} was not done after {_LIMIT_S:.0f} s", path="--signers"
        ) from error
