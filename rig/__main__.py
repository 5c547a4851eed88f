# SPDX-License-Identifier: Apache-2.0
"""python -m rig"""

from rig.cli.main import main

main()
