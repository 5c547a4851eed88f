# SPDX-License-Identifier: Apache-2.0
"""SCPI parser of the simulated N6705: keywords in short or long form, channel lists,
numbers; errors with the codes of SCPI-99.
"""

from __future__ import annotations

import re

_KEYWORDS = [
    "ABORt",
    "AMPLitude",
    "AUTO",
    "BORDer",
    "CHANnel",
    "CLEar",
    "CONDition",
    "COUNt",
    "CURRent",
    "DATA",
    "DC",
    "DIGital",
    "ELOG",
    "EMULation",
    "ERRor",
    "EVENt",
    "FETCh",
    "FORMat",
    "FUNCtion",
    "IMMediate",
    "INITiate",
    "INPut",
    "LEVel",
    "LIMit",
    "MEASure",
    "MINMax",
    "MODel",
    "OPTion",
    "OUTPut",
    "PERiod",
    "PIN",
    "POLarity",
    "POSitive",
    "POWer",
    "PROTection",
    "QUEStionable",
    "RANGe",
    "RESolution",
    "SCALar",
    "SENSe",
    "SOURce",
    "STATe",
    "STATus",
    "SWEep",
    "SYSTem",
    "TINTerval",
    "TRIGger",
    "UPPer",
    "VOLTage",
]
_ABBREVIATIONS = {word: re.sub("[a-z]", "", word) for word in _KEYWORDS}
#: The short form of each keyword in its long form and in its short one.
_SHORT = {word.upper(): short for word, short in _ABBREVIATIONS.items()}
_SHORT |= {short: short for short in _ABBREVIATIONS.values()}
#: Nodes that a header may leave out.
_DEFAULT = {
    *["AMPL", "COUN", "DATA", "DC", "EVEN", "IMM", "LEV", "POS", "SCAL", "STAT", "UPP"]
}


class ScpiError(Exception):
    """An entry for the error queue: code and text as the instrument writes them."""


UNDEFINED = '-113,"Undefined header"'
MISSING = '-109,"Missing parameter"'
SYNTAX = '-102,"Syntax error"'
OUT_OF_RANGE = '-222,"Data out of range"'
ILLEGAL = '-224,"Illegal parameter value"'
CONFLICT = '-221,"Settings conflict"'
STALE = '-230,"Data corrupt or stale"'
UNSUPPORTED = '+310,"The command is not supported by this model"'


def units(message: str) -> list[tuple[str, str]]:
    """Split a program message into headers and their data; a header goes on where the
    one before it stands (IEEE 488.2).
    """
    orders = []
    path = ""
    for unit in message.split(";"):
        header, _, arguments = unit.strip().partition(" ")
        if not header:
            continue
        if not header.startswith("*"):
            header = header[1:] if header.startswith(":") else f"{path}{header}"
            path = header[: header.rfind(":") + 1]
        orders.append((header.upper(), arguments.strip()))
    return orders


def canonical(header: str) -> str:
    """Return a header in short form, without the nodes that may be left out; raises
    Refusal for a keyword that does not exist.
    """
    if header.startswith("*"):
        return header
    query = "?" if header.endswith("?") else ""
    nodes: list[str] = []
    for node in header.removesuffix("?").split(":"):
        parts = re.fullmatch(r"([A-Z]*)(\d*)", node)
        word, number = parts.groups() if parts else ("", "")
        if word not in _SHORT:
            raise ScpiError(UNDEFINED)
        # STAT is a node that may be left out (STATe), but at the beginning (STATus).
        if _SHORT[word] not in _DEFAULT or not nodes:
            nodes.append(_SHORT[word] + number)
    if nodes and nodes[0] in ("ELOG", "SWE"):
        nodes.insert(0, "SENS")
    if len(nodes) > 1 and nodes[0] == "SOUR":
        nodes.pop(0)
    return ":".join(nodes) + query


def arguments(text: str) -> tuple[list[str], list[int]]:
    """Return the parameters of a command and its channel list: "0.1,(@1,3:4)"."""
    listed = re.search(r"\(@([^)]*)\)\s*$", text)
    parameters = text[: listed.start()] if listed else text
    stripped = [word.strip() for word in parameters.split(",")]
    words = [word for word in stripped if word]
    channels: list[int] = []
    try:
        for part in listed[1].split(",") if listed else []:
            first, _, last = part.partition(":")
            channels += range(int(first), int(last or first) + 1)
    except ValueError:
        raise ScpiError(OUT_OF_RANGE) from None
    if any(set(word) & set("()@") for word in words):
        raise ScpiError(SYNTAX)
    return words, channels
