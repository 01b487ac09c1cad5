#include "reader.h"

FUZZ_READER(format_perf_script)
