/* Spends CPU time in known functions under gperftools' profiler; argv[1] is the file. */
#include <time.h>

int ProfilerStart(const char *path);
void ProfilerStop(void);

static volatile unsigned long sink;

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) void spin(double seconds)
{
    double end = cpu_s() + seconds;
    while (cpu_s() < end)
        for (int i = 0; i < 10000; i++) sink += (unsigned long)i * 3;
}

__attribute__((noinline)) void hash_rows(double seconds)
{
    spin(seconds);
    sink++;
}

__attribute__((noinline)) void parse(double seconds)
{
    double end = cpu_s() + seconds;
    while (cpu_s() < end)
        for (int i = 0; i < 10000; i++) sink ^= (unsigned long)i * 7;
    sink++;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    ProfilerStart(argv[1]);
    hash_rows(0.5);
    parse(0.3);
    spin(0.2);
    ProfilerStop();
    return 0;
}
