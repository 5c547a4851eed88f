# SPDX-License-Identifier: Apache-2.0
"""`rig serve` with TLS and a token; certificates are made by openssl."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import rig
from tests.programs import captured
from tests.sut_backends.served.test_command import BENCH
from tests.uncounted import uncounted

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl"),
]
TOKEN = "a token of this test, 32 bytes.."
_CLIENT = """
[bench]
name = "far"
trials = 1
[sut.uart]
port = "{port}"
simulated = true
{more}
[monitor.none]
[scenario.single_stream]
idle_s = 0.05
warmup = 1
repeat = 100
[task.null]
samples = 3
"""


@dataclass(frozen=True)
class Served:
    """A server with its files; `port` and `fingerprint` as it prints them."""

    process: subprocess.Popen[str]
    port: str
    fingerprint: str
    folder: Path

    @property
    def number(self) -> int:
        return int(self.port.rpartition(":")[2])

    def probe(self, folder: Path, more: str, port: str = "") -> tuple[int, str]:
        """Probe the device from a host with these settings."""
        path = folder / "far.toml"
        path.write_text(_CLIENT.format(port=port or self.port, more=more))
        done = rig("probe", path)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def trusted(self, token: str = TOKEN) -> str:
        """Return the settings of a host that pins the certificate."""
        path = self.folder / f"token-{len(token)}"
        path.write_text(token + "\n")
        return f'tls_fingerprint = "{self.fingerprint}"\ntoken_file = "{path}"'


def certificate(folder: Path, name: str, *words: str) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1; return it and its key."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-nodes", "-subj", "/CN=x"]
    command += ["-pkeyopt", "ec_paramgen_curve:P-256", "-addext"]
    command += ["subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    captured([*command, *words], check=True)
    return cert, key


@contextmanager
def serving(folder: Path, cert: Path, key: Path) -> Iterator[Served]:
    """Serve a virtual device with TLS."""
    bench = folder / "bench.toml"
    bench.write_text(BENCH.format(kind="virtual", settings="", task="null"))
    token = folder / "token"
    token.write_text(TOKEN)
    words = ["serve", bench, "--tcp", "0", "--tls-cert", cert, "--tls-key", key]
    process = subprocess.Popen(
        [sys.executable, "-m", "rig", *map(str, words), "--token-file", str(token)],
        env=uncounted(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = {}
    try:
        for line in process.stdout:
            name, _, value = line.partition(" = ")
            if name in ("port", "tls_fingerprint"):
                said[name] = json.loads(value)
            if len(said) == 2:
                break
        yield Served(process, said["port"], said["tls_fingerprint"], folder)
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, *certificate(folder, "good", "-days", "30")) as one:
        yield one


def test_a_session_over_tls(served: Served, tmp_path: Path) -> None:
    """The fingerprint is that of openssl; no file of the session has the token."""
    command = ["openssl", "x509", "-in", str(served.folder / "good.pem"), "-noout"]
    command += ["-fingerprint", "-sha256"]
    said = captured(command, check=True).stdout
    stated = said.strip().partition("=")[2]
    assert stated.replace(":", "").lower() == served.fingerprint
    bench = tmp_path / "far.toml"
    bench.write_text(_CLIENT.format(port=served.port, more=served.trusted()))
    done = rig("run", bench, "--sessions", tmp_path / "sessions")
    assert done.returncode == 4, done.stdout + done.stderr
    for path in (tmp_path / "sessions").rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()
    about = next((tmp_path / "sessions").glob("*/provenance.json")).read_text()
    assert "latency is in the host's times" in about


def test_a_certificate_by_its_issuer_and_the_token_of_the_environment(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEURORIG_TOKEN", TOKEN)
    path = tmp_path / "far.toml"
    more = f'tls_ca = "{served.folder / "good.pem"}"'
    path.write_text(_CLIENT.format(port=served.port, more=more))
    done = captured([sys.executable, "-m", "rig", "probe", str(path)])
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_token_is_one_sentence(served: Served, tmp_path: Path) -> None:
    code, said = served.probe(
        tmp_path, served.trusted("another token, of 30 bytes....")
    )
    assert code == 3
    assert f"the token is not that of the server at {served.port}" in said


def test_another_certificate_is_one_sentence(served: Served, tmp_path: Path) -> None:
    more = served.trusted().replace(served.fingerprint[:4], "0000", 1)
    code, said = served.probe(tmp_path, more)
    assert code == 3 and "has another fingerprint" in said
    other, _ = certificate(tmp_path, "other")
    more = served.trusted().partition("\n")[2] + f'\ntls_ca = "{other}"'
    code, said = served.probe(tmp_path, more)
    assert code == 3 and "is not trusted" in said
    code, said = served.probe(tmp_path, served.trusted() + f'\ntls_ca = "{other}"')
    assert code == 3 and "one of tls_ca and tls_fingerprint" in said


def test_a_host_without_tls_hears_what_the_port_speaks(
    served: Served, tmp_path: Path
) -> None:
    plain = f"socket://127.0.0.1:{served.number}"
    code, said = served.probe(tmp_path, "", plain)
    assert code == 3
    assert "this port speaks TLS" in said and "Traceback" not in said
    code, said = served.probe(tmp_path, served.trusted())
    assert code == 0, said


def test_tls_to_a_port_without_it_is_one_sentence(
    served: Served, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = f"tls://127.0.0.1:{listener.getsockname()[1]}"
        listener.settimeout(30.0)
        import threading

        def answer() -> None:
            host, _ = listener.accept()
            with host:
                host.sendall(b"220 mail\r\n")
                host.recv(1000)

        thread = threading.Thread(target=answer)
        thread.start()
        code, said = served.probe(tmp_path, served.trusted(), port)
        thread.join()
    assert code == 3 and f"{port} does not speak TLS" in said


def test_hosts_that_hang_up_or_say_nothing_keep_no_other_one_out(
    served: Served, tmp_path: Path
) -> None:
    address = ("127.0.0.1", served.number)
    socket.create_connection(address).close()
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(address)):
        pass  # hangs up before its token
    with socket.create_connection(address):
        began_s = time.monotonic()
        code, said = served.probe(tmp_path, served.trusted())
        assert code == 0, said
        assert time.monotonic() - began_s < 60


def test_an_expired_certificate_is_one_sentence(tmp_path: Path) -> None:
    _, key = certificate(tmp_path, "new", "-days", "1")
    cert = tmp_path / "old.pem"
    request = tmp_path / "request.pem"
    signing = ["openssl", "req", "-new", "-key", str(key), "-subj", "/CN=x"]
    captured([*signing, "-out", str(request)], check=True)
    (tmp_path / "index").touch()
    (tmp_path / "ca.cnf").write_text(
        textwrap.dedent(f"""
        [ca]
        default_ca = own
        [own]
        database = {tmp_path}/index
        new_certs_dir = {tmp_path}
        rand_serial = yes
        default_md = sha256
        policy = any
        x509_extensions = names
        [any]
        commonName = supplied
        [names]
        subjectAltName = IP:127.0.0.1
        """)
    )
    dates = ["-startdate", "20200101000000Z", "-enddate", "20210101000000Z"]
    authority = ["openssl", "ca", "-config", str(tmp_path / "ca.cnf"), "-batch"]
    authority += ["-selfsign", "-keyfile", str(key), "-in", str(request)]
    captured([*authority, *dates, "-notext", "-out", str(cert)], check=True)
    with serving(tmp_path, cert, key) as old:
        more = old.trusted().partition("\n")[2] + f'\ntls_ca = "{cert}"'
        code, said = old.probe(tmp_path, more)
    assert code == 3 and "certificate has expired" in said


@pytest.mark.parametrize(
    ("token", "expected"),
    [("short", "a token is one line of 16 to"), (None, "there are 0")],
)
def test_a_server_without_a_good_token_does_not_start(
    tmp_path: Path, token: str | None, expected: str
) -> None:
    cert, key = certificate(tmp_path, "good")
    bench = tmp_path / "bench.toml"
    bench.write_text(BENCH.format(kind="virtual", settings="", task="null"))
    words = ["serve", bench, "--tcp", "0", "--tls-cert", cert, "--tls-key", key]
    if token is not None:
        (tmp_path / "token").write_text(token)
        words += ["--token-file", tmp_path / "token"]
    done = rig(*words)
    assert done.returncode == 2 and expected in done.stderr
    done = rig(*words[:6], "--tls-key", bench)
    assert done.returncode == 2 and "are no certificate and its key" not in done.stdout
