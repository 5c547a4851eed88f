/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of QEMU: writes how many instructions were executed each time the processor comes to a
   given address. It knows nothing of timers and of the firmware. Arguments: at=ADDRESS out=FILE.
   QEMU's header is not packaged: version 1 of its interface, as documented. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, INLINE_ADD_U64 = 0 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                           void (*translated)(plugin_id id,
                                                              struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            void (*executed)(unsigned cpu, void *data), int flags,
                                            void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation,
                                                void *to, uint64_t number);

int qemu_plugin_version = 1;
int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments);

static uint64_t executed;
static uint64_t address;
static FILE *out;

static void reached(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    (void)fprintf(out, "%" PRIu64 "\n", executed);
    (void)fflush(out);
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &executed, 1);
        if (qemu_plugin_insn_vaddr(insn) == address) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, reached, NO_REGISTERS, NULL);
        }
    }
}

int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments)
{
    (void)info;
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "at=", 3) == 0) {
            address = strtoull(arguments[i] + 3, NULL, 0);
        } else if (strncmp(arguments[i], "out=", 4) == 0) {
            out = fopen(arguments[i] + 4, "w");
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return out != NULL ? 0 : -1;
}
