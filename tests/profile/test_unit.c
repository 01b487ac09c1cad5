/* Units: values for people. */
#include "../t.h"
#include "profile/unit.h"

TEST(labels)
{
    static const struct {
        long long value;
        const char *from, *to, *want;
    } cases[] = {
        {1, "bytes", "auto", "1B"},
        {1024, "bytes", "auto", "1kB"},
        {12582912, "bytes", "auto", "12MB"},
        {1610612736, "bytes", "auto", "1.50GB"},
        {-2048, "bytes", "auto", "-2kB"},
        {0, "bytes", "auto", "0"},
        {30000000, "nanoseconds", "auto", "30ms"},
        {1500, "ns", "auto", "1.50us"},
        {90, "s", "auto", "90s"},
        {7200, "seconds", "auto", "2hrs"},
        {30000000, "nanoseconds", "s", "0.03s"},
        {1, "kb", "bytes", "1024B"},
        {7, "count", "auto", "7"},
        {7, "", "auto", "7"},
        {7, "requests", "auto", "7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char into[UNIT_LABEL_BYTES];
        CHECK_STR(unit_label(cases[i].value, cases[i].from, cases[i].to, into), cases[i].want);
    }
}

TEST(percentages)
{
    char into[16];
    CHECK_STR(unit_percentage_trimmed(3, 7, into), "42.86%");
    CHECK_STR(unit_percentage_trimmed(1, 1, into), "100%");
    CHECK_STR(unit_percentage_trimmed(0, 5, into), "0%");
    CHECK_STR(unit_percentage_trimmed(1, 0, into), "0%");
    CHECK_STR(unit_percentage_trimmed(-1, 4, into), "25.00%");
    CHECK_STR(unit_percentage_trimmed(1, 1000000, into), "0.0001%");
    CHECK_INT(strlen(unit_percentage(1, 20, into)), 6);
}

TEST(families)
{
    CHECK(unit_known("bytes") && unit_known("bytes") == unit_known("MB"));
    CHECK(unit_known("ms") && unit_known("ms") == unit_known("nanoseconds"));
    CHECK(unit_known("ms") != unit_known("bytes"));
    CHECK_INT(unit_known("apples"), 0);
    CHECK_INT(unit_known(""), 0);
    const char *unit;
    CHECK(unit_scale(2048, "bytes", "kb", &unit) == 2);
    CHECK_STR(unit, "kB");
    CHECK(unit_scale(5, "apples", "pears", &unit) == 5);
}

TEST(the_ends_of_the_range)
{
    char into[UNIT_LABEL_BYTES];
    CHECK(strlen(unit_label(INT64_MAX, "bytes", "auto", into)) < 20);
    CHECK(strlen(unit_label(INT64_MIN, "bytes", "auto", into)) < 24);
    CHECK(strlen(unit_label(INT64_MIN, "nanoseconds", "auto", into)) < 20);
    CHECK(strlen(unit_percentage_trimmed(INT64_MIN, INT64_MAX, into)) < 12);
}

TEST_MAIN()
