# SPDX-License-Identifier: Apache-2.0
"""Screens of lists, plans, probes and models, as stored in screens/: successes, and
errors that a user meets, in terminals of three widths and for a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from rig.api.archive.listing import Listed
from rig.bench import examples
from rig.bench.config import BenchSettings
from rig.bench.doctor.row import DoctorRow, RowState
from rig.bench.probe import probe as probe_bench
from rig.bench.scan import FOUND, MISSING, ONBOARD, PROBLEM, SERIAL, ScanRow
from rig.bench.simulated import stated
from rig.cli import bench, docs, doctor, plan, probe, scan
from rig.cli import list as list_command
from rig.cli.boards import firmware
from rig.cli.list import ListedKind
from rig.cli.main import rig
from rig.cli.models import model
from rig.cli.printed.terminal import Terminal, print_error
from rig.cli.printed.window_table import print_windows
from rig.cli.probe import ProbeRow
from rig.errors import RigError
from rig.firmware.toolchain import ImageSize
from rig.measure.trace_windows import WindowRow
from rig.model.finding import Finding
from rig.network import graph
from rig.network.conventions import ConventionChoice
from rig.results import labels
from rig.results.verdict import Outcome
from rig.session import estimate, planning
from rig.settings.fields import fields_of, flat
from sut_backends.sdk import command as sdk
from sut_backends.sdk.doctor import Diagnosis
from sut_backends.sdk.kinds import kinds as sdk_kinds
from tests import screens
from tests.conftest import ROOT

SCREENS = Path(__file__).parent / "screens"
VIRTUAL = ROOT / "benches" / "virtual-asc.toml"
_LIF = ROOT / "tests" / "vectors" / "nir" / "norse-lif-0.001.nir"

#: Screens, each with the same words in every width, and tables, which may have fewer
#: columns in a narrow terminal.
Show = Callable[[Terminal], None]
TEXTS: dict[str, Show] = {}
TABLES: dict[str, Show] = {}


def text(show: Show) -> Show:
    TEXTS[show.__name__.replace("_", "-")] = show
    return show


def table(show: Show) -> Show:
    TABLES[show.__name__.replace("_", "-")] = show
    return show


@text
def list_all(out: Terminal) -> None:
    kinds = {
        "sut": [
            ListedKind("gpu", "", "needs a package that is not installed: torch"),
            ListedKind(
                "qemu",
                "The firmware on a board that qemu-system-arm emulates, behind a pair"
                " of sockets; simulated.",
            ),
            ListedKind(
                "uart", "A device behind a serial port or URL, over the shim protocol."
            ),
        ],
        "monitor": [
            ListedKind(
                "rapl", "The processor's own energy counters: a host measures itself."
            ),
            ListedKind(
                "st_lpm01a",
                "One board under host control; it supplies the DUT, measures its"
                " current and reports edges at its input D7.",
            ),
        ],
        "scenario": [ListedKind("single_stream", "One sample at a time.")],
        "task": [
            ListedKind("null", "Random payloads whose answer is their own beginning.")
        ],
    }
    rows = [
        Listed(
            Path("sessions/20261124T123000Z-virtual-asc"), "success", Outcome.PASS,
            labels=("SIMULATED", "GENERATED DATA", "SUBSET"),
        ),
        Listed(Path("sessions/20261124T121500Z-uart-asc"), "killed", labels=("GENERATED DATA",)),
        Listed(
            Path("sessions/20261124T121000Z-uart-asc"), "unreadable",
            reason="events.jsonl is a link, which leads elsewhere",
        ),
    ]  # fmt: skip
    list_command.print_lists(out, kinds, Path("sessions"), rows)


@text
def list_bench(out: Terminal) -> None:
    list_command.print_settings(out, "bench", list(flat(fields_of(BenchSettings))))


@text
def scan_desk(out: Terminal) -> None:
    scan.show(
        out,
        [
            ScanRow("joulescope", "Joulescope JS220", FOUND, "000415", _JS220),
            ScanRow(
                "keysight_n6705",
                "N6705C",
                PROBLEM,
                "MY1",
                setting="",
                problem=_BUSY,
                try_next=_LET_GO,
            ),
            ScanRow("nvml", "", MISSING, try_next="pip install 'neurorig[nvml]'"),
            ScanRow(SERIAL, f"{_BY_ID}: STM32 STLink", FOUND, "0667FF", _UART),
        ],
    )


@text
def scan_refused(out: Terminal) -> None:
    name = "/dev/ttyACM0: STM32 STLink"
    output = "the port /dev/ttyACM0 may not be opened"
    hint = "the group dialout: sudo usermod -aG dialout $USER, then log in again"
    scan.show(
        out,
        [
            ScanRow(
                SERIAL,
                name,
                PROBLEM,
                "0667FF",
                setting="",
                problem=output,
                try_next=hint,
            )
        ],
    )


@text
def scan_empty(out: Terminal) -> None:
    scan.show(out, [])


@text
def scan_on_board(out: Terminal) -> None:
    scan.show(out, [ScanRow(ONBOARD, "/dev/ttyS0", FOUND)])


def _examined(out: Terminal, rows: list[DoctorRow], bench: Path | None) -> None:
    before = ""
    for row in rows:
        doctor.print_row(out, row, before)
        before = row.group
    doctor.print_end(out, rows, bench)


@text
def doctor_all(out: Terminal) -> None:
    install = "sudo install -m 644 72-neurorig.rules /etc/udev/rules.d/"
    rows = [
        DoctorRow("this computer", "system", RowState.OK, "Linux 6.1.0, x86_64", needed=True),
        DoctorRow("this computer", "Python", RowState.OK, "3.11.2, 64 bits", needed=True),
        DoctorRow(
            "sessions", "disk speed", RowState.OK,
            "512 MB/s, synchronised: over twice the 16 MB/s of a Joulescope at 2 MHz;"
            " a megabyte took 0.004 s at most",
            needed=True,
        ),
        DoctorRow(
            "packages", "[joulescope]", RowState.MISSING,
            "pyjoulescope_driver: not installed", "pip install 'neurorig[joulescope]'",
        ),
        DoctorRow("programs", "cc", RowState.OK, "cc (Debian 12.2.0-14) 12.2.0"),
        DoctorRow("ports", "udev rules", RowState.MISSING, "not installed", install),
    ]  # fmt: skip
    _examined(out, rows, None)


@text
def doctor_missing(out: Terminal) -> None:
    rows = [
        DoctorRow("this computer", "system", RowState.OK, "Linux 6.1.0, x86_64", needed=True),
        DoctorRow(
            "ports", "serial port", RowState.WRONG,
            "/dev/ttyACM0: STM32 [STLink], root:dialout 0660: no permission to use the"
            " port: you are not in the group dialout",
            "sudo usermod -aG dialout $USER, then log in again", needed=True,
        ),
        DoctorRow(
            "ports", "ModemManager", RowState.WRONG,
            "runs, and opens ttyACM0 for seconds after they are plugged in",
            "sudo install -m 644 72-neurorig.rules /etc/udev/rules.d/",
        ),
    ]  # fmt: skip
    _examined(out, rows, Path("bench.toml"))


@text
def probe_virtual(out: Terminal) -> None:
    rows = [ProbeRow(finding) for finding in probe_bench(VIRTUAL)]
    for row in rows:
        probe.print_row(out, row)
    probe.print_end(out, Path("bench.toml"), rows)


@text
def probe_wrong(out: Terminal) -> None:
    wire = "wire SYNC to the monitor's input, and ground to ground"
    rate = (
        "not decided, this computer is too busy: 1000000 Hz stated, 978066 Hz by this"
        " host's "
    )
    rows = [
        ProbeRow(Finding("monitor", True, "Joulescope JS220, 2 MHz")),
        ProbeRow(
            Finding(
                "timer rate", True, f"{rate}clock, known to 1.4 %",
                "again with fewer programs running; the limit is 2%", tested=False,
            )
        ),
        ProbeRow(
            Finding("SYNC wire", False, "8 marks of the device, 0 edges at the monitor", wire),
            "PASS, 8 marks of the device, 8 edges at the monitor",
        ),
    ]  # fmt: skip
    for row in rows:
        probe.print_row(out, row)
    probe.print_end(out, Path("bench.toml"), rows)


@text
def probe_undecided(out: Terminal) -> None:
    rows = [
        ProbeRow(Finding("device", True, "board, 1.0", simulated=True)),
        ProbeRow(Finding("stack", True, "the port does not know", tested=False)),
    ]
    for row in rows:
        probe.print_row(out, row)
    probe.print_end(out, Path("bench.toml"), rows)


@text
def plan_virtual(out: Terminal) -> None:
    _plan(out, free_b=80_000_000_000)


@text
def plan_device(out: Terminal) -> None:
    _plan(out, free_b=80_000_000_000, bench=ROOT / "benches" / "pico-asc.toml")


@text
def plan_no_room(out: Terminal) -> None:
    _plan(out, free_b=1_000_000)


@text
def sdk_doctor(out: Terminal) -> None:
    known = sdk_kinds()
    result = {
        "gpu": Diagnosis(
            "gpu", "bin/python", "CPython 3.11.4", (), wrote=("a/cache",), imports=True
        ),
        "loihi": Diagnosis("loihi", "", "", ("not installed",)),
        "spinnaker": Diagnosis(
            "spinnaker",
            "bin/python",
            "CPython 3.11.4",
            (_OTHER,),
            wrote=(),
            imports=True,
        ),
        "xylo": Diagnosis("xylo", "bin/python", "CPython 3.11.4", (_FAILS,)),
    }
    sdk.print_diagnoses(out, [(known[name], result[name]) for name in result])


@text
def firmware_build(out: Terminal) -> None:
    sizes = {
        "asc": (18_424, 640, 31_000),
        "null": (9_884, 104, 9_664),
        "qubo": (8, 1, 26_275_536),
    }
    images = [
        ImageSize(Path(f"build/stm32f405/{name}.elf"), *each)
        for name, each in sizes.items()
    ]
    firmware.print_images(out, images)


@text
def docs_pages(out: Terminal) -> None:
    pages = {
        "tutorials": [("WRITE_A_SCENARIO", "Write a scenario")],
        "how-to": [
            ("CHECK", "Checking a session: your own, or one from an untrusted source"),
            ("MEASURE", "rig measure: the energy of a trace of any origin"),
        ],
    }
    docs.print_pages(out, pages)


@text
def bench_new(out: Terminal) -> None:
    path = Path("mine.toml")
    bench.print_written(out, path, examples.steps("host-asc-rapl", path))


@table
def model_inspect(out: Terminal) -> None:
    read = graph.read(_LIF)
    how = ConventionChoice().of(graph.taken_apart(read)[0])
    model.print_network(out, graph.network(read), how)


@table
def measure_trial(out: Terminal) -> None:
    names = (
        "1",
        "9 idle",
        "10 preprocess of sample 12, warm-up",
        "11 infer of sample 12",
    )
    rows = [
        WindowRow(
            name, 0.5 * k, 0.06, 2.519e-3, energy_u_j=3e-6, energy_u95_j=7.5e-6,
            charge_c=7.6e-4, charge_u_c=1e-6, charge_u95_c=2e-6,
            mean_w=0.042, mean_u_w=1e-4, mean_u95_w=2e-4,
            least_w=0.012, most_w=0.045, mean_a=0.0127, mean_u_a=1e-5, mean_u95_a=2e-5,
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    rows[0] = WindowRow("1", 0.0, 0.06, problem="5 samples in it are lost: overflow")
    rows.append(replace(rows[1], name="total"))
    print_windows(out, "trial-1", ["SIMULATED"], rows)


_JS220 = '[monitor.joulescope]\ndevice = "u/js220/000415"'
_BY_ID = "/dev/serial/by-id/usb-STMicroelectronics_STM32_STLink_0667FF-if02"
_UART = f'[sut.uart]\nport = "{_BY_ID}"'
_BUSY = "N6705C is in use: another program has it open"
_LET_GO = "end the program that has it, then look again"
_OTHER = "numpy 2.4.0 is there, tried with ==1.26.4"
_FAILS = (
    "import samna: libsamna.so: cannot open shared object file: No such file or"
    " directory"
)

ERRORS = {
    "list-no-section": ("list", "device.uart"),
    "list-no-kind": ("list", "sut.uar"),
    "probe-no-bench": ("probe", "nosuch.toml"),
    "probe-wrong-setting": ("probe", str(VIRTUAL), "--set", "sut.virtual.clok_ppm=1"),
    "probe-no-recording": ("probe", str(VIRTUAL), "--replay", "nosuch.contact"),
    "plan-no-bench": ("plan", "nosuch.toml"),
    "plan-out-of-range": ("plan", str(VIRTUAL), "--set", "bench.trials=0"),
    "plan-no-value": ("plan", str(VIRTUAL), "--set", "bench.trials"),
    "sdk-unknown": ("sdk", "doctor", "loihi2"),
    "model-no-file": ("model", "inspect", "nosuch.nir"),
    "model-no-array": (
        "model",
        "inspect",
        str(_LIF),
        "--input",
        "nosuch.npy",
        "--dt",
        "0.001",
    ),
    "firmware-no-project": ("firmware", "build", "nosuch"),
    "firmware-no-model": ("firmware", "build", "nosuch", "--dt", "0.001"),
    "firmware-no-image": ("firmware", "flash", "text.jls"),
    "measure-no-trace": ("measure", "nosuch.jls"),
    "measure-two-ways": ("measure", "nosuch.jls", "--whole", "--markers"),
    "measure-no-jls": ("measure", "text.jls"),
    "docs-no-page": ("docs", "MEASUR"),
    "bench-unknown": ("bench", "new", "virtual"),
    "bench-there": ("bench", "new", "virtual-asc"),
}


def _plan(out: Terminal, free_b: int, bench: Path = VIRTUAL) -> None:
    scenario, task, resolved = planning.open_plan(bench)
    steps = planning.steps(scenario, task, planning.trial_seed(resolved.bench.seed, 1))
    result = estimate.of_plan(scenario, task, resolved, 5, Path("nosuch"))
    facts = stated(resolved) | {"task": {"samples": len(task)} | task.provenance()}
    marked = labels.of_provenance(facts)
    plan.print_plan(out, steps[:5], steps, replace(result, free_b=free_b), marked)


def refused(words: tuple[str, ...]) -> Show:
    error = CliRunner().invoke(rig, words, standalone_mode=False).exception
    assert isinstance(error, RigError), error
    return lambda out: print_error(out, error)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be in a folder with files whose names are wrong."""
    monkeypatch.chdir(tmp_path)
    for name in ("text.jls", "virtual-asc.toml"):
        (tmp_path / name).write_text("words of another kind\n")
    yield


def in_all_widths(show: Show) -> dict[str, str]:
    shown = {
        f"{width} columns": screens.screen(show, width) for width in screens.WIDTHS
    }
    return shown | {"piped": screens.screen(show, 80, piped=True)}


def compare(name: str, shown: dict[str, str]) -> None:
    """Compare a screen with the stored one, all widths below each other; and see that
    no line is wider than the terminal, but for one word that is to be copied.
    """
    stored = "\n".join(f"---- {head} ----\n{output}" for head, output in shown.items())
    screens.compare(SCREENS / f"{name}.txt", stored)
    for width in screens.WIDTHS:
        wide = [
            line for line in shown[f"{width} columns"].splitlines() if len(line) > width
        ]
        assert all(max(map(len, line.split())) > width / 2 for line in wide), wide


@pytest.mark.parametrize("name", [*TEXTS, *ERRORS])
def test_a_text_has_every_word_whole_in_every_width(name: str) -> None:
    shown = in_all_widths(TEXTS[name] if name in TEXTS else refused(ERRORS[name]))
    compare(name, shown)
    words = {head: output.split() for head, output in shown.items()}
    assert all(each == words["piped"] for each in words.values())


@pytest.mark.parametrize("name", TABLES)
def test_a_table_cuts_no_cell(name: str) -> None:
    shown = in_all_widths(TABLES[name])
    compare(name, shown)
    assert not any("…" in output for output in shown.values())
