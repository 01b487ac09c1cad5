#include "reader.h"

FUZZ_READER(format_jfr)
