# SPDX-License-Identifier: Apache-2.0
"""Make the documentation's pictures of a terminal from the real output of commands.

make screenshots
python -m benchmarks.terminal_pictures --out /tmp/pictures
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.programs import captured

OUT = Path(__file__).resolve().parent.parent / "docs" / "images"
COLUMNS = 84
#: The command of each picture; the second looks at the session of the first.
COMMANDS = {"demo": "rig demo", "check": "rig check sessions/*-virtual-asc"}
#: Ends each redrawn line of a progress bar, which is cleared before the results appear.
_CLEARED = "\x1b[2K"
_FONT_OF_A_SERVER = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main(words: list[str]) -> int:
    """Make the pictures; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the pictures")
    parser.add_argument("--quick", action="store_true", help="the first picture only")
    options = parser.parse_args(words)
    options.out.mkdir(parents=True, exist_ok=True)
    names = ["demo"] if options.quick else list(COMMANDS)
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            printed = output(COMMANDS[name], Path(scratch))
            path = options.out / f"terminal-{name}.svg"
            path.write_text(picture(name, printed), encoding="utf-8")
            print(f"{path.name} {path.stat().st_size / 1000:.0f} kB")
    return 0


def output(command: str, folder: Path) -> str:
    """Run a command in a folder as in a terminal with colours; return what stays on its
    screen.
    """
    words: list[str] = []
    for word in command.split()[1:]:
        found = [str(path.relative_to(folder)) for path in folder.glob(word)]
        words += found or [word]
    wanted = {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    done = captured(
        [sys.executable, "-m", "rig", *words],
        cwd=folder,
        env={**os.environ, **wanted},
        timeout=200,
        check=True,
    )
    return done.stdout.rpartition(_CLEARED)[2]


def picture(name: str, printed: str) -> str:
    """Return an SVG picture of a terminal that shows a command and its output. It asks
    no server for a font.
    """
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True
    )
    console.print(f"[bold]$ {COMMANDS[name]}[/]", highlight=False)
    console.print(Text.from_ansi(printed.rstrip()), soft_wrap=False)
    svg = console.export_svg(title="SIMULATED device and monitor", unique_id=name)
    return _FONT_OF_A_SERVER.sub("", svg)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
