/* debuginfod.c - see debuginfod.h.
 *
 * The cache has the layout of elfutils' client, so that gdb, perf and other tools share its files:
 *   $DEBUGINFOD_CACHE_PATH or $XDG_CACHE_HOME/debuginfod_client or ~/.cache/debuginfod_client
 *   CACHE/BUILDID/debuginfo
 * An empty file means that no server had the file. It is valid for ten minutes.
 */
#include "symbol/elf/debuginfod.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

enum { DEFAULT_TIMEOUT_S = 90, MISS_VALID_S = 600 };

static char *cache_dir(void)
{
    const char *set = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (set && *set) return mem_strdup(set);
    if (xdg && *xdg) return mem_printf("%s/debuginfod_client", xdg);
    if (home && *home) return mem_printf("%s/.cache/debuginfod_client", home);
    return NULL;
}

/* libcurl is loaded at the first download. With the libraries that it needs, loading it takes longer than
 * most lookups. */
static struct {
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_perform)(CURL *);
    void (*easy_cleanup)(CURL *);
    bool loaded;
} lib;

static void init_curl(void)
{
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!handle) handle = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    *(void **)&lib.global_init = dlsym(handle, "curl_global_init");
    *(void **)&lib.easy_init = dlsym(handle, "curl_easy_init");
    *(void **)&lib.easy_setopt = dlsym(handle, "curl_easy_setopt");
    *(void **)&lib.easy_perform = dlsym(handle, "curl_easy_perform");
    *(void **)&lib.easy_cleanup = dlsym(handle, "curl_easy_cleanup");
    lib.loaded = lib.global_init && lib.easy_init && lib.easy_setopt && lib.easy_perform &&
                 lib.easy_cleanup && lib.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

static long timeout_s(void)
{
    const char *set = getenv("DEBUGINFOD_TIMEOUT");
    long seconds = set ? atol(set) : 0;
    return seconds > 0 ? seconds : DEFAULT_TIMEOUT_S;
}

/* Returns 1 if the file was downloaded, 0 if the server does not have it, -1 if the server did not answer. */
static int download(const char *url, FILE *to)
{
    CURL *curl = lib.loaded ? lib.easy_init() : NULL;
    if (!curl) return -1;
    lib.easy_setopt(curl, CURLOPT_URL, url);
    lib.easy_setopt(curl, CURLOPT_WRITEDATA, to);
    lib.easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    lib.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    lib.easy_setopt(curl, CURLOPT_MAXREDIRS, 8L);
    lib.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    lib.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    /* The limit is on speed instead of total time, because a large file may take long. Below 100 KiB/s for
     * the whole timeout, the download stops. */
    lib.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, timeout_s() < 10 ? timeout_s() : 10L);
    lib.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 100L * 1024);
    lib.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, timeout_s());
    lib.easy_setopt(curl, CURLOPT_USERAGENT, "procprof");
    CURLcode rc = lib.easy_perform(curl);
    lib.easy_cleanup(curl);
    return rc == CURLE_OK ? 1 : rc == CURLE_HTTP_RETURNED_ERROR ? 0 : -1;
}

static bool fetch_into(const char *urls, const char *id, const char *kind, const char *path)
{
    char *temporary = mem_printf("%s.%d.part", path, (int)getpid());
    bool got = false, asked = false;
    for (const char *p = urls; *p && !got;) {
        size_t n = strcspn(p, " \t\n");
        if (n) {
            FILE *to = fopen(temporary, "wb");
            if (!to) break;
            char *url = mem_printf("%.*s%s/buildid/%s/%s", (int)n, p, "", id, kind);
            int rc = download(url, to);
            mem_free(url);
            got = (fclose(to) == 0) && rc == 1;
            asked |= rc >= 0;
        }
        p += n;
        p += strspn(p, " \t\n");
    }
    if (got)
        got = rename(temporary, path) == 0;
    else if (asked)
        file_write_atomic(path, "", 0, 0600, NULL);
    unlink(temporary);
    mem_free(temporary);
    return got;
}

char *debuginfod_fetch(const char *id, const char *kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (!urls || !urls[strspn(urls, " \t\n")] || strspn(id, TEXT_HEX_DIGITS) != strlen(id)) return NULL;
    char *cache = cache_dir();
    if (!cache) return NULL;
    char *folder = mem_printf("%s/%s", cache, id), *path = mem_printf("%s/%s", folder, kind);
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (there && st.st_size == 0 && time(NULL) - st.st_mtime > MISS_VALID_S) there = false;
    bool got = there && st.st_size > 0;
    if (!there && file_make_dirs(folder, 0700, NULL) == 0) {
        pthread_once(&once, init_curl);
        pthread_mutex_lock(&one_at_a_time);
        got = fetch_into(urls, id, kind, path);
        pthread_mutex_unlock(&one_at_a_time);
    }
    mem_free(folder);
    mem_free(cache);
    if (got) return path;
    mem_free(path);
    return NULL;
}
