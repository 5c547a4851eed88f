# SPDX-License-Identifier: Apache-2.0
"""The part that runs in the worker process, under any Python from 3.10: it imports the
standard library, and numpy where a network runs."""
