/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over stored inputs, so that any compiler can replay what clang's libFuzzer
   found. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int count, char *paths[])
{
    static uint8_t bytes[1U << 16];
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        size_t size;
        uint8_t *exact;
        if (file == NULL) {
            (void)fprintf(stderr, "%s: cannot be opened\n", paths[i]);
            return 2;
        }
        size = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
        exact = malloc(size + (size == 0)); /* of its size, so that the sanitizer sees its end */
        if (exact == NULL) {
            return 2;
        }
        for (size_t at = 0; at < size; at++) {
            exact[at] = bytes[at];
        }
        (void)LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    (void)printf("%s: %d inputs replayed\n", paths[0], count - 1);
    return count > 1 ? 0 : 2;
}
