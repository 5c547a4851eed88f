# SPDX-License-Identifier: Apache-2.0
"""Settings as their fields declare them: type, unit, range, choices and one line of
help. Pure."""
