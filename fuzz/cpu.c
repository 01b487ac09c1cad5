#include "reader.h"

FUZZ_READER(format_cpu, .drop_signal_frames = true)
