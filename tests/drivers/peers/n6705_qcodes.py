# SPDX-License-Identifier: Apache-2.0
"""Drive an N6705 with qcodes; write its reading of the answers as JSON. Runs in the
environment of `make peers`, and does not import the rig.
"""

import json
import sys
from importlib.metadata import version

from qcodes.instrument_drivers.Keysight import KeysightN6705B


def main(resource: str) -> None:
    """Switch channel 1 on and off, and read it each time."""
    instrument = KeysightN6705B("n6705", resource, visalib="@py", timeout=5)
    channel = instrument.channels[0]
    output = {"qcodes": version("qcodes"), "idn": instrument.get_idn()}
    channel.source_voltage(1.8)
    channel.source_current(0.2)
    output["set"] = [channel.source_voltage(), channel.source_current()]
    channel.enable("on")
    output["on"] = [channel.enable(), channel.voltage(), channel.current()]
    channel.enable("off")
    output["off"] = [channel.enable(), channel.voltage(), channel.current()]
    output["errors"] = instrument.ask("SYST:ERR?")
    instrument.close()
    json.dump(output, sys.stdout)


main(sys.argv[1])
