# SPDX-License-Identifier: Apache-2.0
"""The maker's client measures with an Otii server; an environment of its own has it."""

from __future__ import annotations

import json
import sys
import time

from otii_tcp_client import otii_client

RECORD_S = 1.2

host, port = sys.argv[1].split(":")
client = otii_client.OtiiClient()
with client.connect(host=host, port=int(port), try_for_seconds=5) as otii:
    devices = otii.get_devices()
    device = devices[0]
    device.add_to_project()
    device.set_main_voltage(3.3)
    device.set_exp_voltage(3.3)
    device.set_max_current(0.5)
    device.enable_exp_port(True)
    for channel in ("mc", "mv", "i1"):
        device.enable_channel(channel, True)
    # Of a server without a project, get_active_project raises.
    project = otii.create_project()
    device.set_main(True)
    project.start_recording()
    time.sleep(RECORD_S)  # the length of the recording
    project.stop_recording()
    device.set_main(False)
    recording = project.get_last_recording()
    assert recording is not None and not recording.is_running()
    told = {"kinds": [each.type for each in devices], "rates": {}}
    for channel in ("mc", "mv"):
        count = recording.get_channel_data_count(device.id, channel)
        told[channel] = recording.get_channel_data(device.id, channel, 0, count)
        told["rates"][channel] = device.get_channel_samplerate(channel)
    count = recording.get_channel_data_count(device.id, "i1")
    told["i1"] = recording.get_channel_data(device.id, "i1", 0, count)
    info = recording.get_channel_info(device.id, "mc")
    told["info"] = info
    told["statistics"] = recording.get_channel_statistics(
        device.id, "mc", info["from"], info["to"]
    )
    told["main"] = device.get_main()
print(json.dumps(told))
