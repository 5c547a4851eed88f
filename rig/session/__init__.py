# SPDX-License-Identifier: Apache-2.0
"""Sessions: run and resume."""
