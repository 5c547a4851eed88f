# SPDX-License-Identifier: Apache-2.0
"""Run a network on a Xylo board, inside a worker whose interpreter has the vendor's
samna: find the board, configure it, send spikes and read those of the outputs.

Time is the host's, USB and Rockpool's polling included (which alone is 0.1 s a sample
on Audio 2): never the latency of the chip. No board was used: run on a simulated one
alone (sim/board.py).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sut_backends.workers.inside.job import Job
from sut_backends.xylo import runner
from sut_backends.xylo.mapping_report import ChipNumbers, versions
from sut_backends.xylo.power_events import PowerEvents
from sut_backends.xylo.samna_stand_in import stand_in_for_samna
from sut_backends.xylo.sim.board import build
from sut_backends.xylo.sim.nodes import Truth

#: So many neurons of Audio 3 can hear the inputs, and so many be heard by the outputs:
#: Rockpool cuts the rest off, with a warning.
_EXPANSION = 128
_TITLES = {"audio2": "Xylo Audio 2", "audio3": "Xylo Audio 3"}


@dataclass(frozen=True)
class BoardSettings:
    """The chip, its board ("simulated", or one that is there) and which of several, and
    how often the power is read, into what file.
    """

    board: str
    chip: str = "audio2"
    board_number: int = -1
    simulator: Mapping[str, Any] = field(default_factory=dict)
    power_hz: float = 100.0
    power_events: str = ""


def open_network(job: Job) -> BoardRunner:
    """Configure the board with the network of a job; raises ValueError with what to
    do."""
    settings = job.settings_as(BoardSettings)
    chip = settings.chip
    truth = None
    if settings.board == "simulated":
        stand_in_for_samna()
        truth = Truth(chip, **settings.simulator)
        for name in (
            "xyloCore2.configuration",
            "xyloAudio3.configuration",
            "xyloA2TestBoard",
        ):
            importlib.import_module(f"samna.{name}")
        build(importlib.import_module("samna"), truth)
    else:
        refuse_stub()
    specification = runner.specification(job, chip)
    board, module, firmware = the_board(chip, settings.board_number)
    config = configured(module, specification.numbers, chip)
    samna = importlib.import_module("samna")
    model = module.XyloSamna(
        board, config, dt=specification.dt_s, power_frequency=settings.power_hz
    )
    events = None
    if settings.power_events:
        events = PowerEvents(
            samna, board, chip, settings.power_hz, settings.power_events
        )
    samna_version = str(getattr(samna, "__version__", "unknown"))
    about = specification.about | {
        "versions": versions() | {"samna": samna_version},
        "board": {
            "chip": _TITLES[chip],
            "simulated": truth is not None,
            "firmware": firmware,
        },
        "time": (
            "of the host around Rockpool's evolve, USB included; not the chip's latency"
        ),
        "tested": "on a simulated board only, never on hardware",
        "modelled": modelled(config, chip),
    }
    return BoardRunner(
        model,
        config,
        specification.lag,
        about,
        events=events,
        truth=truth,
        clears=chip == "audio2",
    )


class BoardRunner:
    """A network on a board."""

    def __init__(
        self,
        model: Any,
        config: Any,
        lag: int,
        about: dict[str, Any],
        events: PowerEvents | None,
        truth: Truth | None,
        *,
        clears: bool,
    ) -> None:
        self._model, self._config, self._lag = model, config, lag
        self._clears = clears
        self._events, self._truth = events, truth
        self.about = about

    def run(self, spikes: Any) -> tuple[Any, None]:
        """Run from rest; returns the output spikes of each step. Membranes would have
        to be recorded, which lets the chip draw more: there are none.

        Rockpool's reset_state has no effect on Audio 3 (3.1.0 warns so): there the
        configuration is written again; whether this clears the states of a board is not
        known.
        """
        import numpy as np

        raster = runner.padded(spikes, self._lag)
        if self._clears:
            self._model.reset_state()
        else:
            self._model.config = self._config
        out, _state, _record = self._model.evolve(raster, record=False)
        values = np.asarray(out, np.int64).reshape(len(raster), -1)[self._lag :]
        if self._truth is not None:
            self._truth.note()
        return values, None

    def close(self) -> None:
        """End the power measurement."""
        if self._events is not None:
            self._events.close()


def refuse_stub() -> None:
    """Raise ValueError where samna is not there, or is the package of PyPI, without
    importing it: that one calls pip when it is imported.
    """
    spec = importlib.util.find_spec("samna")
    if spec is None or spec.origin is None:
        raise ValueError(
            "the board needs samna, SynSense's driver, in this interpreter: install it"
            ' by the vendor\'s instructions, or use board = "simulated" for a try'
        )
    text = Path(spec.origin).read_text(encoding="utf-8", errors="replace")
    if "pip" in text and "subprocess" in text:
        version = importlib.metadata.version("samna")
        raise ValueError(
            f"samna {version} is the package from PyPI, which only downloads the real"
            " one when it is imported, from an address of the vendor's: install that"
            " one yourself"
        )


def the_board(chip: str, number: int) -> tuple[Any, Any, str]:
    """Find the board of a chip, Rockpool's module for it, and the versions of its
    firmware."""
    package = importlib.import_module("rockpool.devices.xylo.helper")
    boards, modules, kinds = package.find_xylo_hdks()
    wanted = {"audio2": "syns61201", "audio3": "syns65302"}[chip]
    rows = zip(boards, modules, kinds, strict=True)
    matching = [(board, module) for board, module, version in rows if version == wanted]
    if not matching:
        others = f"; there is {', '.join(kinds)}" if kinds else ""
        raise ValueError(
            f"no {_TITLES[chip]} board is attached{others}: is it plugged in and"
            " powered, do you have the rights to its USB device (udev rules), does"
            " another process hold it?"
        )
    if len(matching) > 1 and number < 0:
        raise ValueError(
            f"{len(matching)} {_TITLES[chip]} boards are attached: which is meant?"
            " unplug the others, or board_number = 0, 1, ... in the order in which"
            " samna lists them"
        )
    if number >= len(matching):
        raise ValueError(
            f"board_number = {number}, and {len(matching)} boards are attached"
        )
    board, module = matching[max(number, 0)]
    firmware = board.get_firmware_versions()
    return board, module, f"fxtree {firmware.fxtree}, unifirm {firmware.unifirm}"


def configured(module: Any, numbers: dict[str, Any], chip: str) -> Any:
    """Convert a specification to a configuration; ValueError where samna or the chip
    refuses it, or Rockpool would cut it short."""
    import numpy as np

    if chip == "audio3":
        chip_numbers = ChipNumbers.of(numbers)
        into, out = (
            np.asarray(chip_numbers.weights_in),
            np.asarray(chip_numbers.weights_out),
        )
        if np.any(into[:, _EXPANSION:]) or np.any(out[:-_EXPANSION]):
            raise ValueError(
                f"more than {_EXPANSION} neurons hear the inputs or are heard by the"
                f" outputs, and Xylo Audio 3 has {_EXPANSION} of each: make the first"
                " and the last hidden layer smaller"
            )
    parameters = {
        name: value
        for name, value in numbers.items()
        if name not in ("mapped_graph", "dt")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config, valid, message = module.config_from_specification(**parameters)
    if not valid:
        raise ValueError(f"samna refuses the configuration: {message}")
    return config


def modelled(config: Any, chip: str) -> dict[str, Any]:
    """Compute Rockpool's own estimate of a time step's clock cycles, if every input and
    neuron fired; labelled as modelled."""
    home = "syns61201" if chip == "audio2" else "syns63300"
    model = importlib.import_module(f"rockpool.devices.xylo.{home}.power_cycles_model")
    cycles = model.cycles_model(config)
    cycles = float(cycles[0] if isinstance(cycles, tuple) else cycles)
    return {
        "cycles_a_step_at_most": cycles,
        "origin": "modelled, by Rockpool's cycles_model",
    }
