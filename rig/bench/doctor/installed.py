# SPDX-License-Identifier: Apache-2.0
"""Python packages: those that neurorig needs, and those of its extras, with the
libraries in C that they load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rig.bench import own_packages, packages
from rig.bench.doctor.row import DoctorRow, RowState, asked
from rig.bench.packages import PackageState
from rig.errors import RigError
from rig.files.shipped import shipped
from rig.host import python_child, window_needs
from rig.model.need import Need, NeedKind

GROUP = "packages"
#: Extra -> the name of its library, the statements that load it, what helps where they
#: fail, and the row of docs/how-to/TROUBLESHOOTING.md.
_LIBRARIES = {
    "joulescope": (
        "Joulescope library",
        "import pyjoulescope_driver as it; print(it.__version__)",
        "pip install --force-reinstall 'neurorig[joulescope]'",
        "package-missing",
    ),
    "keysight": (
        "VISA library",
        "import importlib.util as u, pyvisa as it; print(it.__version__, 'with',"
        " it.ResourceManager('@py').visalib, '' if u.find_spec('usb') else"
        " '(LAN; for USB also: pip install pyusb)')",
        "pip install --force-reinstall 'neurorig[keysight]'; or visa_library ="
        ' "@ivi" with the vendor\'s library',
        "visa-does-not-load",
    ),
    "gui": (
        "Qt libraries",
        "import PySide6.QtWidgets as it; print(it.__package__)",
        window_needs.LIBRARIES_TRY,
        "package-missing",
    ),
}


def core_rows() -> Iterator[DoctorRow]:
    """Yield a row for all packages that every use needs, and one for each that is
    missing or of another version."""
    states = list(packages.of_extra())
    name = "neurorig's"
    bad = [package for package in states if not package.fits]
    for package in bad:
        yield _package_row(package, f"pip install '{package.name}{package.accepted}'")
    if not bad:
        detail = (
            f"{len(states)} packages, each of an accepted version{_untried(states)}"
        )
        yield DoctorRow(GROUP, name, RowState.OK, detail, needed=True)


def name_rows() -> Iterator[DoctorRow]:
    """Yield a row for each name of neurorig's packages that another one has as well."""
    for package, other in own_packages.also_owned_by():
        detail = f"{package} is also a package of {other}; one overwrites the other"
        hint = "an environment for neurorig alone: python3 -m venv DIR"
        yield DoctorRow(
            *(GROUP, package, RowState.WRONG, detail, hint),
            needed=True,
            see="name-taken",
        )


def _untried(found: Iterable[PackageState]) -> str:
    """Return which of the versions are others than those that the rig was tested with;
    empty where the list is not here.
    """
    try:
        path = shipped("docs").parent / "constraints.txt"
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, RigError):
        return ""
    tested = dict(line.split("==") for line in lines if "==" in line)
    others = [
        f"{package.name} {package.installed} ({tested[package.name]})"
        for package in found
        if tested.get(package.name, package.installed) != package.installed
    ]
    return f"; tested with others: {', '.join(others)}" if others else ""


def extra_rows(needs: Sequence[Need] | None) -> Iterator[DoctorRow]:
    """Yield the rows of all extras; where `needs` are given, of those in them."""
    extras = packages.extras()
    if needs is not None:
        extras = [need.name for need in needs if need.kind is NeedKind.EXTRA]
    for extra in dict.fromkeys(extras):
        yield from _extra_rows(extra, needed=needs is not None)


def _extra_rows(extra: str, *, needed: bool) -> Iterator[DoctorRow]:
    found = list(packages.of_extra(extra))
    install = f"pip install 'neurorig[{extra}]'"
    lacking = [package.name for package in found if not package.installed]
    name = f"[{extra}]"
    if lacking:
        detail = f"{', '.join(lacking)}: not installed"
        see = "package-missing" if needed else ""
        yield DoctorRow(
            GROUP, name, RowState.MISSING, detail, install, needed=needed, see=see
        )
        return
    bad = [package for package in found if not package.fits]
    for package in bad:
        yield _package_row(package, install, needed=needed)
    if bad:
        return
    versions = ", ".join(f"{package.name} {package.installed}" for package in found)
    yield DoctorRow(GROUP, name, RowState.OK, versions, needed=needed)
    if extra in _LIBRARIES:
        yield _library_row(extra, needed=needed)


def _library_row(extra: str, *, needed: bool) -> DoctorRow:
    """Load a library in a process of its own, which it may end or keep waiting."""
    name, statements, hint, row = _LIBRARIES[extra]
    well, line = asked(python_child.command("-c", statements))
    if well:
        return DoctorRow(GROUP, name, RowState.OK, line, needed=needed)
    detail = f"does not load: {line}"
    return DoctorRow(GROUP, name, RowState.WRONG, detail, hint, needed=needed, see=row)


def _package_row(
    package: PackageState, install: str, *, needed: bool = True
) -> DoctorRow:
    if not package.installed:
        state, detail = RowState.MISSING, f"not installed, {package.accepted} is needed"
    else:
        state = RowState.WRONG
        detail = f"{package.installed} is here, {package.accepted} is needed"
    return DoctorRow(GROUP, package.name, state, detail, install, needed=needed)
