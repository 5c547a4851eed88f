# SPDX-License-Identifier: Apache-2.0
"""The desktop application: it will see `rig` only. Nothing is here yet."""
