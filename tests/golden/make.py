# SPDX-License-Identifier: Apache-2.0
"""Record the sessions of this folder.

    python tests/golden/make.py [NAME ...]

Each is packed as NAME.tar.xz. The stored ones were recorded before the sources that
compute results were rewritten: record one again only where its numbers are to change,
and name the change in the commit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Sampling rate and samples that keep a session small.
HOLD = "sut.virtual.sync_hold_us=800"
ASC = (
    "monitor.virtual.sample_hz=20000",
    HOLD,
    "task.asc.samples=3",
    "scenario.single_stream.idle_s=0.1",
)
COARSE = ("monitor.virtual.sample_hz=5000", HOLD)
QUBO = (
    *COARSE,
    "scenario.optimization.timeouts_s=[1e-2, 1e-1, 1.0]",
    "scenario.optimization.target_limit_s=1.0",
)


@dataclass(frozen=True)
class Recipe:
    """A bench with the settings that differ from its file, and the number of trials."""

    bench: str
    settings: tuple[str, ...] = ()
    trials: int = 2


def asc(*settings: str, trials: int = 2) -> Recipe:
    return Recipe("virtual-asc", ASC + settings, trials)


def qubo(*settings: str) -> Recipe:
    return Recipe("virtual-qubo", QUBO + settings)


RECIPES = {
    "asc": asc(trials=5),
    "drift": Recipe("virtual-drift", ASC, 5),
    "null": Recipe("virtual-null", ("monitor.virtual.sample_hz=20000", HOLD)),
    "offline": Recipe("virtual-offline", COARSE),
    "qubo": Recipe("virtual-qubo", QUBO, 5),
    "real-time": Recipe(
        "virtual-real-time", (*COARSE, "scenario.real_time.duration_s=10.0")
    ),
    "tiny": Recipe("virtual-tiny", COARSE, 1),
    "gain": asc("monitor.virtual.gain=0.01"),
    "noise": asc("monitor.virtual.noise_a=1e-3"),
    "two-ranges": asc("monitor.virtual.low_a=0.008", "monitor.virtual.low_gain=0.01"),
    "edge-jitter": asc("monitor.virtual.edge_jitter_s=2e-5"),
    "edge-delay": asc("monitor.virtual.edge_delay_s=2e-3"),
    "share": asc("monitor.virtual.share=0.5"),
    "monitor-clock": asc("monitor.virtual.clock_ppm=900"),
    "device-clock": asc("sut.virtual.clock_ppm=9000"),
    "sync-open": asc("monitor.virtual.sync_wire=open"),
    "wrong-answers": asc("sut.virtual.error_rate=0.3"),
    "varied": asc("sut.virtual.infer.variation=0.4", trials=5),
    "interleaved": asc("scenario.single_stream.interleaved=true"),
    "reduced": asc("bench.between_windows=reduced"),
    "coarse": asc("monitor.virtual.sample_hz=5000"),
    "wrong-cost": qubo("sut.virtual.solve.wrong_cost=3"),
    "short-vector": qubo("sut.virtual.solve.short_vector=true"),
    "overrun": qubo("sut.virtual.solve.overrun_s=1"),
}


def record(recipe: Recipe, folder: Path) -> None:
    """Run a bench; its session is the only one in the folder."""
    bench = ROOT / "benches" / f"{recipe.bench}.toml"
    words = [sys.executable, "-m", "rig", "run", bench, "--sessions", folder]
    words += ["--trials", str(recipe.trials)]
    for setting in recipe.settings:
        words += ["--set", setting]
    # A verdict of FAIL is an outcome like any other.
    subprocess.run(words, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)


def pack(session: Path, archive: Path) -> None:
    """Pack a session without owners and without the time of packing."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as packed:
        packed.add(session, arcname=session.name, filter=plain)


def main() -> None:
    """Record the sessions that are named, or all."""
    parser = argparse.ArgumentParser(description="record the golden sessions again")
    parser.add_argument("names", nargs="*", choices=[[], *RECIPES], metavar="NAME")
    for name in parser.parse_args().names or RECIPES:
        with tempfile.TemporaryDirectory() as scratch:
            record(RECIPES[name], Path(scratch))
            results = next(Path(scratch).glob("*/results.json"), None)
            if results is None:
                sys.stdout.write(f"{name}: no session\n")
                continue
            archive = Path(__file__).with_name(f"{name}.tar.xz")
            pack(results.parent, archive)
            sys.stdout.write(f"{name}: {archive.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
