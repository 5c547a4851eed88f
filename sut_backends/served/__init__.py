# SPDX-License-Identifier: Apache-2.0
"""Any backend as a device of the shim protocol, for another host: `rig serve`."""
