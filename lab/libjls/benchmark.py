# SPDX-License-Identifier: Apache-2.0
"""One pass instead of two over the samples of each summary: the gain of the trace
library by the patch, and whether its summaries stay the same.

Run it: `git clone https://github.com/jetperch/jls SOURCE`, then `python -m
lab.libjls.benchmark SOURCE`, with cmake and a C compiler. The library is built twice,
at the revision of the patch, without and with it; both write the same samples in turns,
and pyjls reads both files. Times are CPU time of a process that only writes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyjls

from rig.arrays import Float64s

#: The revision of libjls that the patch is for: version 0.17.0.
REVISION = "18257faff4b0d9c4a9f4c54ea5320e947b17fa94"
PATCH = Path(__file__).with_name("summary1.patch")
_PROGRAM = Path(__file__).with_name("write.c")
#: Samples of a block and of a summary, as write.c has them.
BLOCK = 32_768
SUMMARY = 1024
_LIMIT_S = 600.0
_COLUMNS = ("mean", "std", "min", "max")


@dataclass(frozen=True, slots=True)
class CpuTime:
    """CPU time of one writing, in the process itself and in the kernel for it."""

    user_s: float
    system_s: float


def build(source: Path, to: Path) -> Mapping[str, Path]:
    """Build the program without and with the patch; return both by name."""
    programs = {}
    for name, patches in (("as it is", ()), ("patched", (PATCH,))):
        tree = to / name.replace(" ", "-")
        _run("git", "clone", "--quiet", source, tree)
        in_tree = ("git", "-C", tree)
        _run(*in_tree, "checkout", "--quiet", REVISION)
        for patch in patches:
            _run(*in_tree, "apply", patch)
        built = tree / "build"
        flags = ("-DCMAKE_BUILD_TYPE=Release", "-DJLS_EXAMPLES=OFF")
        _run("cmake", "-S", tree, "-B", built, *flags)
        _run("cmake", "--build", built)
        programs[name] = tree / "write"
        library = built / "src" / "libjls.a"
        words = ("-std=c99", "-O2", "-I", tree / "include", _PROGRAM, library)
        _run("cc", *words, "-lm", "-lpthread", "-o", programs[name])
    return programs


def own_tests(program: Path) -> None:
    """Run the library's own tests of a build; raise CalledProcessError."""
    _run("ctest", "--test-dir", program.parent / "build", "--output-on-failure")


def write(program: Path, samples: Float64s, path: Path, repeats: int = 1) -> CpuTime:
    """Write samples as a JLS file so many times in a row; return the CPU time."""
    raw = path.with_suffix(".f32")
    samples.astype("<f4").tofile(raw)
    words = [program, raw, path, str(repeats)]
    with subprocess.Popen(list(map(str, words))) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    raw.unlink()
    if process.returncode:
        raise RuntimeError(f"{program} ended with {process.returncode}")
    return CpuTime(usage.ru_utime, usage.ru_stime)


def summaries(path: Path) -> dict[str, Float64s]:
    """Read the summaries of a file, one for each SUMMARY samples, without the last one:
    the library computes that from the samples, over n - 1.
    """
    with pyjls.Reader(str(path)) as reader:
        [signal] = [one for one in reader.signals.values() if one.name == "current"]
        rows = reader.fsr_statistics(
            signal.signal_id, 0, SUMMARY, signal.length // SUMMARY
        )[:-1]
    order = (
        pyjls.SummaryFSR.MEAN,
        pyjls.SummaryFSR.STD,
        pyjls.SummaryFSR.MIN,
        pyjls.SummaryFSR.MAX,
    )
    return {
        name: np.asarray(rows[:, int(place)], float)
        for name, place in zip(_COLUMNS, order, strict=True)
    }


def hard_samples(blocks: int = 2) -> Float64s:
    """Return samples that are hard to summarise, a kind for each summary: noise, a
    step, an outlier at the beginning, a small scatter on a large offset, constants,
    gaps, infinities.
    """
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 1, (blocks, BLOCK // SUMMARY, SUMMARY))
    found = 1e-3 + 1e-6 * noise
    found[:, 1, SUMMARY // 2 :] += 0.1
    found[:, 2, 0] = 1e6
    found[:, 3] = 1e4 + 1e-2 * noise[:, 3]
    found[:, 4] = 0.1
    found[:, 5] = 0.0
    found[:, 6, ::7] = np.nan
    found[:, 7] = np.nan
    found[:, 8, 3] = np.inf
    found[:, 9, 0] = -np.inf
    found[:, 10, 1:] = np.nan
    found[:, 11] = 1e-42 * noise[:, 11]
    found[:, 12] = 1e38 * np.sign(noise[:, 12])
    return found.astype("<f4").astype(float).ravel()


def main() -> None:
    """Print the CPU times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="clone of libjls")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=48, help="of 2^20 samples")
    options = parser.parse_args()
    rng = np.random.default_rng(2)
    samples = 1e-3 + 1e-5 * rng.random(1 << 20)
    samples[(np.arange(len(samples)) >> 14) % 2 == 1] += 0.05
    count = options.repeats * len(samples)
    with tempfile.TemporaryDirectory() as folder:
        programs = build(options.source.resolve(), Path(folder))
        for program in programs.values():
            own_tests(program)
        path = Path(folder) / "trace.jls"
        times: dict[str, list[CpuTime]] = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, program in programs.items():
                times[name].append(write(program, samples, path, options.repeats))
                path.unlink()
    least = {}
    for name, found in times.items():
        least[name] = min(each.user_s for each in found)
        whole = min(each.user_s + each.system_s for each in found)
        print(
            f"{name}: {least[name] / count * 1e9:.2f} ns a sample in the library,"
            f" {whole / count * 1e9:.2f} ns with the kernel"
        )
    before, after = least.values()
    print(f"ratio in the library: {before / after:.2f}")


def _run(*words: str | Path) -> None:
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        done.check_returncode()


if __name__ == "__main__":
    main()
