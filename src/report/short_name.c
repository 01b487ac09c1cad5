/* short_name.c - long function names as pictures show them: without packages, namespaces and (Java, Go)
 * argument lists.
 *
 * One expression per language, tried in turn; the first that fits decides. They are compiled once.
 */
#include <pthread.h>
#include <string.h>

#include "base/regex.h"
#include "report/report_int.h"

static struct regex *go_version, *go_name, *java_name, *cpp_name;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void compile_once(void)
{
    if (go_version) return;
    regex_compile("^(.*?)/v(?:[2-9]|[1-9][0-9]+)([./].*)$", &go_version, NULL);
    regex_compile("^(?:[\\w\\-\\.]+\\/)+([^.]+\\..+)", &go_name, NULL);
    regex_compile("^(?:[a-z]\\w*\\.)*([A-Z][\\w\\$]*\\.(?:<init>|[a-z][\\w\\$]*(?:\\$\\d+)?))(?:(?:\\()|$)",
                  &java_name, NULL);
    regex_compile("^(?:[_a-zA-Z]\\w*::)+(_*[A-Z]\\w*::~?[_a-zA-Z]\\w*(?:<.*>)?)", &cpp_name, NULL);
}

static void shorten(const char *name, size_t len, struct buf *out)
{
    struct regex *const each[] = {go_name, java_name, cpp_name};
    size_t start, end;
    for (size_t i = 0; i < 3; i++) {
        if (!regex_find(each[i], name, len, 1, &start, &end)) continue;
        buf_add(out, name + start, end - start);
        return;
    }
    buf_add(out, name, len);
}

void report_short_name(const char *name, struct buf *out)
{
    static const char anonymous[] = "(anonymous namespace)::";
    size_t len = strlen(name), s1, e1, s2, e2;
    if (!strncmp(name, anonymous, sizeof anonymous - 1)) {
        name += sizeof anonymous - 1;
        len -= sizeof anonymous - 1;
    }
    pthread_mutex_lock(&lock); /* an expression is for one thread at a time */
    compile_once();
    if (regex_find(go_version, name, len, 1, &s1, &e1) && regex_find(go_version, name, len, 2, &s2, &e2)) {
        struct buf joined = {0};
        buf_add(&joined, name + s1, e1 - s1);
        buf_add(&joined, name + s2, e2 - s2);
        shorten(buf_cstr(&joined), joined.len, out);
        buf_free(&joined);
    } else {
        shorten(name, len, out);
    }
    pthread_mutex_unlock(&lock);
}
