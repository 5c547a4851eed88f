# SPDX-License-Identifier: Apache-2.0
"""Virtual sessions of NeuroBench's tasks, and a file of their author's statements that
lacks no entry.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx

from rig.judge.rules import CountRule, Rules, of_benchmark
from rig.report.report import write_report
from rig.results.submission_file import CRATE, SUBMISSION
from rig.session.session import open_bench
from rig.store.session_folder import hashes
from rig.submission import about, build, entries
from tests.conftest import ROOT

SAMPLES = 3
ASC = (
    "monitor.virtual.sample_hz=20000",
    "sut.virtual.sync_hold_us=800",
    f"task.asc.samples={SAMPLES}",
    "scenario.single_stream.idle_s=0.1",
)

#: Official seeds of problems, and the one cell of searches.
SEEDS = (5, 6, 7, 8, 9)
NODES = 10
DENSITY = 0.25
SEARCHED = (
    f"task.qubo.nodes=[{NODES}]",
    f"task.qubo.densities=[{DENSITY}]",
    f"task.qubo.seeds={list(SEEDS)}",
)
#: The other cells have a reason.
REASONS = """
"10n_[!2]*" = "not searched"
"25n_*" = "not searched"
"25[0]*" = "not searched"
"50n_*" = "not searched"
"500n_*" = "not searched"
"100*" = "not searched"
"""

ABOUT = """
[submitter]
name = "A. Author"
organisation = "A | Laboratory"
contact = "author@example.org"
licence = "CC-BY-4.0"
[system]
architecture = "one virtual core <at> 80 MHz"
[algorithm]
model = "spiking network, 8 bits"
tuning = "thresholds by grid search on the training split"
tuning_seeds = [0, 1, 2]
[workflow]
initialisation = "resampled to 8 kHz"
host_preprocessing = "none"
loading = "over the UART"
device_preprocessing = "filter bank"
inference = "125 time steps"
postprocessing = "class with the most spikes"
[power]
tap = "supply of the board"
components_included = ["core", "memory"]
components_omitted = ["debugger"]
[firmware]
sources = ["src"]
images = ["image.elf"]
[no_result]
"2500n_*" = "does not fit into the memory"
"5000n_*" = "does not fit into the memory"
largest = "was not searched"
"""


def record_asc(root: Path) -> None:
    """Record five virtual trials of ASC, with a report."""
    with open_bench(ROOT / "benches" / "virtual-asc.toml", ASC) as bench:
        write_report(bench.run(5, root).folder)


def small_rules(benchmark: str = "asc") -> Rules:
    """Return the rules of a benchmark, but for the number of samples."""
    rules = of_benchmark(benchmark)
    return replace(rules, samples=CountRule(SAMPLES, "so many were recorded"))


def statements(folder: Path) -> Path:
    """Write statements, and the firmware that they name; return their file."""
    folder.mkdir(exist_ok=True)
    (folder / "src").mkdir()
    (folder / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    (folder / "image.elf").write_bytes(b"\x7fELF image")
    path = folder / "about.toml"
    path.write_text(ABOUT)
    return path


def optimum(seed: int) -> int:
    """Return the least cost of a graph, by trying every vector."""
    edges = int(0.5 * DENSITY * NODES**2)
    graph = networkx.gnm_random_graph(NODES, edges, seed)
    costs = []
    for bits in itertools.product((0, 1), repeat=NODES):
        clashes = sum(bits[one] * bits[other] for one, other in graph.edges)
        costs.append(8 * clashes - sum(bits))
    return min(costs)


def official(folder: Path) -> str:
    """Write the targets of the searches; return the setting that names them."""
    rows = [f"{NODES},{DENSITY},{seed},{optimum(seed)}\n" for seed in SEEDS]
    path = folder / "official.csv"
    path.write_text("num_vertices,density,random_seed,c_optimal\n" + "".join(rows))
    return f'task.qubo.official="{path}"'


def built(sessions: list[Path], stated: Path, to: Path, raw: str = "") -> Path:
    """Build a submission of sessions."""
    request = build.SubmissionRequest(
        sessions=tuple(map(entries.read, sessions)),
        about=about.read(stated),
        beside=stated.parent,
        raw=raw,
    )
    build.build(request, to)
    return to


def edited(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of submission.json."""
    path = folder / SUBMISSION
    tree = json.loads(path.read_text())
    edit(tree)
    path.write_text(json.dumps(tree))


def hashed_again(folder: Path) -> None:
    """Write the hash of every file again, as a forger would."""
    found = hashes(folder)
    path = folder / CRATE
    tree = json.loads(path.read_text())
    for entity in tree["@graph"]:
        if "sha256" in entity and entity["@id"] in found:
            entity["sha256"] = found[entity["@id"]]
    path.write_text(json.dumps(tree))
    found = {name: one for name, one in hashes(folder).items() if name != SUBMISSION}
    edited(folder, lambda tree: tree.update(files=found))
