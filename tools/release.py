# SPDX-License-Identifier: Apache-2.0
"""Build the files of a release: wheel, source distribution, SBOM and signed checksums.

    make release KEY=~/.ssh/id_ed25519

Both distributions are built from the last commit, in two clones with different
permissions, and must have the same bytes. setuptools writes the times, owner and
permissions of a clone into a source distribution, which is therefore rewritten; the
wheel is built from the rewritten one. The SBOM lists an environment that holds the
wheel and the packages that it needs.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rig.check import signature
from rig.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "dist"
SUMS = "SHA256SUMS"
#: The purpose in a signature: one made for another purpose does not verify.
NAMESPACE = "neurorig-release"
CYCLONEDX = "cyclonedx-bom==7.5.0"
#: Umasks of the two clones; the wheels are built with the first.
_UMASKS = (0o022, 0o077)
_EXECUTABLE = 0o111
_LIMIT_S = 900.0


class ReleaseError(Exception):
    """A step that failed, with its reason."""


def main(words: Sequence[str]) -> int:
    """Make the release; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="a new or empty folder")
    parser.add_argument("--key", type=Path, help="SSH key that signs the checksums")
    parser.add_argument("--no-sbom", action="store_true", help="without the SBOM")
    options = parser.parse_args(words)
    try:
        made = release(options.out, sbom=not options.no_sbom, key=options.key)
    except (ReleaseError, ConfigError, OSError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    for path in made:
        print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
    if options.key is None:
        print(f"not signed: ssh-keygen -Y sign -f KEY -n {NAMESPACE} {made[-1]}")
    return 0


def release(out: Path, *, sbom: bool, key: Path | None) -> list[Path]:
    """Build, compare, list and sign; return the files."""
    if changed := run("git", "status", "--porcelain", cwd=ROOT):
        raise ReleaseError(
            f"files are not committed: {changed.splitlines()[0].strip()}"
        )
    if key is not None and not key.is_file():
        raise ReleaseError(f"there is no key {key}")
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise ReleaseError(f"{out} is not empty")
    epoch_s = int(run("git", "log", "-1", "--format=%ct", cwd=ROOT))
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (
            built(Path(scratch) / f"clone-{umask:03o}", umask, epoch_s)
            for umask in _UMASKS
        )
        for path, again in zip(first, second, strict=True):
            if path.read_bytes() != again.read_bytes():
                raise ReleaseError(f"{path.name} differs between two clones")
        made = [out / path.name for path in first]
        for path, target in zip(first, made, strict=True):
            target.write_bytes(path.read_bytes())
        if sbom:
            wheel = next(path for path in made if path.suffix == ".whl")
            made.append(write_sbom(wheel, Path(scratch) / "sbom"))
    made.append(write_sums(made))
    if key is not None:
        made.append(signed(made[-1], key))
    return made


def built(folder: Path, umask: int, epoch_s: int) -> list[Path]:
    """Clone the last commit with a umask and build it below a folder; return source
    distribution and wheel.
    """
    clone, unpacked = folder / "clone", folder / "unpacked"
    dated = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch_s)}
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    run("git", "clone", "-q", ROOT, clone, cwd=ROOT, umask=umask)
    run(*build, "--sdist", clone, cwd=clone, env=dated, umask=umask)
    (sdist,) = folder.glob("*.tar.gz")
    normalise(sdist, epoch_s)
    unpacked.mkdir()
    extract = ("tar", "-C", unpacked, "--strip-components=1")
    run(*extract, "-xf", sdist, cwd=folder)
    run(*build, "--wheel", unpacked, cwd=unpacked, env=dated, umask=_UMASKS[0])
    (wheel,) = folder.glob("*.whl")
    return [sdist, wheel]


def normalise(sdist: Path, epoch_s: int) -> None:
    """Write a source distribution again: its members in the order of their names, of
    one time, owner and kind of permission.
    """
    with tarfile.open(sdist) as archive:
        members = sorted(archive.getmembers(), key=lambda member: member.name)
        content = {
            member.name: archive.extractfile(member)
            for member in members
            if member.isfile()
        }
        plain = sdist.with_suffix(".plain")
        with tarfile.open(plain, "w", format=tarfile.PAX_FORMAT) as rewritten:
            for member in members:
                is_open = member.isdir() or member.mode & _EXECUTABLE
                member.mode = 0o755 if is_open else 0o644
                member.mtime = epoch_s
                member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.pax_headers = {}
                rewritten.addfile(member, content.get(member.name))
    with (
        sdist.open("wb") as stream,
        gzip.GzipFile("", "wb", fileobj=stream, mtime=epoch_s) as packed,
    ):
        packed.write(plain.read_bytes())
    plain.unlink()


def write_sbom(wheel: Path, scratch: Path) -> Path:
    """Install the wheel in an empty environment; write a CycloneDX list of its packages
    beside the wheel.
    """
    installed, tool = scratch / "installed", scratch / "tool"
    packages = {installed: [wheel, "-c", ROOT / "constraints.txt"], tool: [CYCLONEDX]}
    for venv, wanted in packages.items():
        run(sys.executable, "-m", "venv", venv, cwd=ROOT)
        run(venv / "bin/python", "-m", "pip", "install", "-qq", *wanted, cwd=ROOT)
    sbom = wheel.with_name(wheel.name.partition("-py3")[0] + ".cdx.json")
    list_all = (tool / "bin/cyclonedx-py", "environment", installed / "bin/python")
    project = ("--pyproject", ROOT / "pyproject.toml", "--output-reproducible")
    run(*list_all, *project, "-o", sbom, cwd=ROOT)
    return sbom


def write_sums(paths: Sequence[Path]) -> Path:
    """Write the SHA-256 of files as `sha256sum --check` reads it; return its path."""
    sums = paths[0].with_name(SUMS)
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(paths)
    ]
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def signed(sums: Path, key: Path) -> Path:
    """Sign a file by an SSH key; return the path of the signature."""
    content = signature.made(sums.read_bytes(), key, NAMESPACE, "--key")
    path = sums.with_name(sums.name + signature.SUFFIX)
    path.write_text(content, encoding="ascii")
    return path


def run(
    *command: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    umask: int = -1,
) -> str:
    """Run a program; return its output. Raises ReleaseError where it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            umask=umask,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise ReleaseError(str(error)) from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise ReleaseError(f"{command[0]} failed: {''.join(last)}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
