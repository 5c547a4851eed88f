# SPDX-License-Identifier: Apache-2.0
"""`rig serve`: the SUT of a bench file as a device for another host."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rig.units import quantity

if TYPE_CHECKING:
    from rig.bench.config import Config
    from rig.interfaces.sut import SystemUnderTest
    from sut_backends.served.admission import Admission
    from sut_backends.served.endpoints import Endpoint

_LOOPBACK = "127.0.0.1"
_WARNING = (
    "warning: whoever reaches {address} can run this device and load what they like"
    " into it; nothing is encrypted or asked for. Better: --tcp on this computer alone,"
    " and ssh -L"
)


@click.command(short_help="Serve the bench's SUT as a device for a host elsewhere")
@click.argument("bench", type=click.Path(path_type=Path))
@click.option("--pty", is_flag=True, help="A pseudo-terminal of this computer.")
@click.option(
    "--tcp", type=click.IntRange(0, 65_535), metavar="PORT", help="TCP; 0: any port."
)
@click.option("--port", default="", help="A serial port of this computer.")
@click.option(
    "--baud", default=115_200, show_default=True, help="Rate of the serial port."
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    default=_LOOPBACK,
    show_default=True,
    help="Address for --tcp; another than this computer's own lets others in.",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    help="With --tcp: encrypted; the certificate, as PEM.",
)
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key, as PEM.")
@click.option(
    "--token-file",
    default="",
    metavar="FILE",
    help="With --tls-cert: the token that a host must have; else NEURORIG_TOKEN.",
)
@click.option(
    "--sync",
    metavar="LINE",
    default="",
    help=(
        "Pulse around each step: rts, dtr, rts:PORT, dtr:PORT,"
        " gpio:/dev/gpiochipN:LINE."
    ),
)
@click.option(
    "--hold-us",
    type=click.IntRange(1, 65_535),
    default=50,
    show_default=True,
    help="Length of a pulse of --sync.",
)
@click.option(
    "--set", "overrides", multiple=True, metavar="A.B=V", help="Override a key."
)
def serve(
    bench: Path,
    pty: bool,
    tcp: int | None,
    port: str,
    baud: int,
    listen: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    token_file: str,
    sync: str,
    hold_us: int,
    overrides: tuple[str, ...],
) -> int:
    """Serve the SUT of a bench file as a device of the shim protocol, until Ctrl-C.

    On the other host the bench file has [sut.uart] and the port that is printed.
    Monitors and scenario of the file are that host's: they are not opened here.
    """
    # Imported here to keep the help of all commands fast.
    from contextlib import closing

    from rig.bench.labgrid.loan import on_loan
    from rig.cli.options import refuse_idle
    from rig.cli.printed.terminal import Terminal
    from rig.errors import ConfigError
    from rig.host.second_signal import stopped_by_signals
    from rig.host.stop import Stop
    from sut_backends.served.admission import Admission
    from sut_backends.served.endpoints import PtyEndpoint, SerialEndpoint, TcpEndpoint
    from sut_backends.served.serve import Server

    out = Terminal()
    if sum((pty, tcp is not None, bool(port))) != 1:
        raise ConfigError(
            "served where?",
            path="--pty, --tcp PORT or --port PORT",
            try_next="one of the three",
        )
    if not port:
        refuse_idle("without --port", "baud")
    if tcp is None:
        refuse_idle("without --tcp", "listen", "tls_cert", "tls_key")
    if (tls_cert is None) is not (tls_key is None):
        raise ConfigError(
            "one is given without the other",
            path="--tls-cert, --tls-key",
            try_next="both, as PEM files",
        )
    if tls_cert is None:
        refuse_idle("without --tls-cert", "token_file")
    if not sync:
        refuse_idle("without --sync", "hold_us")
    resolved = _without_monitors(bench, overrides)
    say: Callable[[str], None] = lambda line: out.print(line, markup=False)  # noqa: E731
    admission = None
    if tls_cert is not None and tls_key is not None:
        admission = Admission(tls_cert, tls_key, token_file, say)
    if tcp is not None and admission is None and not _is_own(listen):
        out.print(
            _WARNING.format(address=f"{listen}:{tcp}"), markup=False, soft_wrap=True
        )
    endpoint: Endpoint
    if port:
        endpoint = SerialEndpoint(port, baud)
    else:
        endpoint = PtyEndpoint() if tcp is None else TcpEndpoint(listen, tcp, admission)
    stop = Stop()
    with (
        closing(endpoint),
        stopped_by_signals(stop),
        stop.heard(),
        on_loan(resolved, stop) as lent,
    ):
        open_sut = _opener(lent)
        if sync:
            open_sut = _pulsed(open_sut, endpoint, sync, hold_us)
        server = Server(open_sut, endpoint, say)
        with closing(server):
            _introduce(out, server.sut, endpoint.url, admission)
            try:
                server.run()
            except KeyboardInterrupt:
                out.print("stopped; the device and the port are closed")
            _say_stamps(out, server.sut)
    return 0


def _without_monitors(bench: Path, overrides: tuple[str, ...]) -> Config:
    """Return a bench whose monitors, which the other host has, are not opened."""
    from dataclasses import replace

    from rig.bench import config

    return replace(config.load(bench, overrides, monitor_needed=False), monitors={})


def _opener(resolved: Config) -> Callable[[], SystemUnderTest]:
    """Return a function that opens the bench's SUT with its task."""
    from rig.bench.parts import open_part, open_task

    _, context = open_task(resolved)
    sut: Callable[[], Any] = lambda: open_part("sut", resolved, context)  # noqa: E731
    return sut


def _pulsed(
    open_sut: Callable[[], SystemUnderTest], endpoint: Endpoint, sync: str, hold_us: int
) -> Callable[[], SystemUnderTest]:
    """Return a function that opens the SUT with pulses around its steps."""
    from sut_backends.served.endpoints import SerialEndpoint
    from sut_backends.served.pulses import PulsedSut
    from sut_backends.served.sync_lines import open_sync_line

    served = (lambda: endpoint.port) if isinstance(endpoint, SerialEndpoint) else None

    def opened() -> SystemUnderTest:
        line = open_sync_line(sync, served)
        try:
            sut = open_sut()
        except BaseException:
            line.close()
            raise
        try:
            return PulsedSut(sut, line, hold_us * 1e-6)
        except BaseException:
            sut.close()
            line.close()
            raise

    return opened


def _introduce(
    out: Any, sut: SystemUnderTest, url: str, admission: Admission | None
) -> None:
    """Print the served device and the lines for the other host's bench file."""
    from sut_backends.served.capabilities import is_simulated

    info = sut.info
    out.print(f"serving {info.name} at {url}", markup=False, soft_wrap=True)
    pinned = ""
    if admission is not None:
        pinned = f'tls_fingerprint = "{admission.fingerprint}"\n'
    simulated = "simulated = true\n" if is_simulated(info) else ""
    out.print(
        f'[sut.uart]\nport = "{url}"\n{pinned}{simulated}',
        markup=False,
        soft_wrap=True,
        end="",
    )


def _say_stamps(out: Any, sut: SystemUnderTest) -> None:
    from sut_backends.served.pulses import PulsedSut

    if isinstance(sut, PulsedSut):
        worst = quantity(sut.worst_stamp_s, "s", digits=2)
        out.print(f"marks are within {worst} of their edges")


def _is_own(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
