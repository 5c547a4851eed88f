# SPDX-License-Identifier: Apache-2.0
"""`rig model`: networks in NIR files."""
