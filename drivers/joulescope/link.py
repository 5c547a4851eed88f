# SPDX-License-Identifier: Apache-2.0
"""The connection to one Joulescope through pyjoulescope_driver: settings are written
and read back, and its exceptions are translated here alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from drivers.joulescope.js110_log import Refusals
from rig.errors import BenchError, DeviceBusy, DeviceLost

#: The JS110's host driver may take 5 s for a command (js110_usb.c): 1 s to send it, 3 s
#: until it is done, 1 s for the last question; opening one takes several.
_TIMEOUT_S = 7.0
_OPEN_TIMEOUT_S = 10.0
_ABSENT = 0

Setting = tuple[str, int | str]


class DriverLink:
    """One opened instrument of a driver object with the interface of
    pyjoulescope_driver.Driver."""

    def __init__(self, driver: Any, path: str, refuses_in_log: bool = False) -> None:
        self._driver = driver
        self.path = path
        self._refusals = Refusals(driver, path) if refuses_in_log else None
        #: Topics whose last value may not have been carried out, although the host
        #: driver retains it.
        self._doubtful: set[str] = set()
        self._options: dict[str, list[list[Any]]] = {}
        self._topics: set[str] = set()
        self._gone = threading.Event()
        # The same bound method must be given to end a subscription.
        self._watchers: list[tuple[str, Callable[[str, Any], None]]] = [
            (f"{path}/h/state", self._on_state),
            ("@/!remove", self._on_remove),
        ]

    @classmethod
    def open(cls, driver: Any, path: str, refuses_in_log: bool = False) -> DriverLink:
        """Open the instrument as it stands; raises DeviceBusy.

        `refuses_in_log`: its host driver also acknowledges commands that it does not
        carry out (JS110).
        """
        link = cls(driver, path, refuses_in_log)
        try:
            # "defaults" would connect the DUT's supply of a JS110 for a moment, and
            # leaves a JS220 as it is without saying how.
            driver.open(path, "restore", timeout=_OPEN_TIMEOUT_S)
        except (TimeoutError, RuntimeError) as error:
            raise DeviceBusy(
                f"the Joulescope {path} is attached but does not open",
                evidence=str(error),
                try_next=(
                    "close the Joulescope UI and other programs that use it; on Linux, "
                    "install udev rules: rig doctor prints the command"
                ),
                see="instrument-busy",
            ) from error
        try:
            on_metadata = link._on_metadata
            with _translated(path):
                driver.subscribe(
                    path, "metadata_rsp_retain", on_metadata, timeout=_TIMEOUT_S
                )
                driver.unsubscribe(path, on_metadata, timeout=_TIMEOUT_S)
                for topic, watcher in link._watchers:
                    driver.subscribe(topic, "pub", watcher, timeout=_TIMEOUT_S)
        except BaseException:
            link.close()
            raise
        return link

    @property
    def gone(self) -> bool:
        """Whether the instrument has been unplugged or lost its connection."""
        return self._gone.is_set()

    def lost(self) -> DeviceLost:
        """Return the error that says so."""
        return DeviceLost(
            f"the Joulescope {self.path} is gone",
            evidence="the driver reports its removal",
            try_next=(
                "look at its USB cable and power; what was recorded until then is kept"
            ),
        )

    def knows(self, topic: str) -> bool:
        """Check whether the instrument has a setting: older firmware lacks some."""
        return topic in self._topics

    def get(self, topic: str) -> Any:
        """Return the driver's value of a setting; None if it has none."""
        try:
            return self._driver.query(f"{self.path}/{topic}", timeout=_TIMEOUT_S)
        except RuntimeError as error:
            if "NOT_FOUND" in str(error):
                return None
            raise self._failed(topic, error) from error
        except TimeoutError as error:
            raise self._failed(topic, error) from error

    def set(self, topic: str, value: int | str) -> None:
        """Write a setting and read it back; raises BenchError where it does not stick,
        DeviceLost where the instrument is gone.

        One that failed before is really sent: the host driver keeps a value before it
        sends it, keeps it where that fails, and answers the same value itself from then
        on (publish_normal of pubsub.c).
        """
        if topic in self._doubtful and self.same(topic, value, self.get(topic)):
            self._open_anew()
        self._doubtful.add(topic)
        self._publish(topic, value)
        got = self.get(topic)
        if not self.same(topic, value, got):
            raise BenchError(
                f"the Joulescope {self.path} does not keep a setting",
                evidence=f"{topic}: wanted {value!r}, reads back {got!r}",
                try_next=(
                    "another program may use it: close it; then unplug the instrument"
                    " and plug it in again"
                ),
            )
        self._doubtful.discard(topic)

    def _publish(self, topic: str, value: int | str) -> None:
        publish = partial(
            self._driver.publish, f"{self.path}/{topic}", value, timeout=_TIMEOUT_S
        )
        try:
            refused = self._refusals.after(publish) if self._refusals else publish()
        except (TimeoutError, RuntimeError) as error:
            raise self._failed(topic, error, wanted=value) from error
        if refused:
            raise self._failed(
                topic,
                RuntimeError(f"its driver acknowledges it, and logs: {refused}"),
                wanted=value,
            )

    def _open_anew(self) -> None:
        """Have the host driver query the instrument again and retain its answer; a
        JS110 is also sent the answer once more."""
        with suppress(TimeoutError, RuntimeError):
            self._driver.close(self.path, timeout=_TIMEOUT_S)
        try:
            self._driver.open(self.path, "restore", timeout=_OPEN_TIMEOUT_S)
        except (TimeoutError, RuntimeError) as error:
            if self.gone:
                raise self.lost() from error
            raise BenchError(
                f"the Joulescope {self.path} does not open again",
                evidence=str(error),
                try_next="unplug the instrument and plug it in again",
            ) from error
        self._doubtful.clear()

    def set_all(self, settings: Iterable[Setting]) -> None:
        """Write settings in order, each read back."""
        for topic, value in settings:
            self.set(topic, value)

    def same(self, topic: str, value: Any, other: Any) -> bool:
        """Check whether two values mean the same: an option has a number and names."""
        return bool(self._option(topic, value) == self._option(topic, other))

    def subscribe(self, topic: str, receiver: Callable[[str, Any], None]) -> None:
        """Have `receiver` called with every value of a topic, on the driver's
        thread."""
        with _translated(topic):
            self._driver.subscribe(
                f"{self.path}/{topic}", "pub", receiver, timeout=_TIMEOUT_S
            )

    def unsubscribe(self, topic: str, receiver: Callable[[str, Any], None]) -> None:
        """End a subscription; `receiver` is the same object."""
        with _translated(topic):
            self._driver.unsubscribe(
                f"{self.path}/{topic}", receiver, timeout=_TIMEOUT_S
            )

    def close(self) -> None:
        """Let go of the instrument; one that is gone or does not answer is none to let
        go of."""
        for topic, watcher in self._watchers:
            with suppress(TimeoutError, RuntimeError):
                self._driver.unsubscribe(topic, watcher, timeout=_TIMEOUT_S)
        if not self.gone:
            with suppress(TimeoutError, RuntimeError):
                self._driver.close(self.path, timeout=_TIMEOUT_S)

    def _option(self, topic: str, value: Any) -> Any:
        for number, row in enumerate(self._options.get(topic, ())):
            if value in row:
                return ("option", number)
        return value

    def _failed(
        self, topic: str, error: Exception, wanted: int | str | None = None
    ) -> BenchError:
        if self.gone:
            return self.lost()
        what = (
            f"does not answer to {topic}"
            if isinstance(error, TimeoutError)
            else f"refuses {topic}"
        )
        value = "" if wanted is None else f"wanted {wanted!r}; "
        return BenchError(
            f"the Joulescope {self.path} {what}",
            evidence=f"{value}{error}",
            try_next=(
                "unplug the instrument and plug it in again; update its firmware with"
                " the Joulescope UI"
            ),
        )

    def _on_metadata(self, topic: str, value: Any) -> None:
        name = topic.removeprefix(f"{self.path}/").removesuffix("$")
        self._topics.add(name)
        if isinstance(value, dict):
            self._options[name] = value.get("options", [])

    def _on_state(self, topic: str, value: Any) -> None:
        if value == _ABSENT:
            self._gone.set()

    def _on_remove(self, topic: str, value: Any) -> None:
        if value == self.path:
            self._gone.set()


@contextmanager
def _translated(topic: str) -> Iterator[None]:
    """Translate exceptions of the driver for a topic into BenchError."""
    try:
        yield
    except (TimeoutError, RuntimeError) as error:
        raise BenchError(
            f"the Joulescope driver fails at {topic}", evidence=str(error)
        ) from error
