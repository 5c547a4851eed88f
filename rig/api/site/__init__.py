# SPDX-License-Identifier: Apache-2.0
"""A static site of many sessions, for a browser without a network."""
