# SPDX-License-Identifier: Apache-2.0
"""What an error, a finding or a scan says is to be tried exists: each command and
option, each setting and kind, each extra and page; and an option is one of the command
that says it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint

import click
import pytest

from rig.bench import plugins
from rig.bench.config import BenchSettings
from rig.bench.place_settings import LabgridSettings
from rig.cli.main import rig
from rig.errors import ConfigError
from rig.settings.fields import fields_of, flat
from rig.uncertainty.accuracy import Accuracy
from tests.conftest import ROOT
from tests.hints import Hint, hints
from tests.rig.cli.test_hints import unknown

#: Which commands print the hints of a file or folder that name options, where it is not
#: the file of a command itself.
CONTEXTS = {
    "drivers/nordic_ppk2/driver.py": ("probe",),
    "rig/api/backends": ("compare",),
    "rig/audit": ("audit",),
    "rig/cli/audit_sessions.py": ("audit",),
    "rig/bench/config.py": ("run", "probe", "plan", "compare", "serve", "qubo largest"),
    "rig/bench/contact_file.py": ("probe",),
    "rig/bench/doctor": ("doctor",),
    "rig/bench/qualification": ("monitor check",),
    "rig/cli/boards/firmware.py": ("firmware new",),
    "rig/cli/boards/firmware_model.py": ("firmware build",),
    "rig/cli/boards/questions.py": ("start",),
    "rig/cli/boards/firmware_sww.py": ("firmware build",),
    "rig/cli/boards/firmware_tflite.py": ("firmware build",),
    "rig/cli/compare_backends.py": ("compare",),
    "rig/cli/measure_windows.py": ("measure",),
    "rig/cli/options.py": ("sessions", "list"),
    "rig/cli/run_bench.py": ("run", "demo"),
    "rig/firmware/cmsis_nn.py": ("firmware build",),
    "rig/firmware/flasher.py": ("firmware flash",),
    "rig/firmware/flashing.py": ("firmware flash",),
    "rig/firmware/uf2.py": ("firmware flash",),
    "rig/firmware/uf2_drive.py": ("firmware flash",),
    "rig/host/tls_port.py": ("serve",),
    # Options of the file itself are data there: tests/rig/importers/test_advice.py.
    "rig/importers": ("measure",),
    "rig/measure": ("measure",),
    "rig/network": (
        *("model inspect", "model check", "model run", "model quantize", "model map"),
        *("model sense", "compare", "firmware build"),
    ),
    "scenarios/tasks/mlperf_tiny": ("tiny",),
    "scenarios/tasks/qubo": ("qubo targets",),
    "sut_backends/loihi": ("model map", "model sense"),
    "sut_backends/sdk": ("sdk install", "sdk doctor"),
    "sut_backends/served": ("serve",),
    "sut_backends/spinnaker": ("model map",),
}
#: Keys of a bench file that replace an option: `rig run` has hints for a network too.
IN_BENCH = {"--dt": "dt_s", "--as": "rule", "--reset": "reset"}
#: Hints of other programs' options: git's, pip's, udevadm's, and pytest's with our plug-in.
OTHERS = {
    "rig/cli/boards/firmware_tflite.py": {"--depth"},
    "rig/bench/doctor/installed.py": {"--force-reinstall"},
    "rig/bench/doctor/usb.py": {"--reload"},
    "rig/firmware/cmsis_nn.py": {"--depth"},
    "rig/files/shipped.py": {"--target"},
    "rig/pytest_plugin/__init__.py": {"--rig-sessions"},
}
#: Where a hint names no setting of another kind than its own.
HOMES = {"sut": "sut_backends/", "monitor": "drivers/"}
#: Of a claim, a line of any metric.
CLAIMED = "metric"
_COMMAND = re.compile(r"(?:^|[;:,.?] |\b(?:or|after|else) )rig ([a-z][^;,()?]*)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_PATH = re.compile(
    r"(?<![\w/.-])(sut|monitor|scenario|task|bench)\.([a-z][a-z0-9_.]*[a-z0-9_])"
)
_TABLE = re.compile(r"\[(sut|monitor|scenario|task)\.([a-z]\w*)\]")
_SETTING = re.compile(r"(?<![\w.])([a-z][a-z0-9_.]*) = ")
_EXTRA = re.compile(r"neurorig\[(\w+)\]")
_PAGE = re.compile(r"docs/([\w/-]+\.md)(?: section (\d+))?")


@cache
def commands() -> dict[str, click.Command]:
    """Return all commands, by their words."""
    result: dict[str, click.Command] = {}
    groups: list[tuple[str, click.Group]] = [("", rig)]
    for words, group in groups:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            result[f"{words} {name}".strip()] = command
            if isinstance(command, click.Group):
                groups.append((f"{words} {name}".strip(), command))
    return result


def options(command: click.Command) -> set[str]:
    """Return the options of a command."""
    named = []
    for parameter in command.params:
        named += [*parameter.opts, *parameter.secondary_opts]
    return {"--help", *named}


def speakers(path: str) -> list[click.Command]:
    """Return the commands that print the hints of a file; none where that is not
    known."""
    for position, names in CONTEXTS.items():
        if path == position or path.startswith(f"{position}/"):
            return [commands()[name] for name in names]
    own = path.removesuffix(".py").replace("/", ".")
    return [
        value
        for value in commands().values()
        if value.callback
        and value.callback.__module__ == own
        and not isinstance(value, click.Group)
    ]


def wrong_options(hint: Hint) -> Iterator[str]:
    """Yield the options that a hint names and no command that says it has."""
    rest = hint.text
    for line in _COMMAND.findall(hint.text):
        if what := unknown(line.rstrip(". ").split()):
            yield f"rig {line}: {what}"
        rest = rest.replace(line, "")
    named = set(_OPTION.findall(rest)) - OTHERS.get(hint.path, set()) - {"--help"}
    if not named:
        return
    if not speakers(hint.path):
        yield f"{', '.join(sorted(named))}: of which command?"
    if hint.path.startswith("rig/network/"):
        yield from (
            f"no {IN_BENCH[item]}" for item in named if IN_BENCH[item] not in rest
        )
    for command in speakers(hint.path):
        if missing := named - options(command):
            yield f"{', '.join(sorted(missing))}: not of rig {command.name}"


@cache
def keys(section: str, kind: str) -> frozenset[str]:
    """Return the keys of a kind's settings, those of tables in it, and the tables
    themselves."""
    settings = (
        BenchSettings if section == "bench" else plugins.find(section, kind).Settings
    )
    result = set()
    for key, field in flat(fields_of(settings)):
        result |= {key} | {f"{key}.{part}" for part, _ in flat(field.nested or ())}
    prefixes: set[str] = set()
    for key in result:
        prefixes |= {key[: match.start()] for match in re.finditer(r"\.|$", key)}
    return frozenset(prefixes)


@cache
def every_key() -> frozenset[str]:
    """Return the keys of all settings, whole and by their last part, and those of
    calibrations."""
    result = set(keys("bench", "")) | {f"bench.{key}" for key in keys("bench", "")}
    for section in plugins.GROUPS:
        for kind in plugins.names(section):
            own = keys(section, kind)
            result |= own | {f"{section}.{kind}.{key}" for key in own}
    lent = LabgridSettings.__dataclass_fields__
    result |= {f"labgrid.{key}" for key in lent}
    result |= {key.rpartition(".")[2] for key in result}
    return frozenset(result | {CLAIMED} | set(Accuracy.__dataclass_fields__))


def is_of(path: str, section: str, kind: str) -> bool:
    """Return whether a file is of the folder that brings a kind."""
    [result] = (
        item for item in plugins.installed(plugins.GROUPS[section]) if item.name == kind
    )
    return path.startswith("/".join(result.module.split(".")[:2]))


def wrong_settings(hint: Hint) -> Iterator[str]:
    """Yield the settings, tables and kinds that a hint names and that do not exist."""
    for section, rest in _PATH.findall(hint.text):
        kind, _, key = (
            (section, "", rest) if section == "bench" else rest.partition(".")
        )
        is_known = section == "bench" or kind in plugins.names(section)
        is_at_home = key and hint.path.startswith(HOMES.get(section, "\n"))
        if not is_known or (key and key not in keys(section, kind)):
            yield f"{section}.{rest}"
        elif is_at_home and not is_of(hint.path, section, kind):
            yield f"{section}.{rest} is another kind's"
    for section, kind in _TABLE.findall(hint.text):
        if kind not in plugins.names(section):
            yield f"[{section}.{kind}]"
    yield from (name for name in _SETTING.findall(hint.text) if name not in every_key())


def wrong_places(hint: Hint) -> Iterator[str]:
    """Yield the extras and pages that a hint names and that do not exist."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra in _EXTRA.findall(hint.text):
        if extra not in extras["optional-dependencies"] and extra != "X":
            yield f"neurorig[{extra}]"
    for page, section in _PAGE.findall(hint.text):
        path = ROOT / "docs" / page
        text = path.read_text("utf-8") if path.exists() else ""
        if not text or (section and f"\n## {section}" not in text):
            yield f"{page} {section}"


@cache
def every_hint() -> tuple[Hint, ...]:
    result = tuple(hints())
    assert (
        len({(hint.path, hint.line) for hint in result if hint.text not in ("", "X")})
        > 500
    )
    return result


@pytest.mark.parametrize(
    ("wrong", "known"),
    [
        (wrong_options, "--edges with another pattern"),
        (wrong_settings, "task.asc.cache"),
        (wrong_places, "docs/reference/PROTOCOL.md section 4"),
    ],
)
def test_what_is_to_be_tried_exists(wrong: object, known: str) -> None:
    assert callable(wrong)
    assert any(known in hint.text for hint in every_hint()), (
        "the search finds what is known"
    )
    result = set()
    for hint in every_hint():
        where = f"{hint.path}:{hint.line}"
        result |= {f"{where}: {fault} in {hint.text!r}" for fault in wrong(hint)}
    assert not result, "\n".join(sorted(result))


@pytest.mark.parametrize(
    ("wrong", "path", "text"),
    [
        (wrong_options, "rig/cli/bench.py", "another folder: --sessions"),
        (wrong_options, "gui/run/form.py", "--supply-v VOLTS"),
        (wrong_options, "rig/store/event_file.py", "rig check SESSION --sessions x"),
        (wrong_options, "rig/store/event_file.py", "rig chekc SESSION"),
        (wrong_settings, "sut_backends/gpu/backend.py", "sut.cpu.slost = 2"),
        (wrong_settings, "sut_backends/gpu/backend.py", "[sut.cpus]"),
        (wrong_settings, "sut_backends/workers/sut.py", "sut.cpu.slots = 2 or more"),
        (wrong_options, "rig/network/interpreter.py", "--dt, in seconds"),
        (wrong_settings, "sut_backends/gpu/backend.py", "slost = 2"),
        (wrong_places, "rig/bench/scan.py", "pip install 'neurorig[posix]'"),
        (wrong_places, "rig/bench/scan.py", "docs/NOSUCH.md"),
        (wrong_places, "rig/bench/scan.py", "docs/reference/PROTOCOL.md section 99"),
    ],
)
def test_what_does_not_exist_is_found(wrong: object, path: str, text: str) -> None:
    assert callable(wrong)
    assert list(wrong(Hint(path, 1, text)))


def test_a_kind_without_an_extra_is_installed_again_with_what_it_needs() -> None:
    broken = EntryPoint("posix", "nosuch_module:Sut", "rig.suts")
    with pytest.raises(ConfigError) as caught:
        plugins.loaded(broken, "sut.posix", plugins.extra("posix"))
    assert "neurorig[" not in caught.value.try_next
    with pytest.raises(ConfigError) as caught:
        plugins.loaded(
            broken, "monitor.keysight_n6705", plugins.extra("keysight_n6705")
        )
    assert caught.value.try_next == "pip install 'neurorig[keysight]'"
