# SPDX-License-Identifier: Apache-2.0
"""The trials of a session against each other: replication, drift, overlay."""
