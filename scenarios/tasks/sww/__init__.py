# SPDX-License-Identifier: Apache-2.0
"""The streaming wake word of MLPerf Tiny as a task."""
