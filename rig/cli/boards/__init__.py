# SPDX-License-Identifier: Apache-2.0
"""`rig firmware`: firmware projects for boards."""
