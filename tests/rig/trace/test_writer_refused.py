# SPDX-License-Identifier: Apache-2.0
"""A write that the disk refuses ends with an error: a file that lacks samples never
gets the name of a whole one.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

from tests.programs import captured
from tests.uncounted import uncounted

#: The limit of a process on the size of its files stands for a quota, and for file
#: systems that end at 4 GiB: a write beyond it fails with EFBIG, and there is room on
#: the disk. Python ignores the signal SIGXFSZ that comes with it.
BEGIN = """
    import logging, resource, sys
    from contextlib import suppress
    from pathlib import Path
    import numpy as np
    from rig.errors import BenchError
    from rig.trace.writer import TraceWriter
    from rig.trace.trace import PARTIAL

    folder, never = Path(sys.argv[1]), resource.RLIM_INFINITY

    def limit(size_b):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_b, never))

    def block(samples=8192):
        writer.analog(np.full(samples, 0.01, np.float32), np.full(samples, 3.0, np.float32))
        writer.sync_packed(np.full(samples // 8, 255, np.uint8))

    def close():
        try:
            writer.close()
        except BenchError as error:
            print(type(error).__name__, error.cause, error.evidence.split(";")[0], sep=": ")

    writer = TraceWriter(folder, sample_hz=5000, edge_hz=5000, source="t", serial="", about={})
"""
#: More than pyjls's queue of 64 MB holds: not all of it can wait there.
BLOCKS = 2000
TOO_LARGE = "File too large (pyjls: write failed 27)"


def ended(folder: Path, program: str, before: str = "") -> str:
    """Run a program that writes a trace; return its output."""
    code = before + textwrap.dedent(BEGIN) + textwrap.dedent(program)
    done = captured([sys.executable, "-c", code, str(folder)], env=uncounted())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def unnamed(folder: Path) -> bool:
    return (folder / "trace.jls.partial").exists() and not (
        folder / "trace.jls"
    ).exists()


def test_a_write_that_fails_ends_the_recording_and_not_only_its_trial(
    tmp_path: Path,
) -> None:
    output = ended(
        tmp_path,
        f"""
        limit(1)
        try:
            for _ in range({BLOCKS}):
                block()
        except BenchError as error:
            evidence = error.evidence.split(";")[0]
            print(type(error).__name__, error.cause, evidence, error.try_next, sep=": ")
        """,
    )
    try_next = (
        "quota and largest file of this disk, or another one; what was "
        "written before is in trace.jls.partial"
    )
    assert (
        output == f"BenchError: the trace in {tmp_path} was not written completely:"
        f" {TOO_LARGE}: "
        f"{try_next}\n"
    )


def test_where_writing_failed_for_a_while_the_file_keeps_the_name_of_a_partial_one(
    tmp_path: Path,
) -> None:
    output = ended(
        tmp_path,
        f"""
        limit(1)
        with suppress(BenchError):
            for _ in range({BLOCKS}):
                block()
        limit(never)
        close()
        close()
        """,
    )
    assert (
        output == f"BenchError: the trace in {tmp_path} was not written completely:"
        f" {TOO_LARGE}\n"
    )
    assert unnamed(tmp_path)


def test_blocks_that_fail_only_when_the_file_is_closed_are_reported(
    tmp_path: Path,
) -> None:
    output = ended(
        tmp_path,
        """
        block(1000)
        limit(5000)
        close()
        """,
    )
    assert output.startswith(
        f"BenchError: the trace in {tmp_path} was not written completely: the disk"
        " took "
    ), output
    assert unnamed(tmp_path)


def test_a_disk_that_is_full_is_called_so(tmp_path: Path) -> None:
    output = ended(
        tmp_path,
        """
        from pyjls.binding import jls_inject_log
        jls_inject_log("E", "backend_posix.c", 1, "write failed 28")
        close()
        """,
    )
    assert output.startswith(
        f"StorageFull: the trace in {tmp_path} was not written completely: No space"
        " left on device"
    ), output
    assert unnamed(tmp_path)


def test_a_file_without_its_end_is_found_where_the_log_of_pyjls_was_switched_off(
    tmp_path: Path,
) -> None:
    output = ended(
        tmp_path,
        """
        logging.getLogger("pyjls.c").disabled = True
        limit(50_000)
        for _ in range(4):
            block()
        close()
        """,
    )
    assert (
        output
        == f"BenchError: the trace in {tmp_path} was not written completely: the file"
        " lacks its end\n"
    )
    assert unnamed(tmp_path)


def test_samples_that_are_missing_at_the_end_are_found_where_the_log_of_pyjls_was_switched_off(
    tmp_path: Path,
) -> None:
    output = ended(
        tmp_path,
        """
        logging.getLogger("pyjls.c").disabled = True
        writer._writer.flush()  # what comes before the samples is written
        limit(1)
        block(20_000)
        writer._writer.flush()  # until its thread has tried
        limit(never)
        close()
        """,
    )
    missing = "signal 1 has 8192 samples in the file, 20000 were written"
    assert (
        output == f"BenchError: the trace in {tmp_path} was not written completely:"
        f" {missing}\n"
    )
    assert unnamed(tmp_path)


def test_a_program_that_switched_loggers_off_before_is_heard_nevertheless(
    tmp_path: Path,
) -> None:
    output = ended(
        tmp_path,
        "block()\nlimit(1)\nclose()",
        before="import logging\nlogging.getLogger('pyjls.c').disabled = True\n",
    )
    assert TOO_LARGE in output
    assert unnamed(tmp_path)


def test_where_the_library_raises_what_failed_the_file_is_closed_once_nevertheless(
    tmp_path: Path,
) -> None:
    # As pyjls 0.19 does; 0.17 only logs it. Not closed, it would write on when the
    # process ends.
    program = """
        class Raises:
            closed = 0

            def __init__(self, inner):
                self.inner = inner

            def __getattr__(self, name):
                return getattr(self.inner, name)

            def utc(self, *arguments):
                logging.getLogger("pyjls.c").error("write failed 28")
                raise RuntimeError("utc IO[4]: Input/output error")

            def close(self):
                self.closed += 1
                self.inner.close()

        library = writer._writer = Raises(writer._writer)
        block()
        close()
        close()
        print(library.closed)
    """
    reported, closed = ended(tmp_path, program).splitlines()
    assert reported.startswith("StorageFull: ")
    assert reported.endswith(
        " was not written completely: No space left on device (pyjls: write failed 28)"
    )
    assert closed == "1" and unnamed(tmp_path)


def test_a_trace_that_cannot_be_begun_leaves_no_file_open_and_no_listener(
    tmp_path: Path,
) -> None:
    program = """
        from rig.trace import writer as module

        class Raises:
            closed = 0

            def __init__(self, inner):
                self.inner = inner

            def __getattr__(self, name):
                return getattr(self.inner, name)

            def user_data(self, *arguments):
                raise RuntimeError("user_data IO[4]: Input/output error")

            def close(self):
                Raises.closed += 1
                self.inner.close()

        writer.close()
        begin = module.new_writer
        module.new_writer = lambda path: Raises(begin(path))
        try:
            TraceWriter(folder, sample_hz=5000, edge_hz=5000, source="t", serial="", about={})
        except BenchError as error:
            print(error.cause.replace(str(folder), "FOLDER"))
        print(Raises.closed, logging.getLogger("pyjls.c").handlers)
    """
    assert ended(tmp_path, program) == ("the trace in FOLDER cannot be written\n1 []\n")


def test_after_close_no_callback_listens_any_more(tmp_path: Path) -> None:
    assert (
        ended(tmp_path, 'writer.close()\nprint(logging.getLogger("pyjls.c").handlers)')
        == "[]\n"
    )
    assert (tmp_path / "trace.jls").exists()


def test_a_run_on_a_disk_that_takes_no_more_ends_with_the_error_and_no_verdict(
    tmp_path: Path,
) -> None:
    bench = Path(__file__).parents[3] / "benches" / "virtual-null.toml"
    code = (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (200_000, "
        "resource.RLIM_INFINITY))\n"
    )
    code += "from rig.cli.main import main\nsys.exit(main())"
    command = [
        sys.executable,
        "-c",
        code,
        "run",
        str(bench),
        "--sessions",
        str(tmp_path),
        "--trials",
        "1",
    ]
    done = captured(command, env=uncounted())
    assert done.returncode == 3, done.stdout + done.stderr
    assert "was not written completely" in done.stderr
    (session,) = tmp_path.iterdir()
    assert unnamed(session / "trial-1")
    assert not (session / "results.json").exists()
    last = json.loads((session / "events.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["status"]) == ("session_finished", "fail")


def test_a_time_stamp_after_a_span_that_was_left_out_fails_as_a_sample_does(
    tmp_path: Path,
) -> None:
    program = """
        class Raises:
            def __init__(self, inner):
                self.inner = inner

            def __getattr__(self, name):
                return getattr(self.inner, name)

            def utc(self, *arguments):
                raise RuntimeError("utc IO[4]: Input/output error")

        block()
        store = writer._store
        store._writer = Raises(store._writer)
        samples = np.zeros(100, np.float32)
        try:
            store._put(store.stored + 500, samples, samples)
        except BenchError as error:
            print(error.cause)
    """
    assert ended(tmp_path, program) == f"the trace in {tmp_path} cannot be written\n"
