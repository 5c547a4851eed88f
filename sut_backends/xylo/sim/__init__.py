# SPDX-License-Identifier: Apache-2.0
"""A simulated Xylo board with the calls of samna."""
