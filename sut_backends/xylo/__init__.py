# SPDX-License-Identifier: Apache-2.0
"""SynSense's Xylo Audio 2 and 3: the vendor's simulator, and boards."""
