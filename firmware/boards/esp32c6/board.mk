# SPDX-License-Identifier: Apache-2.0
RISCV_BOARDS += esp32c6
tools_esp32c6 := $(RISCV_PREFIX)
core_esp32c6 := esp_plic
cpu_esp32c6 := -march=rv32imac_zicsr_zifencei -mabi=ilp32 -mstrict-align -mcmodel=medany
chip_esp32c6 := esp32c6
defines_esp32c6 := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
