# SPDX-License-Identifier: Apache-2.0
"""`rig submit` and `rig submission`: folders for benchmarks, and the judge of them."""
