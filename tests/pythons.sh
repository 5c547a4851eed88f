#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pythons.sh PYTHON...: the wheel of dist/ (make release), installed with each interpreter in an
# empty environment, runs the README: the demo, its check, the firmware and the examples.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || { echo "pythons.sh PYTHON...: names no interpreter"; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
EXAMPLES='
import pathlib, re, sys
text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
for number, code in enumerate(re.findall("```python\n(.*?)```", text, re.DOTALL), 1):
    pathlib.Path(f"example_{number}.py").write_text(code, encoding="utf-8")
'
PATH="$scratch/run/venv/bin:$PATH"
for python in "$@"; do
    rm -rf "$scratch/run" && mkdir "$scratch/run" && cd "$scratch/run"
    "$python" -m venv venv
    python -m pip install -qq -c "$root/constraints.txt" "$root"/dist/*.whl pytest
    python --version
    rig demo
    rig check sessions/*
    rig firmware new firmware --port posix
    rig firmware build firmware
    rig bench new posix-asc
    rig run posix-asc.toml
    rig check sessions/*-posix-asc
    rig bench new virtual-asc
    python -c "$EXAMPLES" "$root/README.md"
    python example_1.py
    python -m pytest -q -p no:cacheprovider example_2.py
done
