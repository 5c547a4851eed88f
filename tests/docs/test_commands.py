# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages: each block of a shell runs line by line in a folder that
has what its page supposes, and each `rig` command of a block or a sentence has a name
and options that exist.

The commands of the tutorials run in the other files of this folder.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np
import pytest

from rig.cli.main import rig as program
from tests.commands import rig
from tests.conftest import ROOT
from tests.keys import key
from tests.programs import captured
from tests.recorded import recorded
from tests.rig.api.comparing import test_several as several
from tests.rig.audit import test_audit as audit
from tests.rig.check import test_witness as witness
from tests.rig.importers.joulescope import test_jls2 as jls2
from tests.rig.importers.profilers import test_ppk2 as ppk2
from tests.rig.judge import test_judge as judge
from tests.rig.submission import test_mlperf_tiny as tiny
from tests.submissions import record_asc

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_SPAN = re.compile(r"(?<!`)`(rig [a-z][^`]*)`(?!`)")
_PROMPT = re.compile(r"^(?:board|lab)\$ ")
_COMMENT = re.compile(r"(?:^|\s+)# .*")
_NETWORK = "needs the network"
_BOARD = "needs a board"
_CONTAINER = "needs a container engine, and builds for minutes"


@dataclass(frozen=True)
class Page:
    """How the commands of a page run: `words` replaces names of the reader's own files
    and devices, `not_here` has the start of a command and the test that runs it, or
    the reason that none does, `codes` exit codes other than 0.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    not_here: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, int] = field(default_factory=dict)


#: Commands that need another computer or a device, on any page.
NOT_HERE = {
    "git clone": _NETWORK,
    "pip install": _NETWORK,
    "avrdude": _BOARD,
    "podman": _CONTAINER,
    "rig sdk install": _NETWORK,
    "rig run benches/uart": _BOARD,
    "rig run board/": _BOARD,
    "make -C firmware": "firmware/Makefile: `make test` builds all of it",
    "rig tiny kws": "tests/scenarios/tasks/mlperf_tiny/test_command.py",
    "rig tiny vww": "tests/scenarios/tasks/mlperf_tiny/test_command.py",
    "rig tiny sww": "tests/scenarios/tasks/mlperf_tiny/test_wake_word.py",
    "rig run benches/": "tests/golden/test_golden.py and tests/system run each bench",
}
_THREE = "first second seeded"
_SUBMITTERS = "cd tiny-submission/closed/our_lab"
TABLE = {
    "README": Page(not_here={"make demo": ".ci/run", ".venv/bin/rig": ".ci/run"}),
    "how-to/AUDIT": Page(),
    "how-to/BRIAN2": Page(
        not_here={"python -m venv": _NETWORK, "brian2/bin/pip": _NETWORK}
    ),
    "how-to/CAMPAIGN": Page(
        not_here=dict.fromkeys(
            ("dask", "rig campaign GRID.toml --to FOLDER --scheduler"),
            "tests/system/test_campaign_dask.py",
        )
    ),
    "how-to/CHECK": Page(
        words={
            "~/.ssh/id_ed25519": "me",
            "signers.txt": "me.signers",
            "curl -H 'Content-Type: application/timestamp-query'"
            " --data-binary @witness.tsq URL > witness.tsr": "openssl ts -reply -config"
            " a.cnf -section tsa_config -queryfile witness.tsq -out witness.tsr",
        }
    ),
    "how-to/CI": Page(not_here={"own=": _CONTAINER}),
    "how-to/COMPARE": Page(
        words={
            # The others: tests/rig/api/backends/test_compared_tflite.py.
            "virtual,posix,mps2,cpu,loihi": "virtual",
            "SESSION SESSION SESSION...": _THREE,
            "SESSION SESSION...": _THREE,
            "sessions/*": _THREE,
        },
        not_here={
            "rig compare MODEL.tflite": "tests/rig/api/backends/test_compared_tflite.py",
            "rig compare SNN.nir": "tests/rig/api/backends/test_networks.py",
            "rig compare scenarios": "tests/rig/api/backends/test_networks.py",
        },
        # The sessions of three trials: their verdict is NOT TESTED.
        codes=dict.fromkeys(("rig compare SESSION", "rig compare sessions"), 4),
    ),
    "how-to/EMULATION": Page(),
    "how-to/FLASHING": Page(
        not_here={"rig firmware flash": "tests/rig/cli/boards/test_firmware_flash.py"}
    ),
    "how-to/GPU": Page(not_here={"rig run benches/gpu": "tests/sut_backends/gpu"}),
    "how-to/IO_MANAGER": Page(),
    "how-to/LABS": Page(not_here={"pytest": "tests/rig/test_pytest_plugin.py"}),
    "how-to/MEASURE": Page(),
    "how-to/MLPERF_TINY": Page(
        not_here=dict.fromkeys(
            ("rig run BENCH", "rig firmware build"),
            "tests/scenarios/tasks/mlperf_tiny/test_command.py",
        )
    ),
    "how-to/MONITORS": Page(),
    "how-to/MONITOR_CHECK": Page(
        not_here={"rig monitor check": "tests/docs/test_first_pages.py"}
    ),
    "how-to/PUBLISH": Page(
        words={
            "~/.ssh/id_ed25519": "me",
            "signers.txt": "me.signers",
            # MLCommons' checker itself: tests/rig/submission/test_mlperf_tiny.py.
            "--checker tiny": "--sign me",
            "ssh-keygen -Y verify -f signers -I me@example.org": f"{_SUBMITTERS} &&"
            " ssh-keygen -Y verify -f ../../../me.signers -I me@lab",
            "sha256sum": f"{_SUBMITTERS} && sha256sum",
        },
        codes={"rig submission check": 1},
    ),
    "how-to/QUBO_FILES": Page(words={"--seconds 60": "--seconds 0.1"}),
    "how-to/REGRESSION": Page(
        words={
            "SESSION SESSION...": _THREE,
            "SESSION SESSION": "first second",
            "--baseline SESSION": "--baseline sessions/baseline/second",
            "SESSION": "first",
            "$(git rev-parse HEAD)": "1234abc",
        }
    ),
    "how-to/RELEASING": Page(
        not_here=dict.fromkeys(
            ("ssh-keygen", "sha256sum"), "tests/system/test_release.py"
        )
    ),
    "how-to/SDKS": Page(
        not_here={"rig sdk doctor": "tests/sut_backends/sdk/test_install.py"}
    ),
    "how-to/SERVE": Page(
        not_here=dict.fromkeys(
            ("rig serve", "ssh -N", "rig run remote.toml"),
            "tests/system/test_audit_remote.py",
        )
    ),
    "how-to/SITE": Page(words={"SESSION SESSION...": _THREE}),
    "how-to/WAKE_WORD": Page(
        not_here=dict.fromkeys(
            ("rig firmware build", "rig run bench.toml"),
            "tests/scenarios/tasks/mlperf_tiny/test_wake_word.py",
        )
    ),
    "reference/ASC": Page(
        not_here={"rig compare": "tests/rig/api/backends/test_networks.py"}
    ),
    "reference/BACKENDS": Page(
        not_here={"rig model map": "tests/sut_backends/spinnaker/test_backend.py"}
    ),
    "reference/FIXED_POINT": Page(
        not_here={"rig firmware build": "tests/firmware/test_emulated.py"}
    ),
    "reference/QUBO": Page(
        not_here={
            "python -m lab": "tests/lab/qubo/test_official_costs.py",
            "rig qubo targets --official": "tests/lab/qubo/test_official_costs.py",
            "rig qubo rescore": "tests/scenarios/tasks/qubo/test_rescore.py",
            "rig qubo largest": "tests/scenarios/tasks/qubo/test_largest.py",
            "rig qubo targets --search": "tests/scenarios/tasks/qubo/test_targets_command.py",
            "rig qubo targets --table": "tests/scenarios/tasks/qubo/test_targets_command.py",
            "rig coverage": "tests/rig/cli/test_session_screens.py",
        },
        words={"benches/": f"{ROOT}/benches/"},
    ),
    "reference/MODELS": Page(
        not_here={
            "rig firmware build": "tests/firmware/test_tflite.py",
            "rig model map": "tests/sut_backends/spinnaker/test_backend.py",
            "rig model sense": "tests/sut_backends/loihi/test_backend.py",
        }
    ),
}


def shell_blocks(page: Path) -> list[str]:
    """Return the blocks of a page that are for a shell, without prompts and output."""
    result: list[str] = []
    language: str | None = None
    goes_on = False
    for line in page.read_text(encoding="utf-8").splitlines(keepends=True):
        fence = line.strip()
        if fence.startswith("```"):
            language = fence.removeprefix("```") if language is None else None
            result += [""] if language in ("sh", "console") else []
        elif language == "sh":
            result[-1] += line
        elif language == "console" and (goes_on or _PROMPT.match(line)):
            result[-1] += _PROMPT.sub("", line)
            goes_on = line.endswith("\\\n")
    return result


def commands(page: Path) -> list[str]:
    """Return the commands of the blocks of a page, without their comments."""
    lines = "".join(shell_blocks(page)).replace("\\\n", " ").splitlines()
    bare = [_COMMENT.sub("", line) for line in lines]
    return [" ".join(line.split()) for line in bare if line.strip()]


def name_of(page: Path) -> str:
    """Return the name of a page in the table."""
    return page.relative_to(DOCS).with_suffix("").as_posix()


def where_else(command: str, page: Page) -> str | None:
    """Return where a command runs, or why it does not; None if it runs here."""
    for start, reason in (page.not_here | NOT_HERE).items():
        if command.startswith(start):
            return reason
    return None


def test_each_page_with_commands_is_in_the_table() -> None:
    with_commands = {name_of(page) for page in PAGES if commands(page)}
    tutorials = {name for name in with_commands if name.startswith("tutorials/")}
    assert with_commands - tutorials == set(TABLE)


def test_each_tutorial_with_commands_has_a_test() -> None:
    tests = [
        path.read_text(encoding="utf-8")
        for path in ROOT.joinpath("tests").rglob("test_*.py")
        if path != Path(__file__)
    ]
    for page in PAGES:
        if page.parent.name == "tutorials" and commands(page):
            assert any(page.stem in text for text in tests), page.stem


@pytest.mark.parametrize("name", TABLE)
def test_each_entry_of_the_table_is_used(name: str) -> None:
    page = TABLE[name]
    text = "\n".join(commands(DOCS / f"{name}.md"))
    for start in (*page.words, *page.not_here, *page.codes):
        assert start in text, start
    for reason in (page.not_here | NOT_HERE).values():
        first = reason.partition(" ")[0].rstrip(":")
        if first.endswith(".py") or "/" in first:
            assert (ROOT / first).exists(), reason


def _audit(folder: Path, factory: pytest.TempPathFactory) -> None:
    made = recorded(factory, "submissions", judge.make)
    shutil.copytree(made / "submission", folder / "submission")
    audit.bench(folder).rename(folder / "mine.toml")


def _campaign(folder: Path, _: pytest.TempPathFactory) -> None:
    text = (ROOT / "examples/campaign.toml").read_text(encoding="utf-8")
    small = text.replace("repetitions = 3", "repetitions = 1")
    (folder / "GRID.toml").write_text(small.replace("[0.005, 0.010]", "[0.01]"))


def _check(folder: Path, factory: pytest.TempPathFactory) -> None:
    made = recorded(factory, "witnessed", witness.record)
    [session] = [path for path in made.iterdir() if path.is_dir()]
    shutil.copytree(session, folder / "SESSION")
    witness.authority(folder / "authority")
    for path in (folder / "authority").iterdir():
        path.rename(folder / path.name)
    (folder / "ca.pem").rename(folder / "authority.pem")
    key(folder, "me")


def _several(folder: Path, factory: pytest.TempPathFactory) -> None:
    made = recorded(factory, "several", several.record)
    for name in ("first", "second", "seeded"):
        shutil.copytree(made / name, folder / name)


def _compare(folder: Path, factory: pytest.TempPathFactory) -> None:
    _several(folder, factory)
    shutil.copy(ROOT / "scenarios/tasks/asc/asc.nir", folder / "MODEL.nir")


def _sessions(folder: Path, factory: pytest.TempPathFactory) -> None:
    _several(folder, factory)
    for name in ("first", "second"):
        shutil.copytree(folder / name, folder / "sessions/baseline" / name)
    shutil.copytree(folder / "seeded", folder / "sessions/seeded")
    text = (ROOT / "benches/virtual-null.toml").read_text(encoding="utf-8")
    (folder / "bench.toml").write_text(text.replace("samples = 20", "samples = 3"))


def _measure(folder: Path, factory: pytest.TempPathFactory) -> None:
    made = recorded(factory, "several", several.record)
    shutil.copytree(made / "first", folder / "sessions/20250101T120000Z-asc")
    jls2.joulescope(folder / "capture.jls")
    pulse = [
        ppk2.frame(1000.0, {0: ppk2.LOW if 100 < k < 200 else ppk2.HIGH})
        for k in range(300)
    ]
    (folder / "ppk.ppk2").write_bytes(ppk2.archive(b"".join(pulse)))
    rows = [f"{k},10,3.0\n" for k in range(100)]
    (folder / "log.csv").write_text("t,I,U\n" + "".join(rows))


def _publish(folder: Path, factory: pytest.TempPathFactory) -> None:
    [session] = recorded(factory, "submitted-asc", record_asc).iterdir()
    shutil.copytree(session, folder / "sessions/20260131T120000Z-my-asc")
    key(folder, "me")
    made = recorded(factory, "tiny-modes", tiny.record)
    for mode in tiny.MODES:
        to = folder / "sessions" / f"{mode}-kws01"
        shutil.copytree(made / mode, to)
        tiny.measured(to)


def _network(folder: Path, _: pytest.TempPathFactory) -> None:
    shutil.copy(ROOT / "scenarios/tasks/asc/asc.nir", folder / "MODEL.nir")
    np.save(folder / "INPUT.npy", np.random.default_rng(0).integers(0, 2, (125, 16)))
    (folder / "examples").symlink_to(ROOT / "examples")


def _problems(folder: Path, _: pytest.TempPathFactory) -> None:
    (folder / "G1.txt").write_text("3 2\n1 2 1\n2 3 1\n")
    (folder / "C125.9.clq").write_text("p edge 3 2\ne 1 2\ne 2 3\n")
    head = "%%MatrixMarket matrix coordinate integer symmetric\n"
    (folder / "matrix.mtx").write_text(f"{head}2 2 2\n1 1 -1\n2 1 2\n")


_PREPARED = {
    "how-to/AUDIT": _audit,
    "how-to/CAMPAIGN": _campaign,
    "how-to/CHECK": _check,
    "how-to/COMPARE": _compare,
    "how-to/MEASURE": _measure,
    "how-to/PUBLISH": _publish,
    "how-to/QUBO_FILES": _problems,
    "how-to/REGRESSION": _sessions,
    "how-to/SITE": _sessions,
    "reference/FIXED_POINT": _network,
    "reference/MODELS": _network,
}
#: Programs that a test may lack.
_PROGRAMS = {"how-to/CHECK": "openssl", "how-to/PUBLISH": "ssh-keygen"}


@pytest.mark.posix
@pytest.mark.parametrize("name", TABLE)
def test_every_command_of_a_page_ends_as_the_page_says(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if name in _PROGRAMS and shutil.which(_PROGRAMS[name]) is None:
        pytest.skip(f"needs {_PROGRAMS[name]}")
    page = TABLE[name]
    here = [
        command
        for command in commands(DOCS / f"{name}.md")
        if where_else(command, page) is None
    ]
    assert here or name not in _PREPARED
    if name in _PREPARED:
        _PREPARED[name](tmp_path, tmp_path_factory)
    for command in here:
        _run(command, page, tmp_path)


def _run(command: str, page: Page, folder: Path) -> None:
    """Run a command of a page in a folder; hold its exit code to the one expected."""
    replaced = command
    for word, other in page.words.items():
        replaced = replaced.replace(word, other)
    if "HASH" in replaced:
        replaced = replaced.replace("HASH", witness.first(folder / "SESSION"))
    if replaced.startswith("rig "):
        done = rig(*_words(replaced, folder)[1:], cwd=folder)
    else:
        own = f'python() {{ "{sys.executable}" "$@"; }}\n'
        done = captured(["sh", "-ec", own + replaced], cwd=folder)
    codes = [code for start, code in page.codes.items() if command.startswith(start)]
    output = f"$ {replaced}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == (codes or [0])[0], output


def _words(command: str, folder: Path) -> list[str]:
    """Return the words of a command, patterns of names filled in."""
    result = []
    for word in shlex.split(command):
        matching = sorted(folder.glob(word)) if "*" in word else []
        result += [str(path.relative_to(folder)) for path in matching] or [word]
    return result


def _named_commands(page: Path) -> Iterator[str]:
    """Yield the `rig` commands that blocks and sentences of a page name."""
    for command in commands(page):
        if command.startswith("rig "):
            yield command
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    for command in _SPAN.findall(text):
        yield " ".join(command.split())


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem
)
def test_each_command_that_a_page_names_exists_with_its_options(page: Path) -> None:
    wrong = []
    for command in _named_commands(page):
        for fault in _unknown(command):
            wrong.append(f"{command}: {fault}")
    assert not wrong


def _unknown(command: str) -> Iterator[str]:
    """Yield the names of a command that do not exist."""
    words = command.replace("\\|", "|").split()[1:]
    found: click.Command = program
    context = click.Context(program, info_name="rig")
    while isinstance(found, click.Group) and words and words[0][0].isalpha():
        names = words.pop(0).split("|")
        inner = [found.get_command(context, name) for name in names]
        if None in inner:
            yield f"no command {names}"
            return
        found = inner[0]
        context = click.Context(found, info_name=names[0], parent=context)
    options = {"--help"}
    for parameter in found.get_params(context):
        options |= {*parameter.opts, *parameter.secondary_opts}
    for word in " ".join(words).replace("|", " ").split():
        name = word.strip("[]").partition("=")[0]
        if name.startswith("-") and len(name) > 1 and name not in options:
            yield f"no option {name}"
