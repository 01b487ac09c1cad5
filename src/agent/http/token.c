/* token.c - see token.h. */
#include "agent/http/token.h"

#include <string.h>
#include <strings.h>

#include "agent/host/config.h"

bool token_is_set(void)
{
    return *config_text("token", "") != 0;
}

/* Compares in a time that depends on the length of b, the real token, and not on where the two differ. */
static bool is_equal(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned different = n != m;
    for (size_t i = 0; i < m; i++) different |= (unsigned char)b[i] ^ (unsigned char)(n ? a[i % n] : 0);
    return !different;
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool basic_allows(const char *encoded, const char *token)
{
    char text[400];
    size_t n = 0;
    unsigned bits = 0, n_bits = 0;
    for (; *encoded && *encoded != '='; encoded++) {
        int v = base64_value(*encoded);
        if (v < 0 || n + 1 >= sizeof text) return false;
        bits = bits << 6 | (unsigned)v;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            text[n++] = (char)(bits >> n_bits);
        }
    }
    text[n] = 0;
    const char *colon = strchr(text, ':');
    return colon && is_equal(colon + 1, token);
}

bool token_allows(const char *authorization)
{
    const char *token = config_text("token", "");
    if (!*token) return true;
    if (!strncasecmp(authorization, "Bearer ", 7)) return is_equal(authorization + 7, token);
    if (!strncasecmp(authorization, "Basic ", 6)) return basic_allows(authorization + 6, token);
    return false;
}
