# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for vendors' packages: lava-loihi, sPyNNaker with a machine, py-spinnaker2.

They have the calls that the backends make. No chip and no machine is involved.
"""
