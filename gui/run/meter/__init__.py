# SPDX-License-Identifier: Apache-2.0
"""The meter: one monitor, without a task."""
