# SPDX-License-Identifier: Apache-2.0
"""A folder for MLPerf Tiny has the layout that its submission checker takes, and no
simulated number.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lab.faults import forger
from rig.check import signature
from rig.cli.main import rig as command
from rig.errors import ConfigError
from rig.session.session import open_bench
from rig.submission import entries
from rig.submission import mlperf_tiny as tiny
from tests.conftest import ROOT
from tests.keys import key as ssh_key
from tests.keys import needs_ssh
from tests.programs import captured
from tests.recorded import recorded

CLONE = os.environ.get("MLPERF_TINY_CLONE", "")
needs_clone = pytest.mark.skipif(
    not CLONE, reason="MLPERF_TINY_CLONE: a clone of mlcommons/tiny"
)
QUICK = ("monitor.virtual.sample_hz=5000", "sut.virtual.sync_hold_us=800")
MODES = ("accuracy", "performance", "energy")


def record(root: Path) -> None:
    """Record a virtual session of each mode."""
    for mode in MODES:
        words = [*QUICK, f"scenario.tiny.mode={mode}"]
        with open_bench(ROOT / "benches" / "virtual-tiny.toml", words) as bench:
            bench.run(1, root).folder.rename(root / mode)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory, "tiny-modes", record)


def measured(session: Path) -> None:
    """Write the facts of a board with the whole data into a session."""

    def of_a_board(about: dict[str, Any]) -> None:
        about["simulated"] = about["sut"]["simulated"] = False
        for monitor in about["monitors"].values():
            monitor["simulated"] = False
        about["task"] |= {"source": "folder", "official": True, "subset": "all"}

    forger.edit_json(session / "provenance.json", of_a_board)
    lines = session / "trial-1" / "results.txt"
    text = lines.read_text().replace(
        "neurorig, simulated, generated data:", "neurorig:"
    )
    lines.write_text(text.replace("[simulated] ", ""))
    forger.rehash(session)


@pytest.fixture(scope="module")
def sessions(simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sessions, as if they had been recorded on a board."""
    root = tmp_path_factory.mktemp("of-a-board") / "sessions"
    shutil.copytree(simulated, root)
    for mode in MODES:
        measured(root / mode)
    return root


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "my_board.json"
    path.write_text(tiny.template())
    return path


def made(
    folder: Path, system: Path, *modes: str, division: str = "open"
) -> tiny.TinySubmission:
    return tiny.TinySubmission(
        sessions=tuple(entries.read(folder / mode) for mode in modes),
        division=division,
        submitter="our_lab",
        system=system,
    )


def test_three_files_a_mode_and_the_system(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    to = tmp_path / "made"
    modes = tiny.build(made(sessions, system, *MODES), to)
    assert modes == ["kws/accuracy", "kws/energy", "kws/performance"]
    top = to / "open" / "our_lab"
    for mode in MODES:
        place = top / "results" / "my_board" / "kws" / mode
        assert {path.name for path in place.iterdir()} == {
            "log.txt",
            "results.json",
            "results.txt",
        }
        assert (place / "results.json").read_bytes() == (
            sessions / mode / "results.json"
        ).read_bytes()
        assert (top / "code/my_board/kws" / mode / "bench.toml").is_file()
    assert json.loads((top / "systems/my_board.json").read_text())["Status"]


def signed(sessions: Path, system: Path, key: Path, to: Path) -> Path:
    """Make a signed folder by the command line; return the submitter's."""
    words = ["submit", "mlperf-tiny", *(str(sessions / mode) for mode in MODES)]
    words += ["--division", "open", "--submitter", "our_lab", "--system", str(system)]
    done = CliRunner().invoke(command, [*words, "--to", str(to), "--sign", str(key)])
    assert done.exit_code == 0, done.output
    assert f"{to}/open/our_lab/code/SHA256SUMS.sig" in "".join(done.output.split())
    return to / "open" / "our_lab"


@needs_ssh
def test_a_signature_stands_for_every_file(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    top = signed(sessions, system, ssh_key(tmp_path, "own"), tmp_path / "made")
    trusted = tmp_path / "own.signers"
    found = signature.verified(top, trusted, "code/SHA256SUMS")
    assert (found.ok, found.detail) == (True, "signed by own@lab")
    sums = top / "code" / "SHA256SUMS"
    listed = {line.split("  ")[1] for line in sums.read_text().splitlines()}
    there = {str(each.relative_to(top)) for each in top.rglob("*") if each.is_file()}
    assert there - listed == {"code/SHA256SUMS", "code/SHA256SUMS.sig"}
    checked = ["sha256sum", "--check", "--strict", "code/SHA256SUMS"]
    assert captured(checked, cwd=top).returncode == 0
    accuracy = top / "results" / "my_board" / "kws" / "accuracy" / "results.txt"
    text = accuracy.read_text()
    accuracy.write_text(text.replace("Top 1% = 8", "Top 1% = 9"))
    assert accuracy.read_text() != text
    assert captured(checked, cwd=top).returncode == 1
    sums.write_text(sums.read_text().replace("  results/", "  ./results/", 1))
    found = signature.verified(top, trusted, "code/SHA256SUMS")
    assert not found.ok and "is not of code/SHA256SUMS as it is" in found.detail


@needs_ssh
def test_what_is_no_key_leaves_no_folder(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    wanted = replace(made(sessions, system, *MODES), key=system)
    with pytest.raises(ConfigError, match=r"my_board\.json does not sign"):
        tiny.build(wanted, tmp_path / "made")
    assert {path.name for path in tmp_path.iterdir()} == {"my_board.json"}


@needs_ssh
@needs_clone
def test_their_checker_takes_a_signed_folder(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    signed(sessions, system, ssh_key(tmp_path, "own"), tmp_path / "made")
    verdict = tiny.checked(tmp_path / "made", Path(CLONE))
    assert verdict == tiny.CheckerVerdict(True, ())


def test_simulated_sessions_are_refused_in_both_divisions(
    simulated: Path, system: Path, tmp_path: Path
) -> None:
    for division in ("open", "closed"):
        with pytest.raises(ConfigError, match="is no measurement") as refused:
            tiny.build(
                made(simulated, system, *MODES, division=division), tmp_path / "made"
            )
        assert "SIMULATED" in refused.value.evidence
    assert not (tmp_path / "made").exists()


def test_power_that_was_played_back_is_no_measurement(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    root = tmp_path / "sessions"
    shutil.copytree(sessions, root)

    def of_a_recording(about: dict[str, Any]) -> None:
        about["monitors"][""] |= {"kind": "playback", "details": {"path": "old.jls"}}

    forger.edit_json(root / "energy" / "provenance.json", of_a_recording)
    forger.rehash(root / "energy")
    with pytest.raises(ConfigError, match="energy is no measurement") as refused:
        tiny.build(made(root, system, *MODES), tmp_path / "made")
    assert refused.value.evidence == (
        "its power was played back from old.jls, not measured"
    )
    assert not (tmp_path / "made").exists()


def test_other_data_are_for_the_open_division_alone(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    root = tmp_path / "sessions"
    shutil.copytree(sessions, root)
    for mode in MODES:
        forger.edit_json(
            root / mode / "provenance.json",
            lambda about: about["task"].update(official=False),
        )
        forger.rehash(root / mode)
    with pytest.raises(ConfigError, match="for the closed division") as refused:
        tiny.build(made(root, system, *MODES, division="closed"), tmp_path / "made")
    assert "NOT THE EVALUATION SET" in refused.value.evidence
    tiny.build(made(root, system, *MODES), tmp_path / "made")


def test_a_mode_that_lacks_or_is_there_twice_is_named(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    to = tmp_path / "made"
    with pytest.raises(ConfigError, match="no session of kws/performance"):
        tiny.build(made(sessions, system, "accuracy"), to)
    with pytest.raises(ConfigError, match="two sessions are of kws/accuracy"):
        tiny.build(made(sessions, system, "accuracy", "accuracy"), to)


def test_a_wrong_system_is_named(sessions: Path, system: Path, tmp_path: Path) -> None:
    to = tmp_path / "made"
    wanted = made(sessions, system, "accuracy", "performance")
    system.write_text("[]")
    with pytest.raises(ConfigError, match="is no description of a system"):
        tiny.build(wanted, to)
    system.write_text('{"Status": "soon"}')
    with pytest.raises(ConfigError, match="has Status 'soon'") as refused:
        tiny.build(wanted, to)
    assert "rig submit about FILE --mlperf-tiny" in refused.value.try_next


def stand_in(folder: Path, program: str) -> Path:
    """Write a clone whose checker is another program."""
    path = folder / "clone" / "tools" / "submission" / "submission_checker.py"
    path.parent.mkdir(parents=True)
    path.write_text(program)
    return folder / "clone"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            "raise UnboundLocalError('is_valid')",
            "no mode has a result: the checker ended with UnboundLocalError: is_valid",
        ),
        (
            "import nosuchpackage",
            "the checker needs a package: ModuleNotFoundError: No module named"
            " 'nosuchpackage'",
        ),
        ("print('ERROR:main:kws has issues')", "kws has issues"),
    ],
)
def test_an_exception_of_the_checker_is_translated(
    program: str, said: str, tmp_path: Path
) -> None:
    verdict = tiny.checked(tmp_path, stand_in(tmp_path, program))
    assert verdict == tiny.CheckerVerdict(False, (said,))


def test_a_folder_without_a_checker_is_no_clone(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no tools/submission"):
        tiny.checked(tmp_path, tmp_path)


@needs_clone
def test_their_checker_takes_the_folder(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    tiny.build(made(sessions, system, *MODES), tmp_path / "made")
    verdict = tiny.checked(tmp_path / "made", Path(CLONE))
    assert verdict == tiny.CheckerVerdict(True, ())


@needs_clone
def test_their_checker_asks_for_the_quality_of_the_closed_division(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    to = tmp_path / "made"
    tiny.build(made(sessions, system, *MODES, division="closed"), to)
    verdict = tiny.checked(to, Path(CLONE))
    assert not verdict.ok
    assert any("accuracy not met: expected=90" in line for line in verdict.lines)


@needs_clone
def test_their_checker_s_crash_without_results_is_a_sentence(
    sessions: Path, system: Path, tmp_path: Path
) -> None:
    to = tmp_path / "made"
    tiny.build(made(sessions, system, *MODES), to)
    (to / "open/our_lab/systems/my_board.json").rename(
        to / "open/our_lab/systems/other.json"
    )
    verdict = tiny.checked(to, Path(CLONE))
    assert not verdict.ok
    assert "no mode has a result" in verdict.lines[-1]


def of_a_stream(root: Path, *words: str) -> None:
    """Record a streaming wake word."""
    quick = (
        "monitor.virtual.sample_hz=20000",
        "sut.virtual.sync_hold_us=100",
        *words,
    )
    with open_bench(ROOT / "benches" / "virtual-sww.toml", quick) as bench:
        bench.run(1, root).folder.rename(root / "stream")
    measured(root / "stream")


def test_a_streaming_wake_word_has_its_power_as_a_picture(
    system: Path, tmp_path: Path
) -> None:
    of_a_stream(tmp_path / "sessions", "task.sww.length_s=4")
    to = tmp_path / "made"
    assert tiny.build(made(tmp_path / "sessions", system, "stream"), to) == [
        "sww/energy"
    ]
    place = to / "open/our_lab/results/my_board/sww/energy"
    files = {path.name for path in place.iterdir()}
    assert files == {"energy_inf_000.png", "log.txt", "results.json", "results.txt"}
    picture = (place / "energy_inf_000.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert "Average duty cycle" in (place / "results.txt").read_text()


def test_a_streaming_wake_word_without_a_monitor_has_no_energy(
    system: Path, tmp_path: Path
) -> None:
    of_a_stream(tmp_path / "sessions", "task.sww.length_s=4")
    session = tmp_path / "sessions" / "stream"

    def unmetered(about: dict[str, Any]) -> None:
        about.get("provenance", about)["monitors"] = {}

    for name in ("provenance.json", "results.json"):
        forger.edit_json(session / name, unmetered)
    forger.rehash(session)
    to = tmp_path / "made"
    assert tiny.build(made(tmp_path / "sessions", system, "stream"), to) == [
        "sww/performance"
    ]
    assert not list(to.rglob("*.png"))


def test_a_wake_word_that_was_not_streamed_has_no_duty_cycle(
    system: Path, tmp_path: Path
) -> None:
    of_a_stream(tmp_path / "sessions", "task.sww.length_s=4")
    bench = tmp_path / "sessions" / "stream" / "bench.toml"
    text = bench.read_text()
    assert 'mode = "stream"' in text
    bench.write_text(text.replace('mode = "stream"', 'mode = "accuracy"'))
    forger.rehash(tmp_path / "sessions" / "stream")
    with pytest.raises(ConfigError, match="no duty cycle"):
        tiny.build(made(tmp_path / "sessions", system, "stream"), tmp_path / "made")
    assert not (tmp_path / "made").exists()
