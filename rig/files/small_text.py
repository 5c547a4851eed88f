# SPDX-License-Identifier: Apache-2.0
"""Text that people write: a file that is larger than any of its kind is not read to its
end, and one that an editor saved as UTF-16, or with a mark at its beginning, is read
all the same.
"""

from __future__ import annotations

import codecs
import errno
import io
from pathlib import Path

from rig.files import foreign_files

#: More than a bench, a list of labels, or a calibration has.
LARGEST_B = 1 << 24
#: What helps where a file is none.
UTF_8_TRY = "save it as UTF-8, or as UTF-16 with its mark"
#: Beginnings of a text, and their encodings; UTF-32 begins as UTF-16 does.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_block(path: Path) -> bytes:
    """Return the content of a file; raises OSError, also where it is too large, and
    DataError where it is no regular file.
    """
    with foreign_files.opened(path) as stream:
        block = stream.read(LARGEST_B + 1)
    if len(block) > LARGEST_B:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST_B} bytes", str(path))
    return block


def read(path: Path, *, newline: str | None = None) -> str:
    """Return the text of a file; raises OSError, also where it is too large, and
    UnicodeDecodeError.
    """
    return io.StringIO(text_of(read_block(path)), newline=newline).read()


def text_of(block: bytes) -> str:
    """Return a text in UTF-8, or as the mark at its beginning says; raises
    UnicodeDecodeError, also where a zero byte shows that it is no text, or UTF-16
    without its mark.
    """
    encoding = next((name for mark, name in _MARKS if block.startswith(mark)), "utf-8")
    text = block.decode(encoding)
    at = text.find("\0")
    if at >= 0:
        raise UnicodeDecodeError(encoding, block, at, at + 1, "a zero byte")
    return text
