# SPDX-License-Identifier: Apache-2.0
"""Mutate the arithmetic of the results, one place at a time, and count the mutants that
the tests kill (`make mutants`).

    python tests/golden/mutants.py COSMIC_RAY [--sample N] [--seed SEED] [MODULE ...]

COSMIC_RAY is a Python that has cosmic-ray, whose operators are used; MODULE is a file
or a folder, by default all of PACKAGES. A mutant is killed if the tests of its module
(by name, else of its package) or the golden sessions fail or time out. The mutants are
made in a copy of the checkout. Exit status 1: fewer than 90 % are killed.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "rig/uncertainty",
    "rig/stats",
    "rig/timebase",
    "rig/measure",
    "rig/results",
    "rig/trace",
)
KILLED_MIN = 0.9
#: A mutant may loop for ever: ten times the time that the slowest tests take.
LIMIT_S = 600
#: Runs in the Python that has cosmic-ray: prints each mutated source of one module.
LISTING = """
import json, sys
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
source = open(sys.argv[1], encoding="utf-8").read()
groups = ("ReplaceBinary", "ReplaceComparison", "ReplaceUnary", "NumberReplacer",
          "ReplaceAndWithOr", "ReplaceOrWithAnd", "AddNot", "ReplaceBreak",
          "ReplaceContinue", "ReplaceTrue", "ReplaceFalse")
for name in sorted(operator_names()):
    if not name.split("/")[1].startswith(groups):
        continue
    occurrence = 0
    while True:
        mutated = mutate_code(source, get_operator(name)(), occurrence)
        if mutated is None:
            break
        print(json.dumps([name, occurrence, mutated]))
        occurrence += 1
"""


@dataclass(frozen=True)
class Mutant:
    """A module with one place changed."""

    module: Path
    operator: str
    source: str

    def line(self) -> str:
        """Return the place and the changed line."""
        before = (ROOT / self.module).read_text(encoding="utf-8").splitlines()
        pairs = zip(before, self.source.splitlines(), strict=False)
        for number, (old, new) in enumerate(pairs, start=1):
            if old != new:
                return f"{self.module}:{number}: {old.strip()} -> {new.strip()}"
        return f"{self.module}: {self.operator}"


class _WithoutAnnotations(ast.NodeTransformer):
    """Drop what never runs, as annotations are strings here."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def program(source: str) -> str:
    """Return the syntax tree of a source without its annotations."""
    return ast.dump(_WithoutAnnotations().visit(ast.parse(source)))


def mutants(python: str, module: Path) -> list[Mutant]:
    """Return all mutants of a module whose program differs from the original."""
    words = [python, "-c", LISTING, str(ROOT / module)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True)
    original = program((ROOT / module).read_text(encoding="utf-8"))
    found = []
    for row in printed.stdout.splitlines():
        operator, _, source = json.loads(row)
        try:
            mutated = program(source)
        except SyntaxError:
            continue
        if mutated != original:
            found.append(Mutant(module, operator, source))
    return found


def tests_of(module: Path) -> list[str]:
    """Return the tests by the module's name, else all of its package."""
    folder = Path("tests") / module.parent
    named = folder / f"test_{module.stem}.py"
    tests = named if (ROOT / named).exists() else folder
    return [str(tests), "tests/golden/test_golden.py"]


def survives(copy: Path, mutant: Mutant) -> bool:
    """Return whether the tests pass with a mutant in the copy of the checkout."""
    place = copy / mutant.module
    original = place.read_bytes()
    place.write_text(mutant.source, encoding="utf-8")
    words = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-x", "-q"]
    words += ["-p", "no:cacheprovider", *tests_of(mutant.module)]
    try:
        done = subprocess.run(
            words, cwd=copy, check=False, capture_output=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        place.write_bytes(original)
    return done.returncode == 0


def modules(names: list[str]) -> list[Path]:
    """Return the modules of files and folders, relative to the checkout."""
    found: list[Path] = []
    for name in names:
        place = ROOT / name
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        found += [path.relative_to(ROOT) for path in files]
    return [path for path in found if path.name != "__init__.py"]


def main() -> int:
    """Print each survivor and the share that was killed."""
    parser = argparse.ArgumentParser(description="mutants of the results' arithmetic")
    parser.add_argument("cosmic_ray", help="a Python that has cosmic-ray")
    parser.add_argument("names", nargs="*", help="modules or folders")
    parser.add_argument("--sample", type=int, default=100, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the random sample")
    asked = parser.parse_args()
    everything: list[Mutant] = []
    for module in modules(asked.names or list(PACKAGES)):
        everything += mutants(asked.cosmic_ray, module)
    count = min(asked.sample, len(everything))
    sample = random.Random(asked.seed).sample(everything, count)
    survivors = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "checkout"
        ignored = shutil.ignore_patterns(".venv", ".git", "sessions", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for number, mutant in enumerate(sample, start=1):
            alive = survives(copy, mutant)
            survivors += alive
            word = "SURVIVES" if alive else "killed"
            print(f"{number}/{count} {word} {mutant.line()}", flush=True)
    share = 1 - survivors / count
    print(f"{count - survivors} of {count} mutants killed ({share:.0%})")
    return 0 if share >= KILLED_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
