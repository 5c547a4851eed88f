# SPDX-License-Identifier: Apache-2.0
"""A simulated Otii server with one device."""
