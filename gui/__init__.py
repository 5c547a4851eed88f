# SPDX-License-Identifier: Apache-2.0
"""The desktop application: screens over plain data from `rig`, which is all that it
imports.

`gui.command` holds the commands; all else needs the packages of the extra `gui`.
"""
