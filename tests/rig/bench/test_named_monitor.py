# SPDX-License-Identifier: Apache-2.0
"""Several monitors at once: rails are summed, each in its own time, and a problem of
one is reported for that one.
"""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from rig.bench import config
from rig.bench.probe import probe
from rig.cli.printed.budget_table import print_budget
from rig.errors import BenchError, ConfigError, DeadlineError, RigError
from rig.report.report import write_report
from rig.results import document
from rig.session.session import SessionResult, open_bench
from rig.store.events import Event, StepDone
from tests import checking

BENCH = """
[bench]
name = "rails"
[sut.virtual]
[rail.core.virtual]
share = 0.7
clock_ppm = 30.0
[rail.io.virtual]
share = 0.3
clock_ppm = -45.0
sample_hz = 100_000
[scenario.single_stream]
idle_s = 0.1
[task.null]
samples = 6
"""


def run(tmp_path: Path, *overrides: str, trials: int = 1) -> SessionResult:
    path = tmp_path / "rails.toml"
    path.write_text(BENCH)
    with open_bench(path, overrides) as bench:
        return bench.run(trials, tmp_path / "sessions")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    """A session of two trials, which tests only read."""
    return run(tmp_path_factory.mktemp("recorded"), trials=2)


def copied(recorded: SessionResult, tmp_path: Path) -> Path:
    """Return a session's folder that a test may change."""
    return Path(shutil.copytree(recorded.folder, tmp_path / recorded.folder.name))


def test_the_energies_of_two_rails_add_up_to_the_devices(tmp_path: Path) -> None:
    still = ("sut.virtual.preprocess.variation=0.0", "sut.virtual.infer.variation=0.0")
    result = run(tmp_path, *still)
    assert not result.content["problems"]
    assert result.metrics["energy_infer"].value == pytest.approx(
        0.042 * 0.045, rel=2e-3
    )
    assert result.metrics["power_idle"].value == pytest.approx(0.012, rel=2e-3)
    for rail in ("core", "io"):
        assert (result.folder / "trial-1" / rail / "trace.jls").exists()


def test_the_skew_between_the_rails_clocks_is_found_and_shown(
    recorded: SessionResult, tmp_path: Path
) -> None:
    folder = copied(recorded, tmp_path)
    content = json.loads((folder / "results.json").read_text())
    rails = content["trials"][0]["rails"]
    assert (rails["core"]["skew_ppm"], rails["core"]["skew_u_ppm"]) == (0.0, 0.0)
    # A clock that runs 45 ppm slow counts less time for the same marks than one 30 ppm
    # fast.
    assert 0.0 < rails["io"]["skew_u_ppm"] < 20.0
    assert rails["io"]["skew_ppm"] == pytest.approx(
        -75.0, abs=3 * rails["io"]["skew_u_ppm"]
    )
    page = write_report(folder).read_text()
    assert "rail core" in page and "-7" in page
    # Sessions that were measured before have a skew alone.
    for trial in content["trials"]:
        for rail in trial["rails"].values():
            del rail["skew_u_ppm"]
    (folder / "results.json").write_text(json.dumps(content))
    assert "-7" in write_report(folder).read_text()


def test_instruments_that_differ_err_apart(recorded: SessionResult) -> None:
    budget = {
        part["component"]: part
        for part in recorded.content["metrics"]["energy_total"]["budget"]
    }
    core = budget["core: current gain"]
    io = budget["io: current gain"]
    assert core["standard_uncertainty"] / io["standard_uncertainty"] == pytest.approx(
        7 / 3, rel=0.01
    )


def test_a_session_of_two_rails_is_recomputed_byte_for_byte_and_a_changed_rail_is_named(
    recorded: SessionResult, tmp_path: Path
) -> None:
    folder = copied(recorded, tmp_path)
    assert checking.check(folder).ok
    trace = folder / "trial-2" / "io" / "trace.jls"
    content = bytearray(trace.read_bytes())
    content[len(content) // 2] ^= 1
    trace.write_bytes(content)
    bad = [
        finding.name for finding in checking.check(folder).findings if not finding.ok
    ]
    assert "trial-2/io/trace.jls" in bad


def test_a_problem_names_its_rail(tmp_path: Path) -> None:
    problems = run(tmp_path, "rail.io.virtual.clock_ppm=5000").content["problems"]
    assert [problem["code"] for problem in problems] == ["clock"]
    assert problems[0]["detail"].startswith("io: ")


def test_a_first_rail_without_edges_leaves_a_report_that_says_so(
    tmp_path: Path,
) -> None:
    result = run(
        tmp_path,
        'rail.core.joulescope.device="simulator"',
        "rail.core.joulescope.simulator.sync_gpi=1",
    )
    assert [problem["code"] for problem in result.content["problems"]] == ["edges"]
    page = write_report(result.folder).read_text()
    assert "nothing to fit" in page and "skew not known" in page


def test_the_report_of_rails_draws_the_edges_of_the_first_and_says_why_there_is_no_curve_of_power(
    recorded: SessionResult, tmp_path: Path
) -> None:
    page = write_report(copied(recorded, tmp_path)).read_text()
    assert 'class="residuals"' in page
    assert "each rail has a clock of its own" in page and "was changed" not in page


def test_a_rail_without_power_is_named_although_the_sum_is_positive(
    tmp_path: Path,
) -> None:
    problems = run(
        tmp_path,
        "rail.io.virtual.gain=-1.0",
        "rail.io.virtual.noise_a=0",
        "rail.io.virtual.lsb_a=0",
    ).content["problems"]
    assert [problem["code"] for problem in problems] == ["power"]
    assert problems[0]["detail"].startswith("io: ")


def test_a_bench_of_rails_is_stored_and_loads_to_the_same(tmp_path: Path) -> None:
    path = tmp_path / "rails.toml"
    path.write_text(BENCH)
    resolved = config.load(path)
    (tmp_path / "again.toml").write_text(resolved.toml())
    assert config.load(tmp_path / "again.toml").monitors == resolved.monitors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BENCH + "[monitor.virtual]\n", "both are given"),
        (BENCH.replace("rail.core", "rail.Core"), "names a folder"),
        (
            BENCH.replace("[rail.core.virtual]", "[rail.core.nothing]"),
            "rail.core|no such kind",
        ),
        (BENCH.replace("share = 0.7", "shares = 0.7"), r"rail\.core\.virtual\.shares"),
    ],
)
def test_what_is_wrong_with_a_rail_is_named(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        config.load(path)


def test_the_budget_of_rails_loses_no_digit_within_80_columns(
    recorded: SessionResult,
) -> None:
    out = Console(file=io.StringIO(), width=80)
    print_budget(out, document.from_json(recorded.content))
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines())) <= 80 and "…" not in text, text
    assert "core: current gain" in text


ALIKE = """
[bench]
name = "alike"
[sut.virtual]
sync_hold_us = 500
sync_period_us = 20_000
[rail.core.st_lpm01a]
port = "simulator"
[rail.io.st_lpm01a]
port = "simulator"
[scenario.single_stream]
idle_s = 0.2
[task.null]
samples = 3
"""


def refused(tmp_path: Path, *overrides: str) -> RigError:
    path = tmp_path / "alike.toml"
    path.write_text(ALIKE)
    with pytest.raises(RigError) as caught, open_bench(path, overrides) as bench:
        bench.run(1, tmp_path / "sessions")
    return caught.value


@pytest.mark.parametrize("rail", ["core", "io"])
@pytest.mark.parametrize(
    ("setting", "kind", "cause"),
    [
        (
            "simulator.faults.overcurrent_at_s=0.83",
            BenchError,
            "the PowerShield reports: overcurrent",
        ),
        (
            "simulator.firmware='1.0.5'",
            BenchError,
            "firmware 1.0.5 of the PowerShield is too old for events",
        ),
        (
            "simulator.faults.error_to='start'",
            BenchError,
            "the PowerShield refuses 'start'",
        ),
    ],
    ids=["in a recording", "when it is opened", "when a recording begins"],
)
def test_an_error_of_one_of_two_instruments_of_a_kind_names_its_rail_alone(
    tmp_path: Path, rail: str, setting: str, kind: type[RigError], cause: str
) -> None:
    error = refused(tmp_path, f"rail.{rail}.st_lpm01a.{setting}")
    assert (
        type(error) is kind
        and error.cause.startswith(f"rail {rail}: {cause}")
        and error.cause.count("rail ") == 1
    )
    assert str(error).startswith(error.cause) and not getattr(error, "__notes__", ())


@pytest.mark.long
def test_an_instrument_that_does_not_say_that_it_is_off_is_named_in_error_and_note(
    tmp_path: Path,
) -> None:
    error = refused(tmp_path, "rail.io.st_lpm01a.simulator.faults.mute_at_s=0.83")
    assert isinstance(error, DeadlineError) and error.cause.startswith(
        "rail io: no time stamp of the PowerShield"
    )
    [note] = error.__notes__
    assert note.startswith("the supply may still be on: rail io: ")


def test_a_setting_that_a_rails_driver_refuses_is_reported_by_the_rails_key(
    tmp_path: Path,
) -> None:
    error = refused(tmp_path, "rail.io.st_lpm01a.supply_v=9.0")
    assert isinstance(error, ConfigError) and error.path == "rail.io.st_lpm01a.supply_v"
    assert error.cause.startswith(
        "rail.io.st_lpm01a.supply_v: 9 V"
    ) and "monitor." not in str(error)


def test_a_rail_that_sees_no_sync_is_reported_by_the_rails_key(tmp_path: Path) -> None:
    error = refused(tmp_path, "rail.io.st_lpm01a.format='bin_hexa'")
    assert isinstance(error, ConfigError) and error.path == "rail.io.st_lpm01a"


def test_an_error_of_something_else_is_of_no_rail(tmp_path: Path) -> None:
    path = tmp_path / "rails.toml"
    path.write_text(BENCH)

    def meddle(event: Event) -> None:
        if isinstance(event, StepDone):
            raise BenchError("the cable is out")

    with pytest.raises(BenchError) as caught, open_bench(path) as bench:
        bench.run(1, tmp_path / "sessions", [meddle])
    assert caught.value.cause == "the cable is out" and not getattr(
        caught.value, "__notes__", ()
    )


def test_a_probe_names_the_rail_whose_instrument_fails(tmp_path: Path) -> None:
    path = tmp_path / "alike.toml"
    path.write_text(ALIKE)
    with pytest.raises(BenchError, match=r"^rail io: firmware 1\.0\.5"):
        list(probe(path, ["rail.io.st_lpm01a.simulator.firmware='1.0.5'"]))
