// plugin.cpp - what host.cpp loads and unloads.
#include <cstdint>

extern "C" __attribute__((noinline)) std::uint64_t plugin_work(unsigned n)
{
    std::uint64_t x = n;
    for (unsigned i = 0; i < n; i++) x = x * 2862933555777941757u + 3037000493u;
    return x;
}
