/* SPDX-License-Identifier: Apache-2.0 */
/* All the test framework there is: a check that fails says where and stops the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, __func__,         \
                          #condition);                                                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define RUN(test)     \
    do {              \
        test();       \
        tests_run++;  \
    } while (0)

static int tests_run;

static inline int report(const char *name)
{
    (void)printf("%s: %d tests passed\n", name, tests_run);
    return 0;
}

#endif
