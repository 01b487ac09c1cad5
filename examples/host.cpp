// host.cpp - libprocprof linked into a C++ program, which takes a CPU profile of itself and prints it.
//
//   g++ -O2 -g -Iinclude examples/host.cpp -Lbuild -lprocprof -Wl,-rpath,$PWD/build -o host && ./host
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "procprof.h"

namespace demo
{
// Owns a profile of pp_profile.
struct Profile {
    void *bytes = nullptr;
    std::size_t size = 0;
    explicit Profile(const pp_capture &capture)
    {
        if (pp_profile(&capture, &bytes, &size)) throw std::runtime_error(pp_error_text());
    }
    ~Profile() { pp_free(bytes, size); }
    Profile(const Profile &) = delete;
    Profile &operator=(const Profile &) = delete;
};

__attribute__((noinline)) static unsigned count_words(unsigned n)
{
    std::map<std::string, unsigned> counts;
    for (unsigned i = 0; i < n; i++) counts["word-" + std::to_string(i * 7919 % 1000)]++;
    return static_cast<unsigned>(counts.size());
}
} // namespace demo

int main()
{
    pp_options options{};
    options.size = sizeof options;
    options.listen = "127.0.0.1:0"; // any free port; profiles are also served there
    if (pp_agent_start(&options)) {
        std::fprintf(stderr, "host: %s\n", pp_error_text());
        return 1;
    }
    volatile bool done = false;
    std::thread worker([&done] {
        pp_label_set("job", "words");
        while (!done) demo::count_words(5000);
    });
    int status = 0;
    try {
        pp_capture capture{};
        capture.size = sizeof capture;
        capture.kind = "profile";
        capture.seconds = 1;
        capture.format = "text";
        demo::Profile profile(capture);
        std::fwrite(profile.bytes, 1, profile.size, stdout);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "host: %s\n", e.what());
        status = 1;
    }
    done = true;
    worker.join();
    pp_agent_stop();
    return status;
}
