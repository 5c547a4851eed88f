# SPDX-License-Identifier: Apache-2.0
"""The first hash of a session is printed before its first trial and listed; a check
compares it with what another place has of it, a time stamp included.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rig.check import witness
from rig.errors import ConfigError
from tests.commands import rig
from tests.conftest import VIRTUAL_NULL
from tests.recorded import recorded

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not installed"
)
#: A time-stamping authority of our own: a CA, and a certificate for time stamps.
AUTHORITY = """
[req]
distinguished_name = name
prompt = no
x509_extensions = ca
[name]
CN = test authority
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[stamps]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[tsa]
default_tsa = tsa_config
[tsa_config]
serial = serial
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


def record(root: Path) -> None:
    """Run a session with a witness, and keep its printed output."""
    words = ["run", str(VIRTUAL_NULL), "--trials", "1", "--witness"]
    few = ["--set", "task.null.samples=3", "--set", "scenario.single_stream.idle_s=0.1"]
    done = rig(*words, *few, "--sessions", str(root))
    (root / "printed").write_text(done.stdout + done.stderr)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory, "witnessed", record)


@pytest.fixture(scope="module")
def session(place: Path) -> Path:
    [folder] = [path for path in place.iterdir() if path.is_dir()]
    return folder


def first(session: Path) -> str:
    line = (session / "events.jsonl").read_text().splitlines()[0]
    own: str = json.loads(line)["sha256"]
    return own


def test_a_run_prints_its_first_hash_before_the_results_and_lists_it(
    place: Path, session: Path
) -> None:
    printed = (place / "printed").read_text()
    own = first(session)
    assert own in printed
    assert printed.index(own) < printed.index("energy_total")
    assert f"openssl ts -query -digest {own} -sha256" in printed
    assert (place / "witness.txt").read_text() == f"{own} {session.name}\n"


def test_the_hash_and_the_list_are_witnesses(place: Path, session: Path) -> None:
    own = first(session)
    assert witness.verified(session, own, None).ok
    assert witness.verified(session, str(place / "witness.txt"), None).ok
    other = witness.verified(session, "0" * 64, None)
    assert not other.ok and own[:16] in other.detail


def test_another_file_is_none(session: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a hash nor a file"):
        witness.verified(session, str(tmp_path / "nosuch"), None)
    other = tmp_path / "witness.txt"
    other.write_text(f"{'1' * 64} another-session\n")
    found = witness.verified(session, str(other), None)
    assert not found.ok and "which is not in witness.txt" in found.detail
    other.write_text("no list\n")
    found = witness.verified(session, str(other), None)
    assert not found.ok and "witness.txt has no hash; if" in found.detail


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def authority(folder: Path) -> Path:
    """Make a time-stamping authority; return its root certificate."""
    folder.mkdir()
    (folder / "a.cnf").write_text(AUTHORITY)
    (folder / "serial").write_text("01\n")
    config = ("-config", "a.cnf")
    new = ("-newkey", "rsa:2048", "-nodes")
    openssl(
        folder, "req", "-x509", *config, *new, "-keyout", "ca.key", "-out", "ca.pem"
    )
    openssl(
        folder,
        *("req", *config, *new, "-subj", "/CN=stamps"),
        *("-keyout", "tsa.key", "-out", "tsa.csr"),
    )
    openssl(
        folder,
        *("x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key"),
        *("-CAcreateserial", "-extfile", "a.cnf", "-extensions", "stamps"),
        *("-out", "tsa.pem"),
    )
    return folder / "ca.pem"


def token(folder: Path, digest: str) -> Path:
    """Have the authority in a folder stamp a digest."""
    asked = ("-digest", digest, "-sha256", "-cert", "-out", "q.tsq")
    openssl(folder, "ts", "-query", *asked)
    openssl(
        folder,
        *("ts", "-reply", "-config", "a.cnf", "-section", "tsa_config"),
        *("-queryfile", "q.tsq", "-out", f"{digest[:8]}.tsr"),
    )
    return folder / f"{digest[:8]}.tsr"


@pytest.fixture(scope="module")
def stamps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stamps") / "authority"
    authority(folder)
    return folder


@needs_openssl
@pytest.mark.parametrize("way", ["library", "openssl"])
def test_a_time_stamp_of_the_first_hash_holds_and_of_another_does_not(
    way: str, session: Path, stamps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "library":
        pytest.importorskip("rfc3161_client")
    else:
        monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    roots = stamps / "ca.pem"
    good = token(stamps, first(session))
    found = witness.verified(session, str(good), roots)
    assert found.ok and "was stamped at" in found.detail, found
    assert ("by RFC 3161" if way == "library" else "by openssl") in found.detail
    bad = witness.verified(session, str(token(stamps, "0" * 64)), roots)
    assert not bad.ok and "its time stamp does not hold" in bad.detail
    block = bytearray(good.read_bytes())
    block[-20] ^= 1
    spoilt = stamps / "spoilt.tsr"
    spoilt.write_bytes(block)
    assert not witness.verified(session, str(spoilt), roots).ok
    others = authority(stamps / way)
    assert not witness.verified(session, str(good), others).ok


@needs_openssl
def test_a_time_stamp_without_roots_is_not_verified(
    session: Path, stamps: Path
) -> None:
    found = witness.verified(session, str(token(stamps, first(session))), None)
    assert not found.ok and "--roots FILE" in found.detail


@needs_openssl
def test_the_check_says_so(session: Path, stamps: Path) -> None:
    good = token(stamps, first(session))
    words = ("--witness", str(good), "--roots", str(stamps / "ca.pem"))
    done = rig("check", str(session), *words)
    assert done.returncode == 0 and "was stamped" in done.stdout, done.stdout
    done = rig("check", str(session), "--witness", "0" * 64)
    assert done.returncode == 1 and "differs witness: the first hash" in done.stdout
    done = rig("check", str(session), "--roots", str(stamps / "ca.pem"))
    assert done.returncode == 2


def test_without_openssl_it_says_what_to_install(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    monkeypatch.setattr(witness, "_PROGRAM", "nosuchopenssl")
    stamp = tmp_path / "a.tsr"
    stamp.write_bytes(b"\x30\x03")
    with pytest.raises(ConfigError, match="is not installed"):
        witness.verified(session, str(stamp), stamp)
