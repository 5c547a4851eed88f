# SPDX-License-Identifier: Apache-2.0
"""The Otii driver measures the truth through the simulated server, and reports each
fault that server, licence, device and recording can have. tests/drivers/peers has the
maker's own client on the same simulator.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.otii import licence, link
from drivers.otii.driver import Otii
from drivers.otii.link import OtiiLink
from drivers.otii.settings import OtiiFaults, OtiiSettings, OtiiSimulatorSettings
from drivers.otii.sim.simulator import OtiiSimulator
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
    RigError,
)
from rig.interfaces.context import BenchContext
from rig.settings.check import checked
from rig.trace.trace import SAID, Trace

MS = 1_000_000


class OtiiBench:
    """A table with a simulated Otii server, and the actions of a test on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.context = BenchContext()
        self.opened: list[Otii] = []

    def open(
        self,
        faults: OtiiFaults | None = None,
        simulator: dict[str, Any] | None = None,
        **more: Any,
    ) -> Otii:
        quiet = {"clock_ppm": 0.0, "faults": faults or OtiiFaults()} | (simulator or {})
        settings = OtiiSettings(
            **({"server": "simulator"} | more),
            simulator=OtiiSimulatorSettings(**quiet),
        )
        monitor = Otii.open(checked(settings, "monitor.otii"), self.context)
        self.opened.append(monitor)
        return monitor

    def draw(self, power_w: float, duration_ms: float, level: bool = True) -> None:
        world = self.context.world
        world.put(world.now_ns(), level, power_w)
        world.wait(round(duration_ms * MS))

    def three_pulses(self, monitor: Otii) -> Trace:
        """Record three pulses of 5 ms that begin 103.3 ms apart, 70.37 ms after
        the start."""
        monitor.power(True)
        with monitor.record(self.folder):
            self.draw(0.0033, 50.37)
            for _ in range(3):
                self.draw(0.033, 5, level=False)
                self.draw(0.033, 98.3)
        return self.trace()

    def trace(self) -> Trace:
        return Trace.open(self.folder / "trace.jls")

    def found(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / SAID).read_text())
        return content


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[OtiiBench]:
    made = OtiiBench(tmp_path)
    yield made
    for monitor in made.opened:
        monitor.close()
    assert not made.context.world.supply_on
    assert not list(tmp_path.rglob("*.partial"))


@pytest.fixture
def server() -> Iterator[OtiiSimulator]:
    simulator = OtiiSimulator(
        OtiiSimulatorSettings(faults=OtiiFaults(logged_in=False)), BenchContext()
    )
    yield simulator
    simulator.close()


# --- The truth


def test_an_arc_finds_edges_within_half_a_period_and_the_power_between_them(
    bench: OtiiBench,
) -> None:
    trace = bench.three_pulses(bench.open())
    falls_s = 0.07037 + np.array([0.0, 0.1033, 0.2066])
    assert trace.falls_s == pytest.approx(falls_s, abs=0.5e-3)
    assert trace.mean_w(0.080, 0.370) == pytest.approx(0.033, rel=1e-6)
    assert trace.mean_w(0.0, 0.060) < 0.0034
    assert bench.found()["sync_grid_s"] == pytest.approx(1e-3)
    assert not trace.gaps and trace.sample_hz == 4000


@pytest.mark.parametrize(
    ("input_hz", "grid_s", "within_s"), [(4000, 0.25e-3, 0.125e-3), (50_000, 0, 20e-6)]
)
def test_edges_whose_times_are_finer_are_taken_as_they_are(
    bench: OtiiBench, input_hz: int, grid_s: float, within_s: float
) -> None:
    trace = bench.three_pulses(bench.open(simulator={"input_hz": input_hz}))
    assert bench.found()["sync_grid_s"] == pytest.approx(grid_s)
    falls_s = 0.07037 + np.array([0.0, 0.1033, 0.2066])
    assert trace.falls_s == pytest.approx(falls_s, abs=within_s + 1e-9)


def test_an_ace_takes_the_rate_that_is_set_and_an_arc_has_one(bench: OtiiBench) -> None:
    monitor = bench.open(simulator={"model": "Ace"}, sample_hz=50_000)
    assert (monitor.info.name, monitor.info.sample_hz) == ("Otii Ace", 50_000)
    assert bench.three_pulses(monitor).sample_hz == 50_000
    with pytest.raises(ConfigError, match="no other rate") as caught:
        bench.open(sample_hz=50_000)
    assert caught.value.path == "monitor.otii.sample_hz"


def test_the_errors_of_the_device_are_in_the_trace_and_no_others(
    bench: OtiiBench,
) -> None:
    errors = {"gain": 0.001, "offset_a": 1e-6, "supply_v_error": -0.002}
    trace = bench.three_pulses(bench.open(simulator=errors))
    current_a = 0.033 / (3.3 * 0.998) * 1.001 + 1e-6
    assert trace.mean_w(0.080, 0.370) == pytest.approx(
        current_a * 3.3 * 0.998, rel=1e-6
    )


def test_limits_say_what_is_assumed_and_follow_model_and_range(
    bench: OtiiBench,
) -> None:
    arc = bench.open()
    info = arc.info
    assert [row.offset for row in info.accuracy.current] == [50e-9, 150e-6]
    assert "assumed" in info.accuracy.source and not info.accuracy.verified
    assert Otii.restated(arc._settings, info) == info
    arc.close()
    high = bench.open(current_range="high", simulator={"model": "Ace"}).info
    assert [row.gain for row in high.accuracy.current] == [0.0005]


# --- Server and licence


def test_a_server_that_does_not_run_is_not_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(DeviceNotFound, match="no Otii server answers") as caught:
        Otii.open(OtiiSettings(server=address), BenchContext())
    assert "start the Otii application" in caught.value.try_next


@pytest.mark.parametrize("server", ["otii", "127.0.0.1:", "127.0.0.1:a"])
def test_an_address_without_a_port_is_refused(server: str) -> None:
    with pytest.raises(ConfigError, match="names no server"):
        Otii.open(OtiiSettings(server=server), BenchContext())


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"SSH-2.0-OpenSSH\r\n", RemoteProtocolError),
        (b"[]\r\n", RemoteProtocolError),
        (b"", DeviceLost),
        (b'{"type": "error", "errorcode": "Connection denied"}\r\n', DeviceBusy),
    ],
)
def test_what_is_no_server_or_denies_the_connection_is_named(
    said: bytes, error: type[RigError]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def speak() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(said)

        speaker = threading.Thread(target=speak)
        speaker.start()
        with pytest.raises(error):
            OtiiLink.open(f"127.0.0.1:{listener.getsockname()[1]}")
        speaker.join()


def test_a_licence_is_reserved_and_given_back_and_so_is_the_login(
    server: OtiiSimulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(BenchError, match="no user is logged in") as caught:
        Otii.open(OtiiSettings(server=server.server), BenchContext())
    assert caught.value.see == "otii-licence"
    monkeypatch.setenv(licence.USER, "simulated")
    monkeypatch.setenv(licence.PASSWORD, "wrong")
    with pytest.raises(BenchError, match="does not log this user in") as caught:
        Otii.open(OtiiSettings(server=server.server), BenchContext())
    assert "wrong" not in f"{caught.value}"
    monkeypatch.setenv(licence.PASSWORD, "simulated")
    monitor = Otii.open(OtiiSettings(server=server.server), BenchContext())
    assert server.reserved == [100] and not monitor.info.simulated
    monitor.close()
    assert server.reserved == [] and not server._logged_in


@pytest.mark.parametrize("licences", [(), ("Battery", "Pro")])
def test_without_a_licence_of_the_toolbox_nothing_is_measured(
    bench: OtiiBench, licences: tuple[str, ...]
) -> None:
    with pytest.raises(BenchError, match="no licence") as caught:
        bench.open(OtiiFaults(licences=licences))
    assert caught.value.see == "otii-licence"


def test_a_recorded_conversation_holds_no_password(
    server: OtiiSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    connected = OtiiLink.open(server.server, lambda _, block: heard.append(block))
    connected.request("otii_login", username="simulated", password="simulated")
    connected.close()
    login = next(each for each in heard if b"otii_login" in each)
    assert login.count(b"not recorded") == 2 and b'"simulated"' not in login


# --- The device and its settings


def test_of_several_devices_one_must_be_named(bench: OtiiBench) -> None:
    two = OtiiFaults(devices=("one", "two"))
    with pytest.raises(ConfigError, match="several devices") as caught:
        bench.open(two)
    assert "one (Arc" in caught.value.evidence and "two (Arc" in caught.value.evidence
    assert bench.open(two, device="two").info.serial.endswith("2")
    with pytest.raises(DeviceNotFound, match="no device three"):
        bench.open(two, device="three")
    with pytest.raises(DeviceNotFound, match="has no device"):
        bench.open(OtiiFaults(devices=()))


def test_what_was_left_on_or_running_is_ended_and_noted(bench: OtiiBench) -> None:
    faults = OtiiFaults(supply_found_on=True, recording_found=True)
    monitor = bench.open(faults)
    assert not bench.context.world.supply_on
    details = monitor.info.details
    assert details["supply_found_on"] and details["recording_found"]
    assert len(bench.three_pulses(monitor).falls_s) == 3


@pytest.mark.parametrize(
    "name",
    [
        "arc_set_main_voltage",
        "arc_enable_exp_port",
        "arc_enable_channel",
        "otii_reserve_license",
        "project_get_last_recording",
    ],
)
def test_a_request_that_is_refused_is_named(bench: OtiiBench, name: str) -> None:
    with pytest.raises(BenchError, match=f"refuses {name}: Command failure") as caught:
        bench.open(OtiiFaults(refuse=name))
    assert "it cannot be done now" in caught.value.evidence


@pytest.mark.parametrize(
    "name",
    [
        "arc_get_main_voltage",
        "arc_get_max_current",
        "arc_get_exp_voltage",
        "arc_get_range",
        "arc_get_channel_samplerate",
    ],
)
def test_a_setting_that_does_not_stick_is_named_with_both_values(
    bench: OtiiBench, name: str
) -> None:
    with pytest.raises(BenchError, match="does not keep a setting") as caught:
        bench.open(OtiiFaults(misread=name))
    assert name in caught.value.evidence and "77" in caught.value.evidence


def test_a_supply_that_does_not_go_off_may_still_be_on(bench: OtiiBench) -> None:
    with pytest.raises(BenchError, match="does not switch its supply off") as caught:
        bench.open(OtiiFaults(misread="arc_get_main"))
    assert any("may still be on" in note for note in caught.value.__notes__)


def test_a_request_that_is_never_answered_ends_within_its_limit(
    bench: OtiiBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "ANSWER_S", 0.2)
    began_s = time.monotonic()
    with pytest.raises(DeadlineError, match="answer of the Otii server") as caught:
        bench.open(OtiiFaults(mute="arc_get_version"))
    assert time.monotonic() - began_s < 5
    assert "arc_get_version" in caught.value.cause


def test_a_supply_whose_switching_off_is_not_answered_is_asked_anew(
    bench: OtiiBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "ANSWER_S", 0.2)
    monitor = bench.open(OtiiFaults(mute="recording_is_running"))
    monitor.power(True)
    with (
        pytest.raises(DeadlineError, match="recording_is_running"),
        monitor.record(bench.folder) as recording,
    ):
        bench.draw(0.033, 100)
        until_it_fails(recording)
    monitor.close()
    assert not bench.context.world.supply_on


def test_the_supply_is_switched_between_recordings_only(bench: OtiiBench) -> None:
    monitor = bench.open()
    with (
        monitor.record(bench.folder),
        pytest.raises(BenchError, match="between recordings only"),
    ):
        monitor.power(True)


# --- The recording


def until_it_fails(recording: Any) -> None:
    end_s = time.monotonic() + 10
    while time.monotonic() < end_s:
        recording.check()
        time.sleep(0.02)  # between two looks at a recording that fails
    pytest.fail("no error came")


def test_a_device_that_is_unplugged_ends_the_recording_and_what_came_is_kept(
    bench: OtiiBench,
) -> None:
    monitor = bench.open(OtiiFaults(unplugged_at_s=0.2))
    monitor.power(True)
    with (
        pytest.raises(DeviceLost, match="ended before its time"),
        monitor.record(bench.folder) as recording,
    ):
        bench.draw(0.033, 300)
        until_it_fails(recording)
    assert bench.trace().duration_s > 0.19
    with pytest.raises(DeviceLost, match="is gone"):
        monitor.power(False)


def test_a_server_that_ends_is_lost_and_its_supply_may_still_be_on(
    bench: OtiiBench,
) -> None:
    monitor = bench.open(OtiiFaults(ended_at_s=0.1))
    monitor.power(True)
    with (
        pytest.raises(DeviceLost, match="the Otii server at") as caught,
        monitor.record(bench.folder) as recording,
    ):
        bench.draw(0.033, 300)
        until_it_fails(recording)
    assert "may still be on" in caught.value.try_next
    with pytest.raises(BenchError, match="may not have switched") as caught:
        monitor.close()
    assert "no Otii server answers" in caught.value.evidence
    bench.context.world.supply_on = False  # it can no longer be switched off


def test_samples_that_are_missing_by_the_servers_times_are_a_gap(
    bench: OtiiBench,
) -> None:
    faults = OtiiFaults(lose_at=40_000, lose_samples=100)
    monitor = bench.open(faults)
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.033, 12_000.3)
        bench.draw(0.033, 5, level=False)
        bench.draw(0.033, 100)
    trace = bench.trace()
    spans = sorted((gap.start, gap.stop) for gap in trace.gaps)
    # Only the first sample of a fetch has a time.
    assert spans == [(0, 40_000), (40_000, 40_100)]
    assert trace.falls_s == pytest.approx([12.0203], abs=0.5e-3)
    assert trace.duration_s == pytest.approx(12.1753, abs=1e-3)


def test_samples_that_are_missing_by_the_hosts_clock_alone_are_a_gap_over_all(
    bench: OtiiBench,
) -> None:
    faults = OtiiFaults(lose_at=100, lose_samples=5000, unnumbered=True)
    monitor = bench.open(faults)
    with monitor.record(bench.folder):
        bench.draw(0.033, 3000)
    [gap] = bench.trace().gaps
    assert (gap.start, gap.stop) == (0, bench.trace().length)
    assert "about 1.2 s of samples are missing" in gap.cause or "1.3 s" in gap.cause


@pytest.mark.parametrize(
    "name", ["project_start_recording", "recording_get_channel_data"]
)
def test_a_recording_that_does_not_begin_or_cannot_be_fetched_is_an_error(
    bench: OtiiBench, name: str
) -> None:
    monitor = bench.open(OtiiFaults(refuse=name))
    with (
        pytest.raises(BenchError, match=f"refuses {name}"),
        monitor.record(bench.folder),
    ):
        bench.draw(0.033, 100)


def test_in_real_time_it_records_what_happened(bench: OtiiBench) -> None:
    began_ns = time.monotonic_ns()
    bench.context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    monitor = bench.open()
    monitor.power(True)
    with monitor.record(bench.folder) as recording:
        bench.draw(0.0033, 100)
        bench.draw(0.033, 5, level=False)
        bench.draw(0.033, 300)
        recording.check()
    trace = bench.trace()
    assert len(trace.falls_s) == 1 and not trace.gaps
    assert trace.mean_w(trace.falls_s[0] + 0.01, trace.falls_s[0] + 0.25) == (
        pytest.approx(0.033, rel=1e-6)
    )
