# SPDX-License-Identifier: Apache-2.0
"""Any backend as a device of the shim protocol, for a host elsewhere: `rig serve`."""
