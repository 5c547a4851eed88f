# SPDX-License-Identifier: Apache-2.0
"""A scenario, a task, a monitor and a device of a third party;
tests/system/test_third_party.py installs a copy of them.
"""
