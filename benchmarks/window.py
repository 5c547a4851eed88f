# SPDX-License-Identifier: Apache-2.0
"""The window: the trace screen (gui_trace.py), then the live view (gui_live.py), one
after another.

Run it: `.venv/bin/python benchmarks/window.py [words for gui_trace.py]`. Exit code 1:
an aim is missed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(words: list[str]) -> int:
    """Run both, each in a process of its own; return 1 where one misses an aim."""
    commands = [["gui_trace.py", *words], ["gui_live.py"]]
    codes = [
        subprocess.run([sys.executable, HERE / name, *rest], check=False).returncode
        for name, *rest in commands
    ]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
