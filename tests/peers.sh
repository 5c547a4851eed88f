#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh PYTHON: programs of others, from PyPI, against our simulated instruments (make peers).
# PYTHON runs the tests and the simulators; the programs have an environment of their own, as they
# bring half a gigabyte along.
set -eu
cd "$(dirname "$0")/.."
venv=build/peers
mkdir -p build
[ -x $venv/bin/python ] || "$1" -m venv $venv
$venv/bin/python -m pip install -qq -r tests/drivers/peers/requirements.txt || {
    echo "make peers: qcodes cannot be installed here, so it is not tried on the simulated N6705"
    exit 0
}
sed -n 's/==/ /p' tests/drivers/peers/requirements.txt
PEERS_PYTHON=$PWD/$venv/bin/python \
    exec "$1" -m pytest -q -p no:cacheprovider tests/drivers/peers
