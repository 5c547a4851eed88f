# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for sPyNNaker with a machine, and for py-spinnaker2: the same calls, no
hardware."""
