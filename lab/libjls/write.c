/* SPDX-License-Identifier: Apache-2.0
 * Writes samples as a JLS file: write SAMPLES.f32 FILE.jls REPEATS.
 * The signal has the blocks and summaries of the rig's traces (rig/trace/writer.py).
 * Links against libjls. */
#include "jls/writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 32768, SUMMARY = 1024 };

static const struct jls_source_def_s source = {
    .source_id = 1, .name = "lab", .vendor = "", .model = "", .version = "",
    .serial_number = ""};
static const struct jls_signal_def_s signal_of_source = {
    .signal_id = 1, .source_id = 1, .signal_type = JLS_SIGNAL_TYPE_FSR,
    .data_type = JLS_DATATYPE_F32, .sample_rate = 1000000,
    .samples_per_data = BLOCK, .sample_decimate_factor = SUMMARY,
    .name = "current", .units = "A"};

static float *read_samples(const char *path, long *count)
{
    FILE *stream = fopen(path, "rb");
    float *samples = NULL;

    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0) {
        return NULL;
    }
    *count = ftell(stream) / (long)sizeof *samples;
    rewind(stream);
    samples = malloc((size_t)*count * sizeof *samples);
    if (samples != NULL
        && fread(samples, sizeof *samples, (size_t)*count, stream) != (size_t)*count) {
        free(samples);
        samples = NULL;
    }
    (void)fclose(stream);
    return samples;
}

int main(int argc, char **argv)
{
    struct jls_wr_s *writer = NULL;
    float *samples = NULL;
    long count = 0;
    long repeats = 0;

    if (argc != 4) {
        return 2;
    }
    samples = read_samples(argv[1], &count);
    repeats = strtol(argv[3], NULL, 10);
    if (samples == NULL || jls_wr_open(&writer, argv[2]) != 0
        || jls_wr_source_def(writer, &source) != 0
        || jls_wr_signal_def(writer, &signal_of_source) != 0) {
        return 1;
    }
    for (long turn = 0; turn < repeats; ++turn) {
        if (jls_wr_fsr_f32(writer, 1, turn * count, samples, (uint32_t)count) != 0) {
            return 1;
        }
    }
    free(samples);
    return jls_wr_close(writer) == 0 ? 0 : 1;
}
