# SPDX-License-Identifier: Apache-2.0
"""Events: streams with events in them that a device detects."""
