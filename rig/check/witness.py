# SPDX-License-Identifier: Apache-2.0
"""A witness of a session: its first hash as another place has it from the time of the
run, as text or in an RFC 3161 time stamp.

The hash that is stamped is that of the first line of events.jsonl itself: `openssl ts
-query -digest HASH -sha256 -cert`. A token is verified by rfc3161-client where that is
installed (the extra `witness`), otherwise, and where that refuses its form, by `openssl
ts -verify`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rig.errors import ConfigError
from rig.files import small_text
from rig.model.finding import Finding
from rig.store.session_folder import SessionFolder
from rig.store.witness_list import first_hash

NAME = "witness"
_PROGRAM = "openssl"
_LIMIT_S = 20.0
_HASH = re.compile(r"[0-9a-f]{64}")


def verified(session: Path, given: str, roots: Path | None) -> Finding:
    """Compare the first hash of a session with a witness: a hash, a file of hashes such
    as witness.txt, or a time stamp's token, whose root certificates are in `roots`.

    Raises ConfigError where the witness cannot be read.
    """
    own = first_hash(SessionFolder(session))
    if _HASH.fullmatch(given):
        return _compared(own, [given], "the hash", f"not {given[:16]}...")
    path = Path(given)
    try:
        block = small_text.read_block(path)
    except OSError as error:
        raise ConfigError(
            f"{given} is neither a hash nor a file",
            path="--witness",
            evidence=error.strerror or str(error),
            try_next="64 hexadecimal digits, witness.txt, or a token of RFC 3161",
        ) from error
    if hashes := _HASH.findall(block.decode("ascii", "replace")):
        return _compared(own, hashes, path.name, f"which is not in {path.name}")
    if roots is None:
        said = (
            f"{path.name} has no hash; if it is a time stamp, --roots FILE with its"
            " root certificates verifies it"
        )
        return Finding(NAME, False, said)
    return _stamped(own, path, block, roots)


def _compared(own: str, hashes: Sequence[str], where: str, other: str) -> Finding:
    if own in hashes:
        return Finding(NAME, True, f"{where} has the first hash, {own[:16]}...")
    return Finding(NAME, False, f"the first hash is {own[:16]}..., {other}")


def _stamped(own: str, token: Path, block: bytes, roots: Path) -> Finding:
    """Verify a token by the library, else by openssl."""
    try:
        said = _by_library(own, block, roots)
    except (ImportError, ValueError) as error:
        why = "not installed" if isinstance(error, ImportError) else str(error)
        return _by_openssl(own, token, roots, f"rfc3161-client: {why}")
    return Finding(NAME, not said[0], said[0] or said[1])


def _by_library(own: str, block: bytes, roots: Path) -> tuple[str, str]:
    """Return why a token does not hold, empty where it does, and its time; raise
    ImportError and, for a token whose form the library refuses, ValueError.
    """
    import rfc3161_client as rfc3161
    from cryptography import x509

    response = rfc3161.decode_timestamp_response(block)
    builder = rfc3161.VerifierBuilder()
    for certificate in x509.load_pem_x509_certificates(small_text.read_block(roots)):
        builder = builder.add_root_certificate(certificate)
    try:
        builder.build().verify(response, bytes.fromhex(own))
    except rfc3161.VerificationError as error:
        return f"its time stamp does not hold: {error}"[:200], ""
    stamped = response.tst_info.gen_time.isoformat()
    return "", f"{own[:16]}... was stamped at {stamped}, by RFC 3161"


def _by_openssl(own: str, token: Path, roots: Path, why: str) -> Finding:
    words = ["ts", "-verify", "-digest", own, "-in", str(token), "-CAfile", str(roots)]
    done = _run(words)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        said = lines[-1] if lines else "openssl gives no reason"
        return Finding(NAME, False, f"its time stamp does not hold: {said[:200]}")
    shown = _run(["ts", "-reply", "-in", str(token), "-text"])
    text = shown.stdout.decode(errors="replace")
    found = re.search(r"^Time stamp: (.+)$", text, re.MULTILINE)
    at = f" at {found[1]}" if found else ""
    return Finding(NAME, True, f"{own[:16]}... was stamped{at}, by openssl ({why})")


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    command = [_PROGRAM, *words]
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_LIMIT_S,
        )
    except FileNotFoundError as error:
        raise ConfigError(
            f"{_PROGRAM} is not installed",
            path="--witness",
            try_next="OpenSSL 1.1 or newer, or pip install 'neurorig[witness]'",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(
            f"{_PROGRAM} was not done after {_LIMIT_S:.0f} s", path="--witness"
        ) from error
