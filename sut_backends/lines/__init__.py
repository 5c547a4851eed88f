# SPDX-License-Identifier: Apache-2.0
"""Lines that carry bytes to a device: ports, sockets, IO managers, and their faults."""
