/* Says what the kernels were compiled for. */

#include "processor.h"

const char *instructions(void) { return INSTRUCTIONS; }
