# SPDX-License-Identifier: Apache-2.0
# make emulated            the images that QEMU runs: boards/mps2 (M3), stm32f405 (M4), microbit
#                          (M0), a file a workload
# make emulated-size       what they take of flash (text, data) and RAM (data, bss, which includes
#                          the stack)
# make boards              the images of all boards, BOARDS="pico ..." of some
# make riscv-boards        those of boards that are RISC-V, by a compiler of their own
# make build/pico/asc.elf  one image; .hex is the same for tools that want that
# A folder below boards/ is a board: its board.mk names core, chip and sizes.
# CLOCKS="-DNR_CPU_HZ=..." where a board starts a PLL. arm-none-eabi-gcc is all it needs, no
# library.

ARM_PREFIX ?= arm-none-eabi-
RISCV_PREFIX ?= riscv64-unknown-elf-
CLOCKS ?=

# Each board.mk adds its images: BOARDS are for silicon, EMULATED for QEMU.
BOARDS :=
RISCV_BOARDS :=
EMULATED :=
include $(wildcard boards/*/board.mk)

ARM_FLAGS := -Os -g -ffreestanding -ffunction-sections -fdata-sections \
    -fno-tree-loop-distribute-patterns
# Code and data lie in one memory on a board that copies its image there.
ARM_LINK := -nostdlib -nostartfiles -Wl,--gc-sections,--fatal-warnings,--no-warn-rwx-segments \
    -T ports/cortex_m/image.ld
ARM_SHARED := $(filter-out ports/cortex_m/main.c,$(wildcard ports/cortex_m/*.c))
# $(1) is the image's name: a board's, or with -emulated after it.
arm_folder = boards/$(1:-emulated=)
arm_core = $(or $(core_$(1:-emulated=)),armv)
arm_tools = $(or $(tools_$(1:-emulated=)),$(ARM_PREFIX))
arm_own = ports/cortex_m/cores/$(arm_core).c ports/cortex_m/chips/$(chip_$(1:-emulated=)).c \
    $(wildcard $(arm_folder)/*.c)
# The multilib of a name without its extensions; of Arm's compiler the one that it chooses.
arm_libgcc = $(if $(filter armv,$(arm_core)),-lgcc,$(shell $(arm_tools)gcc -march=rv32imac \
    -mabi=ilp32 -print-libgcc-file-name 2>/dev/null))
arm_cpu = $(if $(filter armv,$(arm_core)),-mthumb) $(cpu_$(1:-emulated=))
arm_include = -Icore -Iports/cortex_m/include -Iports/cortex_m -I$(arm_folder) \
    $(patsubst %,-I%,$(wildcard workloads/*))
# Products of weights take half as many instructions so, at the same size of all else.
fast := tflite network sww sound
speed_of = $(if $(filter $(fast:%=workloads/%/%),$(1)),-O2)
arm_defines = $(defines_$(1:-emulated=)) $(if $(filter $(1),$(EMULATED)),-DNR_EMULATED,$(CLOCKS))
arm_flags = $(STRICT) $(ARM_FLAGS) $(arm_cpu) $(arm_defines) \
    $(call without,$(LEAVE_OUT)) $(arm_include)
# Of an image of one workload: more of its inputs fit.
arm_more = $(defines_$(1:-emulated=)_$(2))
arm_sources = $(CORE) $(ARM_SHARED) $(arm_own) $(call workload_sources,$(2))
arm_objects = $(patsubst %.c,$(BUILD)/$(1)/objects$(if $(arm_more),-$(2))/%.o,$(arm_sources))
arm_headers = $(wildcard core/*.h ports/cortex_m/*.h ports/cortex_m/cores/*.h \
    ports/cortex_m/include/*.h $(arm_folder)/*.h workloads/*/*.h)
arm_all = $(sort $(arm_sources) $(arm_headers) ports/cortex_m/main.c)
arm_build_id = $(shell (cat $(arm_all); echo $(LEAVE_OUT) $(arm_defines)) | $(HASH) | cut -c 1-12)
arm_define = -DNR_BUILD='"$(arm_build_id)"' -DNR_BOARD='"$(1)"'

.PHONY: emulated emulated-size boards riscv-boards arm-compiler
emulated: arm-compiler $(foreach name,$(EMULATED),$(WORKLOADS:%=$(BUILD)/$(name)/%.elf))
emulated-size: emulated
	@$(ARM_PREFIX)size $(foreach name,$(EMULATED),$(WORKLOADS:%=$(BUILD)/$(name)/%.elf))
boards: arm-compiler $(foreach name,$(BOARDS),$(WORKLOADS:%=$(BUILD)/$(name)/%.elf))
riscv-boards: $(foreach name,$(RISCV_BOARDS),$(WORKLOADS:%=$(BUILD)/$(name)/%.elf))

arm-compiler:
	@command -v $(ARM_PREFIX)gcc >/dev/null || { echo >&2 \
	    "$(ARM_PREFIX)gcc is missing (Debian: apt-get install gcc-arm-none-eabi)."; exit 1; }

# One object a source, and an image a workload, whose main knows it.
define arm_image
$(BUILD)/$(1)/objects/%.o: %.c $(call arm_headers,$(1)) Makefile cortex_m.mk
	@mkdir -p $$(@D)
	$(call arm_tools,$(1))gcc $(call arm_flags,$(1)) $$(call speed_of,$$<) -c -o $$@ $$<

$(BUILD)/$(1)/objects-sww/%.o: %.c $(call arm_headers,$(1)) Makefile cortex_m.mk
	@mkdir -p $$(@D)
	$(call arm_tools,$(1))gcc $(call arm_flags,$(1)) $(call arm_more,$(1),sww) \
	    $$(call speed_of,$$<) -c -o $$@ $$<

$(BUILD)/$(1)/%.elf: ports/cortex_m/main.c ports/cortex_m/image.ld \
    $(call arm_folder,$(1))/memory.ld \
    $$$$(call arm_objects,$(1),$$$$*) $(call arm_headers,$(1)) Makefile cortex_m.mk
	$(call arm_tools,$(1))gcc -Iworkloads/$$* $(call arm_flags,$(1)) $$(call arm_more,$(1),$$*) \
	    $$(call arm_define,$(1),$$*) $(ARM_LINK) \
	    -L $(call arm_folder,$(1)) -o $$@ $$(filter %main.c %.o,$$^) $(call arm_libgcc,$(1))

$(BUILD)/$(1)/%.hex: $(BUILD)/$(1)/%.elf
	$(call arm_tools,$(1))objcopy -O ihex $$< $$@
endef
.PRECIOUS: $(BUILD)/%.o $(BUILD)/%.elf
.SECONDEXPANSION:
$(foreach name,$(BOARDS) $(RISCV_BOARDS) $(EMULATED),$(eval $(call arm_image,$(name))))
