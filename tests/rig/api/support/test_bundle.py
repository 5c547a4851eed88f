# SPDX-License-Identifier: Apache-2.0
"""The support bundle and its redactions: planted secrets, home folders, names."""

from __future__ import annotations

import getpass
import json
import platform
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rig.api.support import bundle
from rig.api.support.redaction import IP, MAC, REMOVED, Redaction, serials_in
from rig.bench.scan import FOUND, ScanRow
from rig.cli.main import rig as command
from rig.files.plain_text import visible
from tests.checking import check

SECRETS = (
    "hunter2",
    "correct horse",
    "tok-1234567",
    "s3cr3t-v4lue",
    "ghp_abcdefghijklmnopqrstuvwx",
    "AKIAABCDEFGHIJKLMNOP",
    "sk-abcdefghijklmnopqrstuv",
    "MIIEvQIBADANBg",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abc",
    "multi-line-pass",
    "in-a-list",
)
PLANTED = f"""
# comment kept: the author is known, passive parts too, a monkey = "kept"
password = "{SECRETS[0]}"
[sut.uart]
port = "socket://bob:{SECRETS[0]}@10.0.0.7:4000"
login = {{ user = "x", passphrase = '{SECRETS[1]}' }}
api_key="{SECRETS[2]}"
wifi-secret : {SECRETS[3]}
note = "{SECRETS[4]} {SECRETS[5]} {SECRETS[6]}"
key = '''-----BEGIN RSA PRIVATE KEY-----
{SECRETS[7]}
-----END RSA PRIVATE KEY-----'''
jwt = "{SECRETS[8]}"
auth_token = \"\"\"
{SECRETS[9]}
\"\"\"
tokens = ["a", "{SECRETS[10]}"]
data = "/home/alice/data"
more = 'C:\\Users\\Alice Cooper\\x'
mac = "/Users/carol/data"
serial = "SN-4711"
"""


def test_secrets_go_and_the_rest_stays() -> None:
    clean = Redaction(home="/srv/alice", user="alicia", hosts=("lab-pc-7",)).text(
        PLANTED + "at /srv/alice/x on LAB-PC-7 by alicia, /srv/alice2, alicias\n"
    )
    for secret in SECRETS:
        assert secret not in clean, secret
    for name in ("alice/", "Alice", "carol", "bob", "LAB-PC-7"):
        assert name not in clean, name
    assert 'a monkey = "kept"' in clean and "the author is known" in clean
    assert f'password = "{REMOVED}"' in clean
    assert f"@{IP}:4000" in clean
    assert 'data = "~/data"' in clean
    assert "at ~/x on <host> by <user>, /srv/alice2, alicias" in clean
    assert "SN-4711" in clean, "serial numbers are another choice"
    assert "SN-4711" not in Redaction(serials=("SN-4711",)).text(PLANTED)


@pytest.mark.parametrize(
    "line",
    [
        *(
            'wifi_psk = "{}"',
            "PSK: {}",
            '"psk": "{}"',
            "pin = {}",
            '"pin": "{}"',
            "sim-pin={}",
        ),
        *("pin_code: {}", "pre_shared_key = '{}'", "passcode={}"),
    ],
)
def test_keys_of_a_network_and_numbers_that_open_something_go(line: str) -> None:
    clean = Redaction().text(line.format("47114711"))
    assert "47114711" not in clean and REMOVED in clean


@pytest.mark.parametrize(
    "token",
    [
        *(
            "glpat-abcdefghijklmnopqrst",
            "hf_abcdefghijklmnopqrst",
            "npm_abcdefghijklmnopqrst",
        ),
        *("pypi-AgEIcHlwaS5vcmcCJDU3", "sk_live_abcdefghijklmnop"),
    ],
)
def test_tokens_go_by_their_form(token: str) -> None:
    assert Redaction().text(f"said {token}, then") == f"said {REMOVED}, then"


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.7", "192.168.1.20", "fe80::1ff:fe23:4567:890a", "::ffff:10.1.2.3"),
        "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    ],
)
def test_addresses_go(address: str) -> None:
    text = "at {0}, addr={0} (socket://[{0}]:80), host:{0}."
    line = (
        text
        if "." in address and ":" not in address
        else text.replace("host:{0}", "{0}")
    )
    assert Redaction().text(line.format(address)) == line.format(IP)


@pytest.mark.parametrize(
    "address", ["00:1A:2b:3c:4d:5e", "00-1A-2b-3c-4d-5e", "001a.2b3c.4d5e"]
)
def test_addresses_of_network_cards_go(address: str) -> None:
    assert Redaction().text(f"mac={address}, {address}") == f"mac={MAC}, {MAC}"


def test_what_only_looks_like_an_address_stays() -> None:
    text = (
        "1.2.3, 1.2.3.4.5, 999.1.1.1, 11:38:59, std::dec, a::b, 127.0.0.1:80, ::1,"
        " v1.2.3.4"
    )
    text += " 2026-11-24T11:38:59Z 20-11-24-11-38-59-00 sync_pin = 13, pins = [1, 2]"
    assert Redaction().text(text) == text
    assert Redaction().text("PySide6 6.8.0.2", addresses=False) == "PySide6 6.8.0.2"


def test_short_and_ordinary_names_are_no_words_to_take_out() -> None:
    text = "the vm is root of all, /rooted"
    assert Redaction(home="/root", user="root", hosts=("vm",)).text(text) == text
    assert Redaction(home="/root").text("/root/x") == "~/x"


def test_serial_numbers_are_found_by_their_keys() -> None:
    tree = {
        "a": {"serial": "X1"},
        "b": [{"serial_number": 77}],
        "c": "serial",
        "serial": "",
        "pyserial": "3.5",
    }
    assert serials_in(tree) == {"X1", "77"}


@pytest.fixture
def planted(copied: Callable[[int], Path], tmp_path: Path) -> Path:
    """A session into whose files secrets and names were written."""
    folder = copied(1)
    assert check(folder).ok
    copy = tmp_path / "planted"
    shutil.copytree(folder, copy)
    content = json.loads((copy / "provenance.json").read_text())
    content["host"]["node"] = "workstation-12"
    content["monitors"][""]["serial"] = "SN-4711"
    content["metadata"] = {
        "password": SECRETS[0],
        "note": f"by {Path.home()}/x and SN-4711",
    }
    (copy / "provenance.json").write_text(json.dumps(content))
    (copy / "bench.toml").write_text((copy / "bench.toml").read_text() + PLANTED)
    (copy / "trial-1" / "uart.log").write_text("0.1 > 3 aabbcc\n" * 500)
    return copy


def test_a_bundle_holds_no_secret_and_no_home(planted: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(PLANTED)
    scanned = [ScanRow("joulescope", "JS220", FOUND, "SN-9", "device = 'SN-9'")]
    made = bundle.collect(
        planted, bench, scan=lambda: scanned, notes="it fails at /home/dora/x"
    )
    names = [file.name for file in made.files]
    assert names[:4] == ["versions.txt", "notes.txt", "bench.toml", "scan.json"]
    assert {
        "session/provenance.json",
        "session/events.jsonl",
        "session/metrics.json",
    } <= {*names}
    assert not [name for name in names if name.endswith((".jls", ".jsonl.partial"))]
    position = made.write(tmp_path / "out.zip")
    with zipfile.ZipFile(position) as archive:
        content = {name: archive.read(name).decode() for name in archive.namelist()}
    assert list(content) == names
    everything = "\n".join(content.values())
    unwanted = [
        *SECRETS,
        "workstation-12",
        "SN-4711",
        "SN-9",
        "alice",
        "/home/",
        "aabbcc",
    ]
    unwanted += [name for name in (getpass.getuser(), platform.node()) if len(name) > 6]
    assert [word for word in unwanted if word in everything] == []
    assert f"{Path.home()}/" not in everything
    assert (
        "neurorig" in content["versions.txt"] and "PySide6" in content["versions.txt"]
    )
    assert content["notes.txt"] == "it fails at ~/x"
    log = content["session/trial-1/uart.txt"].splitlines()
    assert log[0] == "... 100 lines before" and log[1] == "0.1 > 3" and len(log) == 401
    json.loads(content["session/provenance.json"])
    assert not list(tmp_path.glob("*.partial"))


def test_serial_numbers_stay_where_they_are_wanted(planted: Path) -> None:
    made = bundle.collect(planted, keep_serials=True)
    assert "SN-4711" in "".join(file.text for file in made.files)


def test_no_command_of_a_terminal_is_in_a_bundle(planted: Path) -> None:
    with (planted / "bench.toml").open("a") as stream:
        stream.write('more = "a\x1b[2J\x9b31m"\n')
    made = bundle.collect(planted, notes="by \x1b]0;owned\x07")
    text = "".join(file.text for file in made.files)
    assert visible(text) == text and "[2J" in text


def test_damaged_and_missing_files_make_a_bundle_too(
    planted: Path, tmp_path: Path
) -> None:
    (planted / "provenance.json").write_text("{")
    (planted / "results.json").write_text("[]")
    (planted / "bench.toml").unlink()
    made = bundle.collect(planted, tmp_path / "missing.toml")
    text = {file.name: file.text for file in made.files}
    assert "cannot be read" in text["bench.toml"]
    assert "not readable" in text["session/metrics.json"]


def test_on_the_command_line_it_is_listed_first(planted: Path, tmp_path: Path) -> None:
    out = tmp_path / "support.zip"
    words = ["bundle", str(planted), "--out", str(out)]
    listed = CliRunner().invoke(command, [*words, "--list"])
    assert listed.exit_code == 0, listed.output
    assert "versions.txt" in listed.output and not out.exists()
    assert CliRunner().invoke(command, words).exit_code == 0
    written = CliRunner().invoke(command, words, standalone_mode=False)
    assert "is there already" in str(written.exception)
    assert zipfile.is_zipfile(out)
