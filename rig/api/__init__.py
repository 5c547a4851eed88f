# SPDX-License-Identifier: Apache-2.0
"""The Python interface: sessions, metrics and traces as a notebook or a test uses them.

`import rig` offers the public interface; docs/tutorials/PYTHON.md explains it.
"""
