#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pair.sh PYTHON: the Joulescope's tests with another Python and the maker's newest host library, in
# an environment of their own (make pairs).
set -eu
cd "$(dirname "$0")/.."
venv=build/pair
mkdir -p build
[ -x $venv/bin/python ] || "$1" -m venv $venv
grep -v '^pyjoulescope_driver=' constraints.txt > $venv/constraints.txt
$venv/bin/python -m pip install -qq --upgrade -c $venv/constraints.txt \
    -e '.[joulescope]' hypothesis pytest pytest-timeout
$venv/bin/python -c 'import sys, pyjoulescope_driver as driver
print("Python", sys.version.split()[0], "with pyjoulescope_driver", driver.__version__)'
# Those that must run alone hold the pace of a clock: once is enough.
exec $venv/bin/python -m pytest -q -p no:cacheprovider -m "not alone" tests/drivers/joulescope
