# SPDX-License-Identifier: Apache-2.0
"""A session can be signed with an existing key, and the check says by whom."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rig.check import signature
from rig.errors import ConfigError
from rig.session.session import SessionResult
from tests.commands import rig
from tests.keys import key, needs_ssh

Run = Callable[..., SessionResult]


def sign(session: Path, path: Path) -> None:
    words = [
        "ssh-keygen",
        "-q",
        "-Y",
        "sign",
        "-n",
        signature.NAMESPACE,
        "-f",
        str(path),
        str(session / "events.jsonl"),
    ]
    subprocess.run(words, check=True, capture_output=True)


def rig_check(session: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return rig("check", session, *more)


@needs_ssh
def test_a_signed_session_says_by_whom_and_a_changed_one_is_refused(
    run_virtual: Run, tmp_path: Path
) -> None:
    session = run_virtual().folder
    sign(session, key(tmp_path, "alice"))
    signers = str(tmp_path / "alice.signers")
    assert "not verified: rig check --signers FILE" in rig_check(session).stdout
    done = rig_check(session, "--signers", signers)
    assert done.returncode == 0 and "signed by alice@lab" in done.stdout, done.stdout
    with (session / "events.jsonl").open("a") as events:
        events.write("\n")
    done = rig_check(session, "--signers", signers)
    assert (
        done.returncode == 1
        and "events.jsonl.sig: is not of events.jsonl as it is" in done.stdout
    )


@needs_ssh
def test_a_stranger_s_signature_has_no_known_key(
    run_virtual: Run, tmp_path: Path
) -> None:
    session = run_virtual().folder
    key(tmp_path, "alice")
    sign(session, key(tmp_path, "mallory"))
    result = signature.verified(session, tmp_path / "alice.signers")
    assert not result.ok and "is by no signer of" in result.detail


def test_an_unsigned_session_is_refused_where_a_signature_is_asked_for(
    run_virtual: Run, tmp_path: Path
) -> None:
    signers = tmp_path / "signers"
    signers.write_text("")
    result = signature.verified(run_virtual().folder, signers)
    assert (
        not result.ok
        and "is not signed" in result.detail
        and "ssh-keygen -Y sign" in result.detail
    )


def test_without_the_program_it_says_what_to_install(
    run_virtual: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = run_virtual().folder
    signers = tmp_path / "signers"
    signers.write_text("")
    (session / "events.jsonl.sig").write_text("x")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="ssh-keygen is not installed"):
        signature.verified(session, signers)


def test_a_file_of_signers_that_is_not_there_is_a_usage_error(
    run_virtual: Run, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="is no file"):
        signature.verified(run_virtual().folder, tmp_path / "none")
