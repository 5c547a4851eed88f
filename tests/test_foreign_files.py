# SPDX-License-Identifier: Apache-2.0
"""Files of other people's folders are opened in rig/files/foreign_files.py; files
opened in other modules are listed here, with the reason why the file is the user's own
or the rig's own.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from tests.conftest import ROOT
from tests.sources import parsed

TOPS = ("rig", "gui", "sut_backends", "scenarios", "drivers")
THE_ONE = "rig/files/foreign_files.py"

OWN_OUTPUT = "what the rig writes itself, or wrote a moment before"
OWN_CACHE = "the rig's own cache or settings of this user"
SHIPPED = "shipped with the rig, or a project that the rig made"
SYSTEM = "a file or a device of the operating system"
NAMED = "a file that the user names: a data set, a bench's model, a program"
LOOKED_AT = (
    "a trace that the user names, which rig/importers/markers.py looked at before"
)
JOB = "a job that the rig wrote for its worker"
MEMORY = "no file: bytes in memory, standard input, or an instrument's answer"
WIDGET = "no file: a dialog or a trace view"
CHECKED = "rig/files/foreign_files.py looked at it: a library of C opens it by its name"
#: Where else something is opened: how often, and why it is no file of another person's
#: folder.
ELSEWHERE = {
    "drivers/host_counters/nvml_state.py": (2, SYSTEM),
    "drivers/host_counters/ina3221_rails.py": (2, SYSTEM),
    "drivers/host_counters/rapl.py": (2, SYSTEM),
    "drivers/keysight_n6705/link.py": (3, MEMORY),
    "drivers/keysight_n6705/visa.py": (2, MEMORY),
    "drivers/playback.py": (2, NAMED),
    "drivers/worker_lines.py": (1, OWN_OUTPUT),
    "gui/memory.py": (1, OWN_CACHE),
    "gui/widgets/file_dialog.py": (1, WIDGET),
    "gui/trace/screen.py": (2, WIDGET),
    "rig/api/site/download.py": (1, OWN_OUTPUT),
    "rig/report/site/pages.py": (1, SHIPPED),
    "rig/api/archive/kept_rows.py": (1, OWN_CACHE),
    "rig/api/backends/images.py": (1, OWN_CACHE),
    "rig/api/backends/trains.py": (1, MEMORY),
    "rig/api/campaign/campaign.py": (1, OWN_OUTPUT),
    "rig/api/campaign/cell_process.py": (1, MEMORY),
    "rig/api/campaign/dask_hosts.py": (1, OWN_OUTPUT),
    "rig/api/support/bundle.py": (1, MEMORY),
    "rig/api/traces/export.py": (1, OWN_OUTPUT),
    "rig/bench/bench_file.py": (1, NAMED),
    "rig/bench/contact_file.py": (2, NAMED),
    "rig/bench/diagrams/page.py": (1, SHIPPED),
    "rig/bench/doctor/installed.py": (1, SHIPPED),
    "rig/bench/doctor/row.py": (1, SYSTEM),
    "rig/bench/doctor/usb.py": (3, SYSTEM),
    "rig/bench/examples.py": (3, SHIPPED),
    "rig/bench/labgrid/holder.py": (1, OWN_CACHE),
    "rig/bench/plugins.py": (1, SHIPPED),
    "rig/bench/scan.py": (1, SYSTEM),
    "rig/check/trial_processes.py": (1, MEMORY),
    "rig/cli/boards/firmware_sww.py": (1, NAMED),
    "rig/cli/boards/firmware_tflite.py": (1, NAMED),
    "rig/cli/docs.py": (3, SHIPPED),
    "rig/cli/main.py": (1, SYSTEM),
    "rig/cli/printed/terminal.py": (1, SYSTEM),
    "rig/firmware/cmsis_nn.py": (1, SHIPPED),
    "rig/firmware/elf.py": (1, NAMED),
    "rig/firmware/part.py": (1, SHIPPED),
    "rig/firmware/project.py": (4, SHIPPED),
    "rig/firmware/uf2_drive.py": (2, SYSTEM),
    "rig/host/kill_with_parent.py": (1, SYSTEM),
    "rig/host/program.py": (2, OWN_OUTPUT),
    "rig/host/pseudo_terminal.py": (1, SYSTEM),
    "rig/host/serial_port.py": (1, SYSTEM),
    "rig/importers/joulescope/jls1.py": (1, LOOKED_AT),
    "rig/importers/open.py": (1, LOOKED_AT),
    "rig/importers/profilers/eembc_energy.py": (1, LOOKED_AT),
    "rig/importers/profilers/otii.py": (1, LOOKED_AT),
    "rig/importers/profilers/ppk2.py": (2, LOOKED_AT),
    "rig/importers/tables/csv_form.py": (1, LOOKED_AT),
    "rig/importers/tables/csv_rows.py": (1, MEMORY),
    "rig/importers/tables/csv_table.py": (6, LOOKED_AT),
    "rig/importers/tables/energy_counter.py": (1, OWN_OUTPUT),
    "rig/importers/tables/repeats.py": (2, OWN_OUTPUT),
    "rig/judge/rules.py": (1, SHIPPED),
    "rig/network/array_file.py": (1, MEMORY),
    "rig/network/hdf5_tree.py": (1, CHECKED),
    "rig/network/nir_file.py": (1, MEMORY),
    "rig/network/plain.py": (1, OWN_OUTPUT),
    "rig/network/trains.py": (1, MEMORY),
    "rig/network/tflite/plain.py": (2, JOB),
    "rig/report/report.py": (1, SHIPPED),
    "rig/session/complexity.py": (1, NAMED),
    "rig/store/event_file.py": (1, OWN_OUTPUT),
    "rig/store/provenance.py": (1, SHIPPED),
    "rig/store/session_folder.py": (2, OWN_OUTPUT),
    "rig/store/writer.py": (2, OWN_OUTPUT),
    "rig/store/witness_list.py": (1, OWN_OUTPUT),
    "rig/submission/about.py": (1, SHIPPED),
    "rig/submission/mlperf_tiny.py": (1, SHIPPED),
    "rig/submission/whole_folder.py": (1, OWN_OUTPUT),
    "rig/trace/fingerprint.py": (1, MEMORY),
    "rig/trace/jls_file.py": (1, CHECKED),
    "rig/trace/level_cache.py": (3, OWN_CACHE),
    "rig/trace/recovery.py": (5, CHECKED),
    "rig/trace/thinning.py": (1, OWN_OUTPUT),
    "rig/trace/writer.py": (3, OWN_OUTPUT),
    "scenarios/tasks/asc/audio.py": (2, NAMED),
    "scenarios/tasks/asc/dataset.py": (1, NAMED),
    "scenarios/tasks/mlperf_tiny/dataset.py": (1, NAMED),
    "scenarios/tasks/qubo/library.py": (1, SHIPPED),
    "scenarios/tasks/qubo/official.py": (1, NAMED),
    "scenarios/tasks/user_files.py": (2, NAMED),
    "sut_backends/cpu/backend.py": (2, SYSTEM),
    "sut_backends/hosted/qemu.py": (1, NAMED),
    "sut_backends/loihi/probes.py": (1, JOB),
    "sut_backends/processes/child_process.py": (1, NAMED),
    "sut_backends/sdk/kinds.py": (2, SHIPPED),
    "sut_backends/sdk/place.py": (1, OWN_CACHE),
    "sut_backends/served/admission.py": (1, NAMED),
    "sut_backends/served/requests.py": (1, MEMORY),
    "sut_backends/spinnaker/energy_lines.py": (1, OWN_OUTPUT),
    "sut_backends/spinnaker/runner.py": (1, JOB),
    "sut_backends/spinnaker/two.py": (1, JOB),
    "sut_backends/workers/inside/plain_network.py": (1, JOB),
    "sut_backends/workers/inside/processor_counter.py": (1, SYSTEM),
    "sut_backends/xylo/board_runner.py": (1, SHIPPED),
    "sut_backends/xylo/mapping_report.py": (1, SHIPPED),
    "sut_backends/xylo/power_events.py": (1, OWN_OUTPUT),
    "sut_backends/xylo/runner.py": (1, JOB),
}
METHODS = {"read_text", "read_bytes"}
#: Functions of modules that open a file by its name, by the last two words of how they
#: are called.
FUNCTIONS = {
    *("open", "io.open", "os.open", "json.load", "tomllib.load", "pickle.load"),
    *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree"),
    *(
        "zipfile.ZipFile",
        "ZipFile",
        "tarfile.open",
        "gzip.open",
        "wave.open",
        "sqlite3.connect",
    ),
    *("np.load", "np.fromfile", "np.memmap", "np.genfromtxt", "np.loadtxt"),
    *("pd.read_csv", "pandas.read_csv", "pandas.read_parquet", "pandas.read_hdf"),
    *(
        "h5py.File",
        "nir.read",
        "pyjls.Reader",
        "pyjls.copy",
        "soundfile.read",
        "torch.load",
    ),
}
CSV_WRITERS = {"csv.writer", "csv.DictWriter", "writer", "DictWriter"}
THE_ONE_WRITER = "rig/files/table_file.py"
#: Where else a table is written, and why no spreadsheet takes a cell of it for a
#: formula.
TABLES = {
    "rig/importers/profilers/otii.py": (
        1,
        "a copy in a folder of ours, numbers, read at once",
    ),
}


def is_opening(call: ast.Call) -> bool:
    """Return whether a call opens a file; `Kind.open(...)` of a class of ours does not,
    and neither does `kind.open(settings, context)`.
    """
    name = ast.unparse(call.func)
    if name in FUNCTIONS:
        return True
    match call.func:
        case ast.Attribute(value=ast.Name(id="foreign_files")):
            return False
        case ast.Attribute(attr=method) if method in METHODS:
            return True
        case ast.Attribute(value=owner, attr="open"):
            own_class = ast.unparse(owner).rpartition(".")[2][:1].isupper()
            is_path = ast.unparse(owner).startswith("Path(")
            return len(call.args) < 2 and (is_path or not own_class)
    return False


def calls(top: str) -> Iterator[tuple[str, ast.Call]]:
    for path in sorted((ROOT / top).rglob("*.py")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call):
                yield str(path.relative_to(ROOT)), node


def test_a_file_is_opened_in_the_one_module_or_is_listed_with_the_reason() -> None:
    pairs = chain.from_iterable(map(calls, TOPS))
    result = Counter(
        name for name, call in pairs if name != THE_ONE and is_opening(call)
    )
    assert result == {name: count for name, (count, _) in ELSEWHERE.items()}, (
        "foreign_files.opened, or a line here that says whose file it is"
    )


def is_table_writer(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name.rpartition(".")[2] in {"to_csv", "savetxt"} or name in CSV_WRITERS


def test_a_table_is_written_by_the_one_writer_or_is_listed_with_the_reason() -> None:
    pairs = chain.from_iterable(map(calls, TOPS))
    result = Counter(
        name for name, call in pairs if name != THE_ONE_WRITER and is_table_writer(call)
    )
    assert result == {name: count for name, (count, _) in TABLES.items()}
