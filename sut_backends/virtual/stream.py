# SPDX-License-Identifier: Apache-2.0
"""The link of a virtual device while it listens to a stream: when each window is in a
slot, and which came too late.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class WindowLink:
    """Windows come one after the other, each as soon as its slot is free, and take
    `load_ns` each; the first `slots` are there.
    """

    load_ns: int
    slots: int
    free_ns: int
    late: int = 0
    decided_ns: list[int] = field(default_factory=list)

    def there_ns(self, window: int, wanted_ns: int) -> int:
        """Compute when a window is in its slot, and count it as late where that is
        after `wanted_ns`."""
        if window < self.slots:
            return self.free_ns
        self.free_ns = (
            max(self.free_ns, self.decided_ns[window - self.slots]) + self.load_ns
        )
        self.late += self.free_ns > wanted_ns
        return self.free_ns

    def faults(self, end: str) -> tuple[str, ...]:
        """Describe the faults in words; `end` is the cause of an early end of the
        stream, or empty."""
        late = (
            f"{self.late} windows came after their newest hop had begun"
            if self.late
            else ""
        )
        return tuple(fault for fault in (late, end) if fault)
