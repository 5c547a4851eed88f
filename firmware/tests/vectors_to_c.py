# SPDX-License-Identifier: Apache-2.0
"""Convert tests/vectors/frames.json into a C header, so that C and Python are tested by
the same bytes.
"""

import json
import sys
from pathlib import Path


def array(hexadecimal: str) -> str:
    data = bytes.fromhex(hexadecimal)
    body = ", ".join(f"0x{byte:02X}" for byte in data) or "0"
    return f"(const uint8_t[]){{{body}}}, {len(data)}"


def rows(entries: list[dict], *columns: str) -> str:
    lines = []
    for entry in entries:
        cells = [json.dumps(entry["name"])]
        for column in columns:
            value = entry[column]
            cells.append(array(value) if isinstance(value, str) else str(value))
        lines.append("    {" + ", ".join(cells) + "},")
    return "\n".join(lines)


def messages(entries: list[dict]) -> str:
    """Return rows with the integer fields; a negative one is written as an unsigned
    64-bit number.
    """
    lines = []
    for entry in entries:
        numbers = [
            value for value in entry["fields"].values() if isinstance(value, int)
        ]
        body = ", ".join(f"{value & 0xFFFFFFFFFFFFFFFF}U" for value in numbers)
        cells = (
            json.dumps(entry["name"]),
            str(entry["type"]),
            array(entry["payload"]),
            f"(const uint64_t[]){{{body}}}",
        )
        lines.append("    {" + ", ".join(cells) + "},")
    return "\n".join(lines)


def main() -> None:
    vectors = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write(f"""/* Made by vectors_to_c.py from frames.json. */
#include <stddef.h>
#include <stdint.h>

struct cobs_vector {{
    const char *name; const uint8_t *decoded; size_t decoded_b;
    const uint8_t *encoded; size_t encoded_b;
}};
struct frame_vector {{
    const char *name; uint8_t type; uint8_t seq; const uint8_t *payload; size_t payload_b;
    const uint8_t *encoded; size_t encoded_b;
}};
struct message_vector {{
    const char *name; uint8_t type; const uint8_t *payload; size_t payload_b;
    const uint64_t *fields;
}};
struct bad_vector {{
    const char *name; const uint8_t *stream; size_t stream_b; size_t max_payload;
}};

static const struct cobs_vector cobs_vectors[] = {{
{rows(vectors["cobs"], "decoded", "encoded")}
}};
static const struct frame_vector frame_vectors[] = {{
{rows(vectors["frames"], "type", "seq", "payload", "encoded")}
}};
static const struct bad_vector bad_vectors[] = {{
{rows(vectors["bad"], "stream", "max_payload")}
}};
static const struct message_vector message_vectors[] = {{
{messages(vectors["messages"])}
}};
""")  # noqa: E501


main()
