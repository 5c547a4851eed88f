# SPDX-License-Identifier: Apache-2.0
"""A simulated worker that reads a simulated board."""
