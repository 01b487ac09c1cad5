/* pprof_pages.c - the URLs of the web interface of google/pprof (`pprof -http`), so that bookmarks and links
 * work. Its graphs lead to the same view of our page, its texts are the same reports, its download is the
 * profile. Only for files (procprof ui, procprof pprof -http), because a server of a cluster has more than
 * one profile. */
#include <string.h>

#include "base/compress/pack.h"
#include "base/mem.h"
#include "format/format.h"
#include "report/report.h"
#include "serve/http/api.h"
#include "serve/http/site.h"

/* The parameters of pprof that select samples and functions. */
static void read_options(struct http_request *q, struct report_options *o)
{
    struct {
        const char *name;
        const char **text;
    } texts[] = {{"f", &o->focus},     {"i", &o->ignore},        {"h", &o->hide},
                 {"s", &o->show},      {"sf", &o->show_from},    {"pf", &o->prune_from},
                 {"tf", &o->tagfocus}, {"ti", &o->tagignore},    {"ts", &o->tagshow},
                 {"th", &o->taghide},  {"si", &o->sample_index}, {"unit", &o->unit}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *value = http_query(q, texts[i].name);
        if (value) *texts[i].text = value;
    }
    struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"noinlines", &o->noinlines},   {"rel", &o->relative_percentages}, {"mean", &o->mean},
        {"dropneg", &o->drop_negative}, {"compact", &o->compact_labels},   {"calltree", &o->call_tree},
        {"intel", &o->intel_syntax},    {"showcolumns", &o->showcolumns},  {"trim", &o->trim}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const char *value = http_query(q, flags[i].name);
        if (value) *flags[i].flag = !strcmp(value, "true") || !strcmp(value, "t") || !strcmp(value, "1");
    }
    const char *sort = http_query(q, "sort"), *granularity = http_query(q, "g");
    if (sort) o->cum_sort = !strcmp(sort, "cum");
    static const char *const granularities[] = {[BY_FUNCTION] = "functions",
                                                [BY_FILE_FUNCTION] = "filefunctions",
                                                [BY_FILE] = "files",
                                                [BY_LINE] = "lines",
                                                [BY_ADDRESS] = "addresses"};
    for (size_t i = BY_FUNCTION; granularity && i <= BY_ADDRESS; i++)
        if (!strcmp(granularity, granularities[i])) o->granularity = (enum report_granularity)i;
}

static void add_parameter(struct buf *to, const char *name, const char *value)
{
    if (!value || !*value) return;
    buf_printf(to, "&%s=", name);
    buf_url(to, value);
}

/* Redirects to our page in that view, with the same selection. */
static void go_to_page(struct http_request *q, struct http_answer *a, const char *view)
{
    struct buf address = {0};
    buf_printf(&address, "/#/view?%s&v=%s", q->site->file_selection, view);
    add_parameter(&address, "focus", http_query(q, "f"));
    add_parameter(&address, "ignore", http_query(q, "i"));
    add_parameter(&address, "hide", http_query(q, "h"));
    add_parameter(&address, "t", http_query(q, "si"));
    a->status = 302;
    a->type = "text/plain; charset=utf-8";
    buf_printf(&a->body, "%s\n", buf_cstr(&address));
    a->location = buf_take(&address);
}

static void text_page(struct http_answer *a, const char *name, const struct buf *text)
{
    static const char *const pages[] = {"graph", "flamegraph", "top", "peek", "source", "disasm", "download"};
    struct buf *out = &a->body;
    a->type = "text/html; charset=utf-8";
    buf_printf(out,
               "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>%s</title></head>\n<body>\n<p>",
               name);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        buf_printf(out, "<a href=\"/ui/%s\">%s</a> ", pages[i], pages[i]);
    buf_str(out, "</p>\n<pre>");
    buf_xml(out, text->data, text->len);
    buf_str(out, "</pre>\n</body></html>\n");
}

/* The profiles that the command line named, merged, minus their base. */
static int load_selected(struct site *site, bool want_lines, struct profile **ret_profile, struct err *err)
{
    struct store_profile *list = NULL, *base = NULL;
    const char *bases = strstr(site->file_selection, "&base_ids=");
    char *ids_text = mem_strdup(site->file_selection + strlen("ids="));
    ids_text[strcspn(ids_text, "&")] = '\0';
    int64_t *ids = NULL, *base_ids = NULL;
    size_t n_ids = 0, n_base_ids = 0;
    api_parse_ids(ids_text, SIZE_MAX, &ids, &n_ids);
    if (bases) api_parse_ids(bases + strlen("&base_ids="), SIZE_MAX, &base_ids, &n_base_ids);
    size_t n = store_get_many(site->store, ids, n_ids, &list),
           n_base = store_get_many(site->store, base_ids, n_base_ids, &base);
    int bad = views_profile(site->views, list, n, base, n_base, want_lines, ret_profile, err);
    mem_free(ids), mem_free(base_ids), mem_free(ids_text), mem_free(list), mem_free(base);
    return bad;
}

static void report_page(struct http_request *q, struct http_answer *a, enum report_format format)
{
    struct report_options o = report_options_default(format);
    struct profile *p = NULL;
    struct err err = {0};
    struct buf text = {0};
    bool is_source = format == REPORT_WEBLIST || format == REPORT_DISASM;
    read_options(q, &o);
    if (format == REPORT_TEXT)
        o.nodecount = 500; /* fixed, like the next option, whatever the URL says, as in pprof */
    if (format == REPORT_TREE) o.granularity = BY_LINE;
    if (format != REPORT_TEXT) o.symbol = o.focus; /* "" selects all functions, as in pprof */
    o.symbolizer = views_symbolizer(q->site->views);
    int bad = load_selected(q->site, is_source, &p, &err);
    if (!bad) bad = report_write(p, &o, &text, &err);
    profile_free(p);
    if (bad) {
        a->status = 400; /* with only the reason as the body, as in pprof */
        a->type = "text/plain; charset=utf-8";
        buf_printf(&a->body, "%s\n", err.text);
    } else if (format == REPORT_WEBLIST) { /* a complete HTML page */
        a->type = "text/html; charset=utf-8";
        a->csp = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src "
                 "'unsafe-inline'";
        buf_add(&a->body, text.data, text.len);
    } else {
        text_page(a, q->word, &text);
    }
    buf_free(&text);
}

void pprof_page(struct http_request *q, struct http_answer *a)
{
    static const struct {
        const char *name, *view;
        enum report_format format;
    } pages[] = {{"", "flame", 0},
                 {"graph", "graph", 0},
                 {"flamegraph", "flame", 0},
                 {"flamegraph2", "flame", 0},
                 {"flamegraphold", "flame", 0},
                 {"top", NULL, REPORT_TEXT},
                 {"peek", NULL, REPORT_TREE},
                 {"source", NULL, REPORT_WEBLIST},
                 {"disasm", NULL, REPORT_DISASM}};
    if (!q->site->file_selection) {
        http_error(a, 404, "there is no such page");
        return;
    }
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(q->word, pages[i].name)) continue;
        if (pages[i].view)
            go_to_page(q, a, pages[i].view);
        else
            report_page(q, a, pages[i].format);
        return;
    }
    if (strcmp(q->word, "download")) {
        http_error(a, 404, "there is no such page");
        return;
    }
    struct profile *p;
    struct err err = {0};
    if (load_selected(q->site, false, &p, &err)) {
        http_error(a, 404, "%s", err.text);
        return;
    }
    struct buf plain = {0};
    struct bytes packed;
    format_write_proto(p, &plain);
    pack_gzip_member(plain.data, plain.len, 1, &packed);
    buf_add(&a->body, packed.data, packed.len);
    a->packed_file = true;
    a->type = "application/vnd.google.protobuf+gzip";
    http_add_header(a, "Content-Disposition", "attachment;filename=profile.pb.gz");
    bytes_free(&packed);
    buf_free(&plain);
    profile_free(p);
}
