# SPDX-License-Identifier: Apache-2.0
"""Lava processes of our own, in a folder of their own: Lava's compiler executes every
file beside one of a process.
"""
