# SPDX-License-Identifier: Apache-2.0
"""A source distribution builds a wheel, and the wheel alone runs the README's commands."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.length import is_short
from tests.programs import captured
from tests.recorded import recorded
from tests.uncounted import uncounted

pytestmark = pytest.mark.long
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
PACKAGES = ("rig", "drivers", "sut_backends", "scenarios", "gui")
IGNORED = (
    *(".git", ".venv", "build", "build-*", "dist", "__pycache__", "*.egg-info"),
    *(".*_cache", ".hypothesis"),
)
#: The tools that execute the notebook, in the environment of the wheel.
NOTEBOOK = """
import nbformat, nbclient, sys
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=240).execute()
"""


def done(*command: str | Path, cwd: Path) -> str:
    """Run a program without this checkout on its path, and not as a part of this test
    run; return its output.
    """
    environment = {
        key: value
        for key, value in uncounted().items()
        if key != "PYTHONPATH" and not key.startswith("PYTEST_")
    }
    ended = captured(command, cwd=cwd, env=environment, timeout=600)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Return files that are no part of the sources; `sessions` at the root alone holds
    results.
    """
    result = shutil.ignore_patterns(*IGNORED)(folder, names)
    return {*result, "sessions"} if Path(folder) == ROOT else set(result)


def _unpack(folder: Path) -> None:
    """Make the source distribution, and unpack it into a folder."""
    folder.mkdir()
    shutil.copytree(ROOT, folder / "tree", ignore=_ignored, symlinks=True)
    build = (sys.executable, "-m", "build", "--no-isolation")
    done(*build, "--sdist", "--outdir", folder, folder / "tree", cwd=folder)
    shutil.rmtree(folder / "tree")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        # An attribute and no argument: Python 3.11.3 and older have no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder / "unpacked")


def _install(folder: Path, unpacked: Path) -> None:
    """Make an environment that has the wheel, and from here all that it needs."""
    folder.mkdir()
    build = (sys.executable, "-m", "build", "--no-isolation")
    done(*build, "--wheel", "--outdir", folder, unpacked, cwd=folder)
    done(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    site = Path(done(python, "-c", _SITE, cwd=folder).strip())
    # Of a folder that a .pth names no .pth is read: an editable install there stays
    # unseen.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q")
    wheel = next(folder.glob("*.whl"))
    options = ("--no-deps", "--no-index", "--ignore-installed")
    done(*pip, *options, wheel, cwd=folder)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked in an empty folder."""
    pytest.importorskip(
        "setuptools",
        minversion="77",
        reason="needs setuptools 77 (pip install setuptools)",
    )
    folder = recorded(tmp_path_factory, "sdist", _unpack)
    return next((folder / "unpacked").iterdir())


@pytest.fixture(scope="module")
def python(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel."""
    folder = recorded(
        tmp_path_factory, "wheel", lambda folder: _install(folder, unpacked)
    )
    return folder / "venv" / "bin" / "python"


_SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def test_the_code_is_that_of_the_wheel(python: Path, tmp_path: Path) -> None:
    homes = done(
        python, "-c", "import rig, gui; print(rig.__file__, gui.__file__)", cwd=tmp_path
    )
    assert all(Path(home).is_relative_to(python.parents[1]) for home in homes.split())


def test_the_demo_and_the_notebook_run(python: Path, tmp_path: Path) -> None:
    output = done(python.parent / "rig", "demo", cwd=tmp_path)
    assert " PASS " in output
    if not is_short():  # tests/test_notebook.py does
        done(python, "-c", NOTEBOOK, ROOT / "examples" / "session.ipynb", cwd=tmp_path)


def test_the_examples_of_the_readme_run(python: Path, tmp_path: Path) -> None:
    done(python.parent / "rig", "bench", "new", "virtual-asc", cwd=tmp_path)
    assert "energy_infer = " in done(python, "-c", EXAMPLES[0], cwd=tmp_path)
    (tmp_path / "test_device.py").write_text(EXAMPLES[1])
    assert "1 passed" in done(
        python, "-m", "pytest", "-p", "no:cacheprovider", cwd=tmp_path
    )


def test_it_brings_benches_pages_and_firmware(
    python: Path, unpacked: Path, tmp_path: Path
) -> None:
    where = (
        "from rig.files.shipped import shipped; print(*map(shipped, ('benches', 'docs',"
        " 'firmware')))"
    )
    benches, docs, _ = map(Path, done(python, "-c", where, cwd=tmp_path).split())
    assert benches.is_relative_to(python.parents[1])
    assert names(benches) == names(ROOT / "benches")
    assert names(docs) == names(ROOT / "docs")
    create = (
        "import pathlib, sys; from rig.firmware import project; origin ="
        " project.sources()\nfor port in project.ports(origin):"
        " project.create(pathlib.Path(sys.argv[1], port), port, origin)"
    )
    done(python, "-c", create, tmp_path / "installed", cwd=tmp_path)
    done(sys.executable, "-c", create, tmp_path / "checkout", cwd=ROOT)
    installed = contents(tmp_path / "installed")
    assert installed == contents(tmp_path / "checkout")
    assert {name.split("/")[0] for name in installed} >= {
        "posix",
        "mps2",
        "pico",
    }
    assert names(unpacked / "firmware") >= {f"core/{path.name}" for path in CORE}


CORE = (ROOT / "firmware" / "core").glob("*.[ch]")


def test_its_messages_name_nothing_that_it_lacks(python: Path, tmp_path: Path) -> None:
    where = "from rig.files.shipped import shipped; print(shipped('docs'))"
    docs = Path(done(python, "-c", where, cwd=tmp_path).strip())
    site = Path(done(python, "-c", _SITE, cwd=tmp_path).strip())
    for package in PACKAGES:
        for path in (site / package).rglob("*.py"):
            for text in messages(path):
                missing = [
                    page
                    for page in re.findall(r"docs/([\w/-]+\.md)", text)
                    if not (docs / page).exists()
                ]
                assert not missing, f"{path}: {text}"
                assert "benches/" not in text, f"{path}: {text}"
                is_of_checkout = re.search(
                    r"\bmake (-C )?(firmware|demo|test|posix|host)\b", text
                )
                assert not is_of_checkout or "in a checkout" in text, f"{path}: {text}"


def test_the_source_distribution_tests_itself(unpacked: Path) -> None:
    """A part: the rest is the same code."""
    tests = (
        "tests/rig/api/sessions/test_session.py",
        "tests/rig/cli/test_bench.py",
        "tests/rig/test_public_names.py",
    )
    output = done(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests),
        cwd=unpacked,
    )
    assert " passed" in output and "failed" not in output


def messages(path: Path) -> list[str]:
    """Return the strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def names(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names(folder)}
