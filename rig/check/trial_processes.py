# SPDX-License-Identifier: Apache-2.0
"""Trials of a long session recomputed in processes beside this one: most of the time of
a check goes into them, and none needs another.

A process takes a whole second to begin, so a short session has none. This process takes
the first trials itself. A trial gives the same findings in either.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from rig.check.trials import Recomputed, Trials
from rig.errors import BenchError
from rig.files import typed
from rig.host.stop import LOOK_S, Stop, look
from rig.store.segments import segments
from rig.store.session_folder import COMPLETIONS, SessionFolder
from rig.trace import limited_child

_Outcomes = dict[int, Recomputed]

#: A further process pays where each has this many bytes of completions.jsonl.
_PAYS_FROM_B = 2_000_000
#: With more than these the memory of all together could be more than 1 GB.
_PROCESSES = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """Trials of a session for a process, and where that finds plug-ins: along the path
    of this one.
    """

    session: str
    numbers: tuple[int, ...]
    path: tuple[str, ...]


@contextmanager
def begun(
    session: Path, numbers: Sequence[int]
) -> Iterator[Mapping[int, Callable[[], Recomputed]]]:
    """Begin to recompute some of these trials of a session, the last ones, and give for
    each a function that waits for it. They are finished, and their files as they were.

    The function raises BenchError where the process of a trial was ended, and Stopped;
    no process outlives this context.
    """
    shares = _shares(session, numbers)
    if not shares:
        yield {}
        return
    stop = Stop()
    with ThreadPoolExecutor(len(shares)) as pool:
        given: dict[int, Callable[[], Recomputed]] = {}
        for share in shares:
            part = pool.submit(_told, session, share, stop)
            given |= {number: partial(_awaited, part, number) for number in share}
        try:
            yield given
        finally:
            # After an error a process would go on to its end.
            stop.request()


def _shares(session: Path, numbers: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the trials of each process beside this one."""
    folder = SessionFolder(session)
    total_b = sum(_size_b(folder.trial(number)) for number in numbers)
    worth = total_b // _PAYS_FROM_B
    count = min(len(numbers), worth, _PROCESSES, os.cpu_count() or 1)
    if count < 2:
        return []
    # Where they cannot be divided, the first ones have one more.
    ends = [-(-len(numbers) * place // count) for place in range(count + 1)]
    shares = [tuple(numbers[begin:end]) for begin, end in pairwise(ends)]
    return shares[1:]


def _size_b(trial: Path) -> int:
    paths = [place / COMPLETIONS for place in segments(trial)]
    return sum(path.stat().st_size for path in paths if path.exists())


def _awaited(part: Future[_Outcomes], number: int) -> Recomputed:
    while wait([part], timeout=LOOK_S).not_done:
        look()
    return part.result().pop(number)


def _told(session: Path, numbers: Sequence[int], stop: Stop) -> _Outcomes:
    """Return the outcomes of trials that a separate process recomputed."""
    asked = Asked(str(session.absolute()), tuple(numbers), tuple(sys.path))
    words = json.dumps(typed.to_json(asked)).encode()
    try:
        with stop.heard():
            done = limited_child.run(["-m", __name__], words, float("inf"))
    except OSError as error:
        raise _unable(numbers, str(error)) from error
    if done.returncode:
        raise _unable(numbers, _end(done))
    # From a process of the rig itself, and from no file.
    outcomes: _Outcomes = pickle.loads(done.stdout)
    return outcomes


def _end(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return ": ".join([f"exit code {done.returncode}", *lines[-1:]])[:300]


def _unable(numbers: Sequence[int], evidence: str) -> BenchError:
    which = ", ".join(map(str, numbers))
    return BenchError(
        f"the process that recomputes trial {which} ended early, so the session was not"
        " checked",
        evidence=evidence,
        try_next="more memory or more processes for this account: ulimit -v, ulimit -u",
    )


def main() -> None:
    """Write the outcomes of the trials that standard input names, as a pickle."""
    # Output that a plug-in prints is no part of the answer.
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)
        asked = typed.from_json(Asked, json.load(sys.stdin), "standard input")
        sys.path[:] = asked.path
        # Reference cycles are not looked for, as in rig check itself.
        gc.disable()
        trials = Trials.of(Path(asked.session))
        outcomes = {number: trials.outcome(number, (), {}) for number in asked.numbers}
        pickle.dump(outcomes, answer, pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
