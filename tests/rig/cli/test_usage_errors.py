# SPDX-License-Identifier: Apache-2.0
"""The screens of errors: a command line that cannot be, names that do not exist, files
that cannot be read or written, and options without effect.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rig.cli.usage_errors import as_error
from tests.click_tree import commands
from tests.commands import rig
from tests.conftest import ROOT, VIRTUAL_NULL
from tests.screens import compare

SCREENS = Path(__file__).parent / "screens"
#: Refused before anything is opened: this device would not open.
SHUT = "bench.toml --set sut.posix.program=/nosuch"
LINES = {
    "usage": (
        "bogus",
        "runn",
        "--bogus",
        "run",
        "run bench.toml --trails 3",
        "run bench.toml --trials x",
        "run bench.toml --trials 0",
        "run bench.toml --trials",
        "run bench.toml extra",
        "check nosuch",
        "check . --claim nosuch.toml",
        "bench nwe",
        "qubo targets --solver-seeds x",
        "qubo largest bench.toml --timeout 2000",
        "qubo search bench.toml --seconds nan",
        "compare",
        "compare bench.toml --suts ,",
        "probe bench.toml --contact a --replay b",
        "measure trace.csv --edgess",
    ),
    "names": (
        "bench new virtual-as",
        "bench new lpm01a",
        "bench new nosuch",
        "docs protocl",
        "docs nosuch",
        "list sut.virtuall",
        "list monitor.n6705",
        "list sutt.virtual",
        "run bench.toml --set sut.virtul.x=1",
        "run bench.toml --set sut.virtual.clok_ppm=1",
        "run bench.toml --set benhc.trials=1",
        f"run {SHUT} --set claim.energy_infre=1",
        "sdk doctor loihii",
        "model map bench.toml --on xyloo",
        "compare model.nir --suts virtula",
    ),
    "files": (
        "run nosuch.toml",
        "run utf-16-without-mark.toml",
        "run latin-1.toml",
        "check . --claim utf-16-without-mark.toml",
        "measure utf-16-without-mark.csv",
        f"run {SHUT} --sessions bench.toml/sessions",
        f"run {SHUT} --sessions bench.toml",
        "demo --sessions bench.toml/sessions",
        "compare bench.toml --suts cpu --sessions bench.toml/sessions",
        "compare bench.toml --suts cpu --output bench.toml/sessions",
        "bench new virtual-asc bench.toml/new.toml",
        "bundle --out nosuch/support.zip",
        "bundle --out .",
        "model run bench.toml bench.toml --output bench.toml/out.npz",
        "model quantize bench.toml -o bench.toml/out.nir",
        "qubo largest bench.toml --out bench.toml/out.json",
        "sessions",
        "sessions --sessions nosuch",
        "list --sessions nosuch",
    ),
    "idle": (
        "plan bench.toml --trial 99",
        "run bench.toml --json --wide",
        "list sut.virtual --sessions .",
        "check . --replacement",
        "compare . . --trials 3 --as lava-dl",
        "compare bench.toml --suts cpu --all",
        "compare . . . --all",
        "firmware build --bits 4",
        "firmware emulate image.elf --workload asc",
        "firmware flash image.elf --workload asc",
        "model inspect bench.toml --dt 0.001",
        "serve bench.toml --pty --baud 9600",
        "serve bench.toml --pty --listen 0.0.0.0",
        "serve bench.toml --pty --hold-us 90",
        "gui bench.toml --demo",
        "qubo targets --show --search 3 --solver-seeds 2",
        "qubo targets --show --verify",
        "qubo targets --verify --official a.csv --table b.csv",
        "qubo targets --show --nodes 11",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the commands name."""
    path = tmp_path_factory.mktemp("errors")
    bench = VIRTUAL_NULL.read_text(encoding="utf-8")
    (path / "bench.toml").write_text(bench, encoding="utf-8")
    (path / "utf-16-without-mark.toml").write_text(bench, encoding="utf-16-le")
    (path / "utf-16-without-mark.csv").write_text(
        "time [s],power [W]\n0,1\n", "utf-16-le"
    )
    (path / "latin-1.toml").write_text("# \u00b5\n" + bench, encoding="latin-1")
    shutil.copy(ROOT / "scenarios" / "tasks" / "asc" / "asc.nir", path / "model.nir")
    (path / "trace.csv").touch()
    (path / "image.elf").touch()
    return path


@pytest.mark.parametrize("group", LINES)
def test_an_error_is_cause_evidence_and_what_to_try(folder: Path, group: str) -> None:
    before = sorted(folder.iterdir())
    printed = ""
    for line in LINES[group]:
        done = rig(*line.split(), cwd=folder)
        assert "Traceback" not in done.stderr, line
        output = done.stderr + (done.stdout if not done.stderr else "")
        printed += f"$ rig {line}\n{output}exit code {done.returncode}\n\n"
    compare(SCREENS / f"errors-{group}.txt", printed.rstrip("\n") + "\n")
    assert sorted(folder.iterdir()) == before, "nothing was written"


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "latin-1", "utf-16"])
def test_what_an_encoding_lacks_is_spelt(
    folder: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    words = [sys.executable, "-m", "rig", "plan", "\u00b5-\u03a9-\u20ac.toml"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    output = done.stderr.decode(encoding.partition(":")[0])
    expected = {"utf-16": "\u00b5-\u03a9-\u20ac", "latin-1": "\u00b5-Ohm-\\u20ac"}
    assert (
        f"bench file {expected.get(encoding, 'u-Ohm-' + chr(92) + 'u20ac')}.toml"
        in output
    )
    assert done.returncode == 2 and "Traceback" not in output


def test_an_error_of_click_without_a_command_names_the_help_of_all() -> None:
    error = as_error(click.FileError("a.toml", "no such file"))
    assert error.cause == "could not open file 'a.toml': no such file"
    assert error.try_next == "rig --help lists the commands"
    assert error.exit_code == 2


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_number_of_an_option_is_finite(text: str) -> None:
    kinds = (click.FloatRange, click.types.FloatParamType)
    refused = []
    for command in commands().values():
        for parameter in command.params:
            if isinstance(parameter.type, kinds):
                with pytest.raises(click.BadParameter, match=r"finite|range"):
                    parameter.type.convert(text, parameter, None)
                refused.append(parameter.name)
    assert len(refused) > 20
