# SPDX-License-Identifier: Apache-2.0
RISCV_BOARDS += pico2_riscv
tools_pico2_riscv := $(RISCV_PREFIX)
core_pico2_riscv := hazard3
# Without zbs, for whose single bits gcc 12.2 finds no instruction (1 << 11).
cpu_pico2_riscv := -march=rv32imac_zicsr_zifencei_zba_zbb -mabi=ilp32 -mstrict-align -mcmodel=medany
chip_pico2_riscv := rp2
defines_pico2_riscv := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
