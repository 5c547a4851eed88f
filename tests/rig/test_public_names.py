# SPDX-License-Identifier: Apache-2.0
"""`rig` names the whole public interface, and importing it imports no more."""

from __future__ import annotations

import ast
import sys
from itertools import chain

import pytest

import rig
from tests.conftest import ROOT
from tests.programs import captured


def test_every_public_name_is_there_and_in_order() -> None:
    assert rig.__all__ == sorted(rig.__all__)
    for name in rig.__all__:
        assert getattr(rig, name).__name__ == name
    assert dir(rig) == rig.__all__
    assert set(chain.from_iterable(rig._HOMES.values())) == set(rig.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        rig.nothing  # noqa: B018


def test_a_type_checker_sees_the_same_names() -> None:
    tree = ast.parse((ROOT / "rig" / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if (node.module or "").startswith("rig.")]
    aliases = chain.from_iterable(node.names for node in own)
    seen = [alias.name for alias in aliases]
    assert sorted(seen) == rig.__all__


def test_importing_it_imports_no_library() -> None:
    code = (
        "import sys, rig; print(sorted({'numpy', 'pandas', 'scipy', 'click'} &"
        " set(sys.modules)))"
    )
    done = captured([sys.executable, "-c", code], check=True)
    assert done.stdout.strip() == "[]"
