# SPDX-License-Identifier: Apache-2.0
"""Signature of a session: a detached signature of events.jsonl, whose chain stands for
every other file; of a submission and of a release, of the file that has the hash of
every other one.

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
#: Suffix of the file with the signature of another one.
SUFFIX = ".sig"
_PROGRAM = "ssh-keygen"
_LIMIT_S = 20.0
#: A key may ask for its passphrase, or for a touch.
_SIGN_S = 120.0


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


def verified(folder: Path, signers: Path, name: str = EVENTS) -> Finding:
    """Check whether one of the allowed signers signed a file of a folder as it is: by
    default a session's events.jsonl. Raises ConfigError where that cannot be found out.
    """
    signature_name = name + SUFFIX
    if not signers.is_file():
        raise ConfigError(
            f"{signers} is no file",
            path="--signers",
            try_next="a line for each signer: NAME KEYTYPE KEY",
        )
    if signature_name not in inventory.files(folder):
        made = f"{_PROGRAM} -Y sign -n {NAMESPACE} -f KEY {folder / name}"
        what = "session" if name == EVENTS else "folder"
        return Finding(
            signature_name,
            False,
            f"is missing: this {what} is not signed ({made} does it)",
        )
    signature = foreign_files.checked(folder / signature_name, folder)
    content = foreign_files.read_bytes(folder / name, folder)
    found = _run(["find-principals", "-s", signature, "-f", str(signers)], b"")
    names = found.stdout.decode(errors="replace").split("\n")
    if found.returncode or not names[0]:
        return Finding(signature_name, False, f"is by no signer of {signers}")
    how = ["-n", NAMESPACE, "-s", signature, "-f", str(signers), "-I", names[0]]
    done = _run(["verify", *how], content)
    if done.returncode:
        output = (done.stderr or done.stdout).decode(errors="replace")
        reason = output.strip().split("\n")[-1]
        detail = f"is not of {name} as it is: {reason[:200]}"
        return Finding(signature_name, False, detail)
    return Finding(signature_name, True, f"signed by {names[0]}")


def made(
    content: bytes, key: Path, namespace: str = NAMESPACE, option: str = "--sign"
) -> str:
    """Sign a content by a key that SSH knows, for a purpose; return the detached
    signature. Raises ConfigError, of the option that named the key, where it does not
    sign.
    """
    words = ["sign", "-q", "-n", namespace, "-f", str(key)]
    done = _run(words, content, option, _SIGN_S)
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise ConfigError(
            f"{key} does not sign",
            path=option,
            evidence=said[:200],
            try_next="a private key of ssh-keygen, or a public one that ssh-agent has",
        )
    return done.stdout.decode("ascii")


def _run(
    words: Sequence[str],
    content: bytes,
    option: str = "--signers",
    limit_s: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    command = [_PROGRAM, "-Y", *words]
    limit_s = limit_s or _LIMIT_S
    try:
        return subprocess.run(
            command, input=content, capture_output=True, check=False, timeout=limit_s
        )
    except FileNotFoundError as error:
        hint = "OpenSSH 8.2 or newer, which brings it"
        raise ConfigError(
            f"{_PROGRAM} is not installed", path=option, try_next=hint
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(
            f"{_PROGRAM} was not done after {limit_s:.0f} s", path=option
        ) from error
