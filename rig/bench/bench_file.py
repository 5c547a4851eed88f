# SPDX-License-Identifier: Apache-2.0
"""A bench file on the disk: read, and saved whole or not at all, without overwriting
changes of another program.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rig.errors import ConfigError, storage_error
from rig.files import small_text


@dataclass(frozen=True, slots=True)
class BenchFile:
    """A bench file as it was read or saved: `stamp` is the hash of its content on the
    disk at that time.
    """

    path: Path
    text: str
    stamp: str
    newline: str = "\n"

    @classmethod
    def read(cls, path: Path) -> BenchFile:
        """Read a file; raises ConfigError where it cannot be read or is no text."""
        try:
            block = small_text.read_block(path)
            text = small_text.text_of(block)
        except OSError as error:
            raise ConfigError(
                f"bench file {path} cannot be read",
                evidence=error.strerror or str(error),
                try_next="another file; New makes one from an example",
            ) from error
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{path} is no text", evidence=str(error), try_next=small_text.UTF_8_TRY
            ) from error
        newline = "\r\n" if "\r\n" in text else "\n"
        return cls(path, text.replace("\r\n", "\n"), _stamp(block), newline)

    def changed_on_disk(self) -> bool:
        """Check whether the file is another one by now, or gone."""
        try:
            return _stamp(self.path.read_bytes()) != self.stamp
        except OSError:
            return True

    def saved(self, text: str) -> BenchFile:
        """Write a text to the file. Raises ConfigError if the file was changed since it
        was read, BenchError if the disk refuses; the file then stays as it is.
        """
        if self.changed_on_disk():
            raise ConfigError(
                f"{self.path} was changed by something else since it was read",
                evidence="nothing was written",
                try_next=(
                    "save under another name, or load it again, which drops the changes"
                    " here"
                ),
            )
        return write(self.path, text, self.newline)


def write(
    path: Path, text: str, newline: str = "\n", *, new: bool = False
) -> BenchFile:
    """Write a file whole or not at all; `new`: one that is there already is refused."""
    target = path.resolve()  # a link stays a link
    if new and target.exists():
        raise ConfigError(
            f"{path} is there already",
            path="FILE",
            try_next="another name; nothing was written",
        )
    block = text.replace("\n", newline).encode("utf-8")
    scratch = ""
    try:
        descriptor, scratch = tempfile.mkstemp(
            prefix=f".{target.name}.", dir=target.parent
        )
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(block)
            stream.flush()
            os.fsync(stream.fileno())
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(scratch).chmod(mode)
        if new:
            os.link(scratch, target)  # refuses one that came meanwhile
            Path(scratch).unlink()
        else:
            Path(scratch).replace(target)
    except FileExistsError as error:
        raise ConfigError(
            f"{path} is there already",
            path="FILE",
            try_next="another name; nothing was written",
        ) from error
    except OSError as error:
        raise storage_error(error, path) from error
    finally:
        if scratch:
            with suppress(OSError):
                Path(scratch).unlink()
    return BenchFile(path, text, _stamp(block), newline)


def _umask() -> int:
    # There is no way to read it without setting it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _stamp(block: bytes) -> str:
    return hashlib.sha256(block).hexdigest()
