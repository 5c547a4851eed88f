# SPDX-License-Identifier: Apache-2.0
"""python -m rig"""

from rig.cli import main

main()
