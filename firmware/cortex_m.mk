# SPDX-License-Identifier: Apache-2.0
# make emulated            the images for the three emulated Cortex-M: mps2 (M3), stm32f405 (M4),
#                          microbit (M0), a file a workload
# make emulated-size       what they take of flash (text, data) and RAM (data, bss, which includes
#                          the stack)
# make stm32f405-silicon   the same source for a real STM32F405, running from its HSI;
#                          CLOCKS="-DNR_CPU_HZ=..." where a board starts a PLL
# arm-none-eabi-gcc is all it needs: no library.

ARM_PREFIX ?= arm-none-eabi-
CLOCKS ?=

EMULATED := mps2 stm32f405 microbit
cpu_mps2 := -mcpu=cortex-m3
cpu_stm32f405 := -mcpu=cortex-m4 -mfloat-abi=soft
cpu_microbit := -mcpu=cortex-m0
cpu_stm32f405-silicon := $(cpu_stm32f405)
defines_mps2 := -DNR_EMULATED -DNR_SLOTS_MAX=8 -DNR_STREAM_RECORDS=8 \
    -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=3200000 -DNR_QUBO_SLOT_B=860000
qubo_stm32f405 := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
defines_stm32f405 := -DNR_EMULATED $(qubo_stm32f405)
defines_microbit := -DNR_EMULATED -DNR_NULL_SLOT_BYTES=16000
defines_stm32f405-silicon := $(CLOCKS) $(qubo_stm32f405)
# Of a port's image of one workload: so many hops of 1 kB can be preloaded, or wait.
own_stm32f405_sww := -DNR_SLOTS_MAX=80 -DNR_STREAM_RECORDS=80 -DNR_SWW_SLOTS=80
own_stm32f405-silicon_sww := $(own_stm32f405_sww)

ARM_FLAGS := -Os -g -mthumb -ffreestanding -ffunction-sections -fdata-sections \
    -fno-tree-loop-distribute-patterns
ARM_LINK := -nostdlib -nostartfiles -Wl,--gc-sections,--fatal-warnings -T ports/cortex_m/image.ld
ARM_SHARED := $(filter-out ports/cortex_m/main.c,$(wildcard ports/cortex_m/*.c))
arm_folder = ports/$(1:-silicon=)
arm_include = -Icore -Iports/cortex_m/include -Iports/cortex_m -I$(arm_folder) \
    $(patsubst %,-I%,$(wildcard workloads/*))
# Products of weights take half as many instructions so, at the same size of all else.
speed_of = $(if $(filter workloads/tflite/% workloads/network/% workloads/sww/%,$(1)),-O2)
arm_flags = $(STRICT) $(ARM_FLAGS) $(cpu_$(1)) $(defines_$(1)) $(call without,$(LEAVE_OUT)) \
    $(arm_include)
arm_sources = $(CORE) $(ARM_SHARED) $(arm_folder)/board.c $(call workload_sources,$(2))
arm_objects = $(patsubst %.c,$(BUILD)/$(1)/objects$(if $(own_$(1)_$(2)),-$(2))/%.o,$(arm_sources))
arm_headers = $(wildcard core/*.h ports/cortex_m/*.h ports/cortex_m/include/*.h $(arm_folder)/*.h \
    workloads/*/*.h)
arm_all = $(sort $(arm_sources) $(arm_headers) ports/cortex_m/main.c)
arm_build_id = $(shell (cat $(arm_all); echo $(LEAVE_OUT)) | $(HASH) | cut -c 1-12)
arm_define = -DNR_BUILD='"$(arm_build_id)"'

.PHONY: emulated emulated-size stm32f405-silicon arm-compiler
emulated: arm-compiler $(foreach port,$(EMULATED),$(WORKLOADS:%=$(BUILD)/$(port)/%.elf))
emulated-size: emulated
	@$(ARM_PREFIX)size $(foreach port,$(EMULATED),$(WORKLOADS:%=$(BUILD)/$(port)/%.elf))
stm32f405-silicon: arm-compiler $(WORKLOADS:%=$(BUILD)/stm32f405-silicon/%.elf)

arm-compiler:
	@command -v $(ARM_PREFIX)gcc >/dev/null || { echo >&2 \
	    "$(ARM_PREFIX)gcc is missing (Debian: apt-get install gcc-arm-none-eabi)."; exit 1; }

# $(1) is the port. One object a source, and an image a workload, whose main knows it.
define arm_port
$(BUILD)/$(1)/objects/%.o: %.c $(call arm_headers,$(1)) Makefile cortex_m.mk
	@mkdir -p $$(@D)
	$(ARM_PREFIX)gcc $(call arm_flags,$(1)) $$(call speed_of,$$<) -c -o $$@ $$<

$(BUILD)/$(1)/objects-sww/%.o: %.c $(call arm_headers,$(1)) Makefile cortex_m.mk
	@mkdir -p $$(@D)
	$(ARM_PREFIX)gcc $(call arm_flags,$(1)) $(own_$(1)_sww) $$(call speed_of,$$<) -c -o $$@ $$<

$(BUILD)/$(1)/%.elf: ports/cortex_m/main.c ports/cortex_m/image.ld \
    $(call arm_folder,$(1))/memory.ld \
    $$$$(call arm_objects,$(1),$$$$*) $(call arm_headers,$(1)) Makefile cortex_m.mk
	$(ARM_PREFIX)gcc -Iworkloads/$$* $(call arm_flags,$(1)) $$(own_$(1)_$$*) \
	    $$(call arm_define,$(1),$$*) $(ARM_LINK) \
	    -L $(call arm_folder,$(1)) -o $$@ $$(filter %main.c %.o,$$^) -lgcc
endef
.PRECIOUS: $(BUILD)/%.o
.SECONDEXPANSION:
$(foreach port,$(EMULATED) stm32f405-silicon,$(eval $(call arm_port,$(port))))
