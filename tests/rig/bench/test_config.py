# SPDX-License-Identifier: Apache-2.0
"""A bench file becomes typed settings, or an error that names the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.bench import config
from rig.errors import ConfigError

GOOD = """
[bench]
name = "b"
[sut.virtual]
[monitor.virtual]
[scenario.single_stream]
[task.null]
"""


def bench(tmp_path: Path, text: str = GOOD) -> Path:
    path = tmp_path / "bench.toml"
    path.write_text(text)
    return path


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    resolved = config.load(bench(tmp_path))
    assert resolved.bench.trials == 5
    assert resolved.sut.kind == "virtual"
    assert resolved.task.settings.samples == 20


def test_the_resolved_file_loads_to_the_same_settings(tmp_path: Path) -> None:
    resolved = config.load(
        bench(tmp_path),
        ["sut.virtual.infer.power_w=0.5", "claim.accuracy=0.9", "metadata.lab=B 12"],
    )
    again = config.load(bench(tmp_path, resolved.toml()))
    assert again == resolved
    assert again.sut.settings.infer.power_w == 0.5
    assert again.sut.settings.infer.duration_s == 0.042
    assert again.metadata == {"lab": "B 12"}


@pytest.mark.parametrize(
    ("change", "path", "hint"),
    [
        ("sut.virtual.clok_ppm=1", "sut.virtual.clok_ppm", "did you mean clock_ppm"),
        (
            "sut.virtual.infer.power=1",
            "sut.virtual.infer.power",
            "did you mean power_w",
        ),
        ("sut.virtual.tick_hz=1.5", "sut.virtual.tick_hz", ""),
        ("sut.virtual.tick_hz=fast", "sut.virtual.tick_hz", ""),
        ("sut.virtual.tick_hz=true", "sut.virtual.tick_hz", ""),
        ("monitor.joule.serial=1", "monitor.joule", "one of: "),
        ("scenario.single_stream.repeat=abc", "scenario.single_stream.repeat", ""),
        ("claim.accuracy=high", "claim", ""),
        ("bench.trials=0", "bench.trials", "1 or more"),
        (
            "scenario.tiny.mode=fast",
            "scenario.tiny.mode",
            "one of performance, energy, accuracy",
        ),
        (
            "sut.virtual.infer.power_w=nan",
            "sut.virtual.infer.power_w",
            "0 W or more",
        ),
        (
            "monitor.virtual.offset_a=nan",
            "monitor.virtual.offset_a",
            "a finite number",
        ),
        (
            "scenario.single_stream.idle_s=0",
            "scenario.single_stream.idle_s",
            "above 0, to 3600 s",
        ),
        ("bench.trails=5", "bench.trails", "did you mean trials"),
        ("benhc.trials=5", "benhc", "did you mean bench"),
        ("bench.name=a/b", "bench.name", "letters"),
        ("metadata.limit=nan", "metadata", "nan"),
        ("metadata.day=2026-01-01", "metadata", "text"),
    ],
)
def test_a_wrong_key_or_value_is_refused_with_its_path(
    tmp_path: Path, change: str, path: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        config.load(bench(tmp_path), [change])
    assert caught.value.path.startswith(path)
    assert hint in caught.value.try_next
    assert caught.value.exit_code == 2


def test_a_path_is_made_absolute_and_its_links_stay(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "python").symlink_to("/bin/sh")
    text = GOOD.replace(
        "[sut.virtual]", '[sut.cpu]\ninterpreter = "../x/../env/python"'
    )
    (tmp_path / "benches").mkdir()
    resolved = config.load(bench(tmp_path / "benches", text))
    assert resolved.sut.settings.interpreter == str(tmp_path / "env" / "python")


@pytest.mark.parametrize("change", ["nonsense", "trials=3", "=3", "sut..port=1"])
def test_a_malformed_override_is_refused(tmp_path: Path, change: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        config.load(bench(tmp_path), [change])


def test_a_missing_section_is_refused_with_what_it_may_hold(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"exactly one table \[task.KIND\]") as caught:
        config.load(bench(tmp_path, GOOD.replace("[task.null]", "")))
    assert "asc" in caught.value.try_next


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is none"),
        ("[sut]\n", "there is none"),
        ("sut = 3\n", "there is the value 3"),
        ("[sut]\nvirtual = 3\n", "there is virtual = 3, which is a value"),
        ("[sut.virtual]\n[sut.posix]\n", "there is virtual, posix"),
    ],
)
def test_what_stands_in_the_place_of_one_kind_is_reported(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=r"exactly one table \[sut.KIND\]") as caught:
        config.load(bench(tmp_path, text))
    assert caught.value.evidence == said


def test_two_kinds_in_one_section_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="exactly one table"):
        config.load(bench(tmp_path, GOOD + "[task.asc]\n"))


def test_a_needed_key_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config.load(bench(tmp_path, GOOD.replace("[sut.virtual]", "[sut.uart]")))
    assert "port" in str(caught.value) and "needed" in str(caught.value)


def test_naming_another_kind_on_the_command_line_switches_to_it(tmp_path: Path) -> None:
    assert config.load(bench(tmp_path), ["task.asc.samples=3"]).task.kind == "asc"


def test_paths_start_at_the_bench_file_or_on_the_command_line_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benches").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    text = GOOD.replace("[sut.virtual]", '[sut.posix]\nprogram = "../firmware/asc"')
    path = bench(tmp_path / "benches", text)
    assert config.load(path).sut.settings.program == str(tmp_path / "firmware" / "asc")
    overridden = config.load(path, ["sut.posix.program=asc"])
    assert overridden.sut.settings.program == str(tmp_path / "work" / "asc")


def test_what_is_not_toml_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not TOML"):
        config.load(bench(tmp_path, "[bench\n"))
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path / "nosuch.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path)
