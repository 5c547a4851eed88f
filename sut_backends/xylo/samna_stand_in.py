# SPDX-License-Identifier: Apache-2.0
"""A stand-in for samna, the vendor's driver, which Rockpool imports at every turn; the
package of that name on PyPI calls pip when it is imported.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any


def stand_in_for_samna() -> None:
    """Put a module in place of samna that Rockpool can import: every attribute of it is
    an empty class."""
    if "samna" in sys.modules:
        return

    class Hollow(type):
        def __getattr__(cls, name: str) -> Any:
            return hollow(name)

    def hollow(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(name, (), {})

    class HollowModule(types.ModuleType):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.__path__: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return hollow(name)

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if name.partition(".")[0] != "samna":
                return None
            return importlib.util.spec_from_loader(name, finder)

        @staticmethod
        def create_module(spec: Any) -> Any:
            return HollowModule(spec.name)

        @staticmethod
        def exec_module(module: Any) -> None:
            return

    finder: Any = Finder()
    sys.meta_path.insert(0, finder)
