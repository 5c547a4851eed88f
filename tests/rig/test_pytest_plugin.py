# SPDX-License-Identifier: Apache-2.0
"""The plugin: a whole test of a device in two lines."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.commands import pytest_in
from tests.conftest import ROOT, VIRTUAL_NULL

SHORT = (
    "--rig-set",
    "task.null.samples=4",
    "--rig-set",
    "scenario.single_stream.idle_s=0.1",
)
BENCH = ("--rig-bench", VIRTUAL_NULL, *SHORT)
#: A time base that differs by more than the rig believes: every trial is invalid.
INVALID = ("--rig-set", "monitor.virtual.clock_ppm=900")


def test_a_two_line_test_runs_on_any_bench(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_energy(rig_session):
            assert rig_session.metrics["energy_infer"] < 5e-3
        """
    )
    done = pytest_in(pytester, *BENCH)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(
        [
            "rig bench: *virtual-null.toml (RANDOM BYTES)",
            "rig session: *: PASS (SIMULATED, RANDOM BYTES)",
        ]
    )


def test_an_invalid_session_fails_the_test_of_the_readme_and_says_why(
    pytester: pytest.Pytester,
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = next(
        block
        for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        if "def test_" in block
    )
    pytester.makepyfile(example)
    done = pytest_in(pytester, *BENCH, *INVALID, "--rig-trials", "1")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(
        ["the session * is invalid:", "trial 1: clock: *", "rig session: *: INVALID *"]
    )


def test_a_session_that_is_worse_than_its_baseline_fails(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        def test_no_regression(rig_regression):
            assert rig_regression
        """
    )
    pytest_in(pytester, *BENCH).assert_outcomes(skipped=1)
    kept = ("--rig-sessions", "kept")
    pytest_in(pytester, *BENCH, *kept).assert_outcomes(skipped=1)
    baseline = ("--rig-baseline", "kept")
    pytest_in(pytester, *BENCH, *baseline).assert_outcomes(passed=1)
    slower = ("--rig-set", "sut.virtual.infer.duration_s=0.05")
    done = pytest_in(pytester, *BENCH, *baseline, *slower)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "E  *assert FAIL: worse: latency_total by 0.00* s, *",
        ]
    )


def test_a_failed_comparison_shows_value_interval_and_verdict(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        def test_value(rig_session):
            assert rig_session.metrics["energy_infer"] < 5e-4

        def test_strict(rig_session):
            assert rig_session.metrics["energy_infer"].surely_below(5e-4)

        def test_not_shown(rig_session):
            assert rig_session.metrics["energy_infer"].possibly_below(5e-4)
        """
    )
    done = pytest_in(pytester, *BENCH)
    done.assert_outcomes(failed=3)
    done.stdout.fnmatch_lines(
        [
            "E  *assert energy_infer < 500 µJ",
            "E  *energy_infer is 1.8* mJ (SIMULATED, RANDOM BYTES)",
            "E  *measured again: 1.8* to 1.* mJ",
            "E  *for other samples: *",
            "E  *verdict of the session on it: PASS",
            "E  *assert not surely below 500 µJ: energy_infer = *, PASS*",
            "E  *assert not possibly below 500 µJ: energy_infer = *, PASS*",
        ]
    )


def test_the_bench_is_open_in_a_test_and_its_supply_off_afterwards(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        def test_marks(rig_bench, worlds):
            worlds.append(rig_bench.context.world)
            assert worlds[0].supply_on
            assert len(rig_bench.sync().marks) == 8
        """
    )
    pytester.makeconftest(
        """
        import pytest

        kept = []

        @pytest.fixture
        def worlds():
            return kept

        def pytest_unconfigure():
            assert not kept[0].supply_on
            print("the supply is off")
        """
    )
    done = pytest_in(pytester, *BENCH)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*the supply is off*"])


def test_a_bench_that_does_not_open_fails_or_skips_only_its_own_tests(
    pytester: pytest.Pytester,
) -> None:
    pytester.makefile(
        ".toml",
        gone='[bench]\nname = "gone"\n[sut.uart]\nport = "/dev/gone"\n[monitor.none]\n'
        "[scenario.single_stream]\n[task.null]\nsamples = 4\n",
        wrong="[bench]\nnam = 1\n",
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.rig(bench="gone.toml")
        def test_of_the_bench(rig_session):
            pass

        @pytest.mark.rig(bench="gone.toml")
        def test_of_it_too(rig_bench):
            pass

        @pytest.mark.rig(bench="wrong.toml")
        def test_of_a_wrong_file(rig_bench):
            pass

        def test_of_another(rig_session):
            assert rig_session.valid

        def test_without_any():
            pass
        """
    )
    failed = pytest_in(pytester, *BENCH)
    failed.assert_outcomes(passed=2, errors=3)
    assert failed.stdout.str().count("gone.toml does not open: ") >= 2
    assert "Traceback" not in failed.stdout.str()
    skipped = pytest_in(pytester, *BENCH, "--rig-skip")
    skipped.assert_outcomes(passed=2, skipped=2, errors=1)


#: The line of pytest's output between an exception and its cause.
CHAIN = re.compile("another exception occurred|direct cause")


def test_an_error_of_a_fixture_or_a_test_has_one_cause(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In CI pytest repeats whole messages in its summary.
    monkeypatch.delenv("CI", raising=False)
    pytester.makefile(
        ".toml",
        gone='[bench]\nname = "gone"\n[sut.uart]\nport = "/dev/gone"\n[monitor.none]\n'
        "[scenario.single_stream]\n[task.null]\nsamples = 4\n",
    )
    pytester.makepyfile(
        """
        import pytest
        import rig

        @pytest.mark.rig(bench="gone.toml")
        def test_of_the_bench(rig_session):
            pass

        @pytest.mark.rig(bench="nosuch.toml")
        def test_of_no_file(rig_session):
            pass

        def test_that_opens_it():
            with rig.open_bench("gone.toml"):
                pass
        """
    )
    done = pytest_in(pytester, *BENCH)
    done.assert_outcomes(failed=1, errors=2)
    assert not CHAIN.search(done.stdout.str())
    assert done.stdout.str().count("there is no port /dev/gone") == 2
    done.stdout.fnmatch_lines(["E *DeviceNotFound: there is no port /dev/gone"])
    whole = pytest_in(
        pytester, *BENCH, "--full-trace", "-k", "test_that_opens_it"
    ).stdout.str()
    assert CHAIN.search(whole) and "SerialException" in whole


def test_a_session_that_fails_has_one_cause(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(rig_session): pass")
    done = pytest_in(pytester, *BENCH, "--rig-set", "sut.virtual.slot_b=1")
    done.assert_outcomes(errors=1)
    assert not CHAIN.search(done.stdout.str())
    assert "failed: sample" in done.stdout.str()


def test_a_test_runs_on_each_bench_and_a_marker_changes_its_settings(
    pytester: pytest.Pytester,
) -> None:
    other = pytester.path / "other.toml"
    other.write_text(VIRTUAL_NULL.read_text().replace("virtual-null", "other"))
    pytester.makepyfile(
        """
        import pytest

        def test_on_each(rig_session):
            assert len(rig_session.trials()) == 2

        @pytest.mark.rig(set={"task.null.samples": 3}, trials=1)
        def test_marked(rig_session):
            assert len(rig_session.samples()) == 3

        @pytest.mark.rig(bench="other.toml")
        def test_of_one(rig_session):
            assert rig_session.content["bench"] == "other"
        """
    )
    done = pytest_in(
        pytester,
        *BENCH,
        "--rig-bench",
        other,
        "--rig-trials",
        "2",
        "-v",
        "--rig-sessions",
        "kept",
    )
    done.assert_outcomes(passed=5)
    done.stdout.fnmatch_lines_random(
        ["*test_on_each[[]virtual-null[]] PASSED*", "*test_on_each[[]other[]] PASSED*"]
    )
    assert len(list((pytester.path / "kept").iterdir())) == 4, (
        "one session for each choice"
    )


def test_a_marker_with_a_wrong_key_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.rig(benches="a.toml")
        def test_it(rig_session):
            pass
        """
    )
    done = pytest_in(pytester)
    assert done.ret != 0
    done.stdout.fnmatch_lines(["*the rig marker has bench, set, trials*"])


@pytest.mark.parametrize("trials", ["0", "-1", "2.5", "True"])
def test_a_number_of_trials_that_is_none_is_refused(
    pytester: pytest.Pytester, trials: str
) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.rig(trials={trials})
        def test_it(rig_session):
            pass
        """
    )
    kept = ("--rig-sessions", "kept")
    done = pytest_in(pytester, *BENCH, *kept)
    assert done.ret != 0
    done.stdout.fnmatch_lines([f"*rig marker: trials: {trials} is no number of trials"])
    done = pytest_in(pytester, *BENCH, *kept, "--rig-trials", trials)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*--rig-trials: '{trials}' is no whole number, 1 or*"])
    assert not (pytester.path / "kept").exists()


def test_a_report_for_machines_has_the_metrics_that_a_test_looked_up(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        def test_energy(rig_session):
            assert rig_session.metrics["energy_infer"] < 5e-3

        def test_nothing(rig_session):
            pass
        """
    )
    pytest_in(
        pytester, *BENCH, "--rig-sessions", "kept", "--junit-xml", "report.xml"
    ).assert_outcomes(passed=2)
    cases = ElementTree.parse(pytester.path / "report.xml").findall(".//testcase")

    def properties(case: ElementTree.Element) -> dict[str, str]:
        items = case.iter("property")
        return {item.get("name", ""): item.get("value", "") for item in items}

    energy, nothing = map(properties, cases)
    assert re.fullmatch(r"kept/\d{8}T\d{6}Z-virtual-null", energy["rig.session"])
    assert energy["rig.verdict"] == "PASS"
    assert energy["rig.labels"] == "SIMULATED, RANDOM BYTES"
    assert float(energy["rig.energy_infer.value"]) == pytest.approx(1.885e-3, rel=1e-2)
    assert energy["rig.energy_infer.unit"] == "J"
    low, high = map(float, energy["rig.energy_infer.interval"].split(" to "))
    assert low < float(energy["rig.energy_infer.value"]) < high
    assert energy["rig.energy_infer.verdict"] == "PASS"
    assert "rig.session" in nothing and "rig.energy_infer.value" not in nothing


def test_the_options_are_in_the_help(pytester: pytest.Pytester) -> None:
    done = pytest_in(pytester, "--help")
    options = [
        "--rig-bench",
        "--rig-set",
        "--rig-trials",
        "--rig-sessions",
        "--rig-skip",
    ]
    for option in options:
        assert f"  {option}" in done.stdout.str()
    assert "rig(bench=FILE" in pytest_in(pytester, "--markers").stdout.str()


def test_a_folder_that_takes_no_sessions_fails_before_the_bench_opens(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_it(rig_session): pass")
    pytester.path.joinpath("taken").touch()
    shut = (
        "--rig-set",
        "sut.posix.program=/nosuch",
        "--rig-sessions",
        "taken/sessions",
    )
    done = pytest_in(pytester, *BENCH, *shut)
    done.stdout.fnmatch_lines(["*taken/sessions cannot be written or read*"])
    done.stdout.fnmatch_lines(["*try: another folder: --rig-sessions FOLDER*"])
