# SPDX-License-Identifier: Apache-2.0
"""The files of a release: one version, the same bytes from two clones, checksums that
`ssh-keygen` and `sha256sum` verify.
"""

from __future__ import annotations

import importlib.util
import io
import re
import shutil
import sys
import tarfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import rig
from tests.conftest import ROOT
from tests.length import is_short
from tests.programs import captured


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """Load the script, which is in no package."""
    path = ROOT / "tools" / "release.py"
    if not path.exists():
        pytest.skip("a source distribution has no tools")
    spec = importlib.util.spec_from_file_location("release", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["release"] = module
    spec.loader.exec_module(module)
    return module


def test_the_package_the_project_and_the_citation_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stated = project["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == stated
    installed = version("neurorig")
    assert installed == stated, "install the checkout again: pip install -e ."
    assert rig.__version__ == stated


def archive(path: Path, names: list[str], mtime: int, mode: int, owner: str) -> None:
    """Write a source distribution as a clone of these properties makes it."""
    with tarfile.open(path, "w:gz") as packed:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(name)
            member.mtime = mtime
            member.mode = mode
            member.uname = owner
            packed.addfile(member, io.BytesIO(name.encode()))


def test_source_distributions_of_two_clones_become_the_same_bytes(
    tool: ModuleType, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"
    names = ["n-0.9/run", "n-0.9/a/b.py", "n-0.9/" + "long/" * 30 + "name.py"]
    archive(first, names, mtime=1_000_000_001, mode=0o775, owner="root")
    archive(second, names[::-1], mtime=1_700_000_000, mode=0o700, owner="me")
    assert first.read_bytes() != second.read_bytes()
    for path in (first, second):
        tool.normalise(path, 1_600_000_000)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as packed:
        assert packed.getnames() == sorted(names)
        assert {member.mtime for member in packed} == {1_600_000_000}
        assert {member.mode for member in packed} == {0o755}
        assert packed.extractfile(names[0]).read() == names[0].encode()


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is missing")
def test_checksums_verify_and_a_changed_file_or_list_does_not(
    tool: ModuleType, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    captured(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    wheel = tmp_path / "neurorig-0.9.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    sums = tool.write_sums([wheel])
    signature = tool.signed(sums, key)
    public = key.with_suffix(".pub").read_text(encoding="utf-8")
    (tmp_path / "signers").write_text(f"me@example.org {public}")
    verify = ["ssh-keygen", "-Y", "verify", "-f", tmp_path / "signers"]
    verify += ["-I", "me@example.org", "-n", tool.NAMESPACE, "-s", signature]
    check = ["sha256sum", "--check", "--strict", sums.name]
    text = sums.read_text(encoding="utf-8")
    assert captured(verify, input=text).returncode == 0
    assert captured(verify, input=text.upper()).returncode != 0
    assert captured(check, cwd=tmp_path).returncode == 0
    wheel.write_bytes(b"another")
    assert captured(check, cwd=tmp_path).returncode != 0


def test_a_key_that_is_not_there_is_refused_before_anything_is_built(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "run", lambda *_, **__: "")
    with pytest.raises(tool.ReleaseError, match="no key"):
        tool.release(tmp_path / "dist", sbom=False, key=tmp_path / "nosuch")
    assert not (tmp_path / "dist").exists()


@pytest.mark.long
@pytest.mark.skipif(is_short(), reason="make test FULL=1: tests/system/test_wheel.py")
def test_two_clones_of_the_last_commit_build_the_same_wheel_and_sdist(
    tool: ModuleType, tmp_path: Path
) -> None:
    pytest.importorskip("setuptools", minversion="77")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    epoch_s = 1_700_000_000
    first = tool.built(tmp_path / "first", 0o022, epoch_s)
    second = tool.built(tmp_path / "second", 0o077, epoch_s)
    assert [path.suffix for path in first] == [".gz", ".whl"]
    for path, again in zip(first, second, strict=True):
        assert path.read_bytes() == again.read_bytes(), path.name
