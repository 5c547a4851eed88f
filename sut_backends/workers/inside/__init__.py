# SPDX-License-Identifier: Apache-2.0
"""The part that runs in the worker process, under whatever Python 3.10 or newer: it
imports the standard library, and numpy where a network runs.
"""
