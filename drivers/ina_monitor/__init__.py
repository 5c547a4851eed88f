# SPDX-License-Identifier: Apache-2.0
"""Energy monitor of an AVR board and one INA219, INA226 or INA228."""
