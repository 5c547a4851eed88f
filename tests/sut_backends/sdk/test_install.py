# SPDX-License-Identifier: Apache-2.0
"""Installation of an SDK from a folder of real packages: the old environment serves
until the new one has been tried, for any end of the installation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from rig.errors import BenchError
from sut_backends.sdk.doctor import examine
from sut_backends.sdk.install import install
from sut_backends.sdk.installer import Progress
from sut_backends.sdk.kinds import SdkKind, read
from sut_backends.sdk.place import NewEnvironment
from sut_backends.workers.environments import installed, root
from tests.conftest import ROOT
from tests.programs import captured
from tests.sut_backends.workers.test_process import gone
from tests.waiting import eventually

#: The build of a package that announces itself and then waits without a limit.
_SLOW_BUILD = """
import os
from pathlib import Path

def build_wheel(folder, settings=None, metadata=None):
    Path(os.environ["SLOW_BUILD_AT"]).write_text(str(os.getpid()))
    os.read(os.pipe()[0], 1)
"""
_INSTALL = """
import sys
from pathlib import Path
from sut_backends.sdk.install import install
from sut_backends.sdk.kinds import read
install(read(Path(sys.argv[1])), sys.executable, print)
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, the only one that pip looks into, and a place for
    environments."""
    folder = tmp_path / "index"
    folder.mkdir()
    for version, code in (
        ("1.0", "answer = 1\n"),
        ("2.0", "answer = 2\n"),
        ("3.0", "answer = \n"),
    ):
        wheel(folder, "softly", version, code)
    slow(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("SLOW_BUILD_AT", str(tmp_path / "slow"))
    return folder


def wheel(folder: Path, name: str, version: str, code: str) -> None:
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", code)
        file.writestr(
            f"{about}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        )
        file.writestr(
            f"{about}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{about}/RECORD", "")


def slow(folder: Path) -> None:
    """Write a source package whose build never ends."""
    project = (
        '[build-system]\nrequires = []\nbuild-backend = "slow"\nbackend-path = ["."]\n'
    )
    texts = {
        "pyproject.toml": project,
        "slow.py": _SLOW_BUILD,
        "PKG-INFO": "Metadata-Version: 2.1\nName: slowly\nVersion: 1.0\n",
    }
    with tarfile.open(folder / "slowly-1.0.tar.gz", "w:gz") as file:
        for name, text in texts.items():
            entry = tarfile.TarInfo(f"slowly-1.0/{name}")
            entry.size = len(text)
            file.addfile(entry, BytesIO(text.encode()))


def described(folder: Path, requirements: str, more: str = "") -> SdkKind:
    """Return the SDK "soft" with other requirements."""
    folder.mkdir(exist_ok=True)
    sheet = f'title = "Soft"\npython = ">=3.10"\nimports = ["softly"]\n{more}'
    (folder / "sdk.toml").write_text(sheet)
    (folder / "requirements.txt").write_text(requirements)
    return read(folder)


def answer() -> str:
    """Return the installed package's output, by the environment's own script of pip's
    folder.
    """
    python = installed("soft")
    code = "import softly, sys; print(softly.answer, sys.prefix)"
    done = captured([python, "-c", code], check=True)
    return done.stdout.split()[0]


def left(kind: str = "soft") -> list[str]:
    """Return the folders of environments of a kind, the one in use among them."""
    return [path.name for path in root().glob(f".{kind}-*")]


@pytest.mark.long
def test_what_fails_or_is_cut_off_leaves_the_environment_that_was_there(
    index: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "soft"
    output: list[str] = []
    install(described(folder, "softly==1.0\n"), sys.executable, output.append)
    assert "  1 of 1: softly 1.0" in output
    (used,) = left()

    # pip fails
    with pytest.raises(BenchError, match="the packages cannot be installed") as failed:
        install(
            described(folder, "softly==1.0\nno-such-package==1\n"),
            sys.executable,
            print,
        )
    assert "no-such-package" in failed.value.evidence
    assert (answer(), left()) == ("1", [used])

    # the new one installs, and cannot be imported
    with pytest.raises(
        BenchError, match="does not work, the present one stays"
    ) as broken:
        install(described(folder, "softly==3.0\n"), sys.executable, print)
    assert "SyntaxError" in broken.value.evidence
    assert (answer(), left()) == ("1", [used])

    # it is killed in the middle of a build
    described(folder, "softly==2.0\nslowly==1.0\n")
    building = Path(os.environ["SLOW_BUILD_AT"])
    command = [sys.executable, "-c", _INSTALL, str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    pid = int(
        eventually(lambda: building.exists() and building.read_text(), process=process)
    )
    with pytest.raises(BenchError, match="is being installed by another process"):
        install(described(folder, "softly==2.0\n"), sys.executable, print)
    process.kill()
    process.wait()
    eventually(lambda: gone(pid))
    assert answer() == "1"
    assert len(left()) == 2

    # a whole environment takes the place, and the rest is gone
    install(described(folder, "softly==2.0\n"), sys.executable, print)
    assert answer() == "2"
    (new,) = left()
    assert new != used
    script = installed("soft").with_name("pip")
    done = captured([script, "--version"], check=True)
    assert new in done.stdout  # its scripts lead to itself: it was not moved


def test_an_environment_of_before_serves_until_a_link_takes_its_place(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = described(tmp_path / "soft", "softly==1.0\n")
    position = root() / "soft"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", position], check=True
    )
    with NewEnvironment("soft") as new:
        assert installed("soft").exists()
        (new.folder / "bin").mkdir()
        (new.folder / "bin" / "python").symlink_to(sys.executable)
        # as kill -9 between the two steps would leave it
        monkeypatch.setattr(
            Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            new.take_place()
        assert not position.exists()
        assert examine(sdk).problems == (
            "softly is missing",
            "import softly: ModuleNotFoundError: No module named 'softly'",
        )
        monkeypatch.undo()
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert position.is_dir() and not position.is_symlink()
    with NewEnvironment("soft") as new:
        (new.folder / "bin").mkdir()
        new.take_place()
    assert position.is_symlink() and left() == [position.resolve().name]


def test_a_disk_without_room_is_reported_before_anything_is_fetched(
    index: Path, tmp_path: Path
) -> None:
    size = "[size]\ndownload_mb = 5\ninstalled_mb = 900000000\nmeasured = 'in a test'\n"
    sdk = described(tmp_path / "soft", "softly==1.0\n", size)
    output: list[str] = []
    with pytest.raises(BenchError, match="no room") as caught:
        install(sdk, sys.executable, output.append)
    assert "900000000 MB are needed" in caught.value.evidence
    assert output == [
        "1 packages, pinned: 5 MB to download, 900000000 MB installed (in a test);"
        " minutes, some compile"
    ]
    assert left() == []


def test_pips_lines_become_a_line_for_each_package() -> None:
    output: list[str] = []
    progress = Progress(3, output.append)
    for line in (
        "Collecting numpy==1.26.4 (from -r requirements.txt (line 1))",
        (
            "  Downloading numpy-1.26.4-cp310-cp310-manylinux_2_17_x86_64.whl.metadata"
            " (61 kB)"
        ),
        "  Downloading numpy-1.26.4-cp310-cp310-manylinux_2_17_x86_64.whl (18.2 MB)",
        "  Using cached dsolve-0.0.5.tar.gz (12 kB)",
        "Processing ./wheels/torch-2.13.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "  Using cached six-1.17.0-py2.py3-none-any.whl (11 kB)",
        "  Building wheel for xylosim (pyproject.toml): started",
        "  Building wheel for xylosim (pyproject.toml): finished with status 'done'",
        "Installing collected packages: numpy, dsolve",
    ):
        progress.heard(line)
    assert output == [
        "  1 of 3: numpy 1.26.4, 18.2 MB",
        "  2 of 3: dsolve 0.0.5, 12 kB",
        "  3 of 3: torch 2.13.0+cpu",
        "  4, not on the list: six 1.17.0, 11 kB",
        "  xylosim is compiled",
        "  all there, unpacked now",
    ]


def test_every_sheet_states_its_size() -> None:
    for kind in ("gpu", "loihi", "spinnaker", "xylo"):
        size = read(ROOT / "sut_backends" / kind).size
        assert size is not None, kind
        assert 0 < size.download_mb < size.installed_mb and "2026" in size.measured
