# SPDX-License-Identifier: Apache-2.0
"""Log with an N6705 through easy-scpi, which makes each command of its header's words;
write its results as JSON. Runs in the environment of `make peers`, and does not import
the rig.
"""

import json
import sys
import time
from importlib.metadata import version

from easy_scpi import Instrument


def main(resource: str) -> None:
    """Log current and voltage of channel 1 as text for a while."""
    endings = {"read_termination": "\n", "write_termination": "\n"}
    instrument = Instrument(
        resource, port_match=False, backend="@py", timeout=5000, **endings
    )
    instrument.connect()
    text = {"easy-scpi": version("easy-scpi"), "idn": instrument.id}
    instrument.source.voltage("1.8,(@1)")
    instrument.output.state("on,(@1)")
    text["power"] = instrument.measure.scalar.power("(@1)", query=True)
    instrument.sense.elog.function.current("on,(@1)")
    instrument.sense.elog.function.voltage("on,(@1)")
    instrument.sense.elog.period("0.002,(@1)")
    text["period"] = instrument.sense.elog.period("(@1)", query=True)
    instrument.trigger.elog.source("imm,(@1)")
    instrument.initiate.elog("(@1)")
    time.sleep(0.3)  # the client has no way to wait for records
    text["log"] = instrument.fetch.elog("100,(@1)", query=True)
    instrument.abort.elog("(@1)")
    instrument.output.state("off,(@1)")
    text["errors"] = instrument.system.error()
    instrument.disconnect()
    json.dump(text, sys.stdout)


main(sys.argv[1])
