/* The search for a jemalloc needs little memory, however large the symbol tables are, and it is repeated when
 * the kernel refused that memory. This program is linked with --wrap for mmap and mremap. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "agent/heap/jemalloc.h"
#include "agent/sample/kinds.h"

#include "../../t.h"

static long n_maps, refused_map; /* 0: none is refused */
static size_t largest_map;

static bool is_refused(size_t n_bytes)
{
    if (n_bytes > largest_map) largest_map = n_bytes;
    errno = ENOMEM;
    return ++n_maps == refused_map;
}

void *__real_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset)
{
    return is_refused(n_bytes) ? MAP_FAILED : __real_mmap(at, n_bytes, protection, flags, fd, offset);
}

void *__real_mremap(void *old, size_t n_bytes, size_t n_new_bytes, int flags);
void *__wrap_mremap(void *old, size_t n_bytes, size_t n_new_bytes, int flags);
void *__wrap_mremap(void *old, size_t n_bytes, size_t n_new_bytes, int flags)
{
    return is_refused(n_new_bytes) ? MAP_FAILED : __real_mremap(old, n_bytes, n_new_bytes, flags);
}

/* ---- a file with large tables */

#define MIB         ((size_t)1 << 20)
#define N_SYMBOLS   50000 /* more than 1 MiB */
#define NAMES_BYTES (3 * MIB)
#define ADDRESS     0x1234

static struct image {
    union {
        struct {
            ElfW(Ehdr) header;
            ElfW(Phdr) segment;
            ElfW(Shdr) sections[3]; /* none, symbols, names */
        };
        uint8_t first_page[4096];
    };
    ElfW(Sym) symbols[N_SYMBOLS];
    char names[NAMES_BYTES];
} image;

static void make_image(void)
{
    image.header = (ElfW(Ehdr)){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                                .e_phoff = offsetof(struct image, segment),
                                .e_phentsize = sizeof(ElfW(Phdr)),
                                .e_phnum = 1,
                                .e_shoff = offsetof(struct image, sections),
                                .e_shentsize = sizeof(ElfW(Shdr)),
                                .e_shnum = 3};
    image.segment = (ElfW(Phdr)){.p_type = PT_LOAD, .p_filesz = sizeof image.first_page};
    image.sections[1] = (ElfW(Shdr)){.sh_type = SHT_SYMTAB,
                                     .sh_link = 2,
                                     .sh_offset = offsetof(struct image, symbols),
                                     .sh_size = sizeof image.symbols};
    image.sections[2] = (ElfW(Shdr)){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, names), .sh_size = sizeof image.names};
}

static char found_name[64];
static unsigned n_found;

static bool note(void *context, const char *name, uintptr_t address)
{
    (void)context;
    n_found++;
    snprintf(found_name, sizeof found_name, "%s", name);
    CHECK(address == (uintptr_t)&image + ADDRESS);
    return false;
}

/* The name begins at `position` of the names and belongs to the symbol with this index. */
static bool search_image(size_t position, size_t symbol)
{
    static const char name[] = "je_mallctl";
    char path[64];
    int fd = memfd_create("image", MFD_CLOEXEC);
    memcpy(image.names + position, name, sizeof name);
    image.symbols[symbol] = (ElfW(Sym)){.st_name = (uint32_t)position,
                                        .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                                        .st_shndx = 1,
                                        .st_value = ADDRESS};
    REQUIRE(write(fd, &image, sizeof image) == (ssize_t)sizeof image);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    n_found = 0;
    bool is_complete = jemalloc_elf_symbols(path, (uintptr_t)&image, "mallctl", note, NULL);
    close(fd);
    memset(image.names + position, 0, sizeof name);
    image.symbols[symbol] = (ElfW(Sym)){0};
    return is_complete;
}

TEST(large_tables_are_read_in_small_pieces)
{
    make_image();
    CHECK(search_image(2 * MIB + 100, N_SYMBOLS - 1));
    CHECK_INT(n_found, 1);
    CHECK_STR(found_name, "je_mallctl");
    CHECK(largest_map <= MIB);
}

TEST(a_name_across_the_end_of_a_piece_is_found_once)
{
    make_image();
    for (size_t back = 0; back < 24; back++) {
        CHECK(search_image(MIB - back, MIB / sizeof(ElfW(Sym)) - 12 + back));
        CHECK_INT(n_found, 1);
        CHECK(search_image(2 * MIB - back, back));
        CHECK_INT(n_found, 1);
    }
    CHECK(search_image(NAMES_BYTES - sizeof "je_mallctl", 0));
    CHECK_INT(n_found, 1);
}

TEST(a_search_says_when_memory_was_refused)
{
    make_image();
    long n_maps_of_search = 0;
    for (refused_map = 0; refused_map <= n_maps_of_search; refused_map++) {
        n_maps = 0;
        CHECK(search_image(100, 1) == !refused_map);
        CHECK_INT(n_found, !refused_map);
        if (!refused_map) n_maps_of_search = n_maps;
    }
    CHECK(n_maps_of_search > 2);
}

/* ---- the search of this process */

int test_mallctl(const char *name, void *old, size_t *old_size, void *new_, size_t new_size);
__attribute__((used)) int test_mallctl(const char *name, void *old, size_t *old_size, void *new_,
                                       size_t new_size)
{
    static const char version[] = "5.0";
    (void)old_size, (void)new_, (void)new_size;
    if (!strcmp(name, "version"))
        *(const char **)old = version;
    else if (!strcmp(name, "config.prof") || !strcmp(name, "opt.prof"))
        *(bool *)old = true;
    else
        return ENOENT;
    return 0;
}

/* Each search runs in a process of its own, because a complete one is final. */
static bool search_process(long refused)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        const struct jemalloc *all;
        n_maps = 0;
        refused_map = refused;
        (void)jemalloc_find(&all);
        bool is_last = n_maps < refused;
        refused_map = 0;
        CHECK_INT(jemalloc_find(&all), 1);
        CHECK_STR(all[0].symbol, "test_mallctl");
        CHECK(jemalloc_looked_everywhere());
        fflush(stdout);
        _exit(t_n_bad ? 2 : is_last);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) T_FAIL("mapping %ld refused", refused);
    return WEXITSTATUS(status) == 1;
}

TEST(a_jemalloc_is_found_once_there_is_memory)
{
    long n = 1;
    while (n < 1000 && !t_n_bad && !search_process(n)) n++;
    CHECK(n > 5 && n < 1000);
}

TEST(the_heap_source_is_chosen_again_once_there_is_memory)
{
    const struct kind *heap = kind_find("heap", strlen("heap"));
    struct kind_options options = {.query = ""};
    struct pages_buf reply = {0};
    REQUIRE(heap);
    refused_map = n_maps + 2; /* the first is for the list of objects */
    heap->agent_started();
    CHECK(!jemalloc_looked_everywhere());
    CHECK_INT(heap->control("status", &options, &reply, NULL), 0);
    pages_buf_bytes(&reply, "", 1);
    if (!strstr(reply.data, "\nsource: jemalloc\n")) T_FAIL("%s", reply.data);
}

TEST_MAIN()
