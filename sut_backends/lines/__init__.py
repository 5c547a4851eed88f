# SPDX-License-Identifier: Apache-2.0
"""What carries bytes to a device: ports, sockets, IO managers, and their faults."""
