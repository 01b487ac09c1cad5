#include "reader.h"

FUZZ_READER(format_go_count)
