/* Unwind tables of aarch64 objects, on any machine: an object is assembled (clang), its .eh_frame becomes a
 * table, and the walk goes through a stack made by hand. */
#include <elf.h>
#include <stdlib.h>

#include "agent/hot/unwind.h"
#include "agent/unwind/cfi.h"

#include "../../t.h"

#define CODE   0x400000ul
#define FRAMES 0x500000ul
#define STACK  0x700000ul

static uint8_t *object;
static size_t n_object;
static const Elf64_Ehdr *header;

/* The source lies beside this file's, wherever the test is run from. */
static bool assemble(void)
{
    char command[1024], path[] = "/tmp/procprof-aarch64-XXXXXX";
    char source[512];
    snprintf(source, sizeof source, "%s", __FILE__);
    char *slash = strrchr(source, '/');
    snprintf(slash ? slash + 1 : source, 64, "frames_aarch64.s");
    int fd = mkstemp(path);
    if (fd < 0) return false;
    close(fd);
    snprintf(command, sizeof command, "clang --target=aarch64-linux-gnu -c -o %s %s 2>/dev/null", path,
             source);
    int status = system(command);
    FILE *f = status ? NULL : fopen(path, "rb");
    object = malloc(1 << 20);
    if (f) n_object = fread(object, 1, 1 << 20, f);
    if (f) fclose(f);
    unlink(path);
    header = (const Elf64_Ehdr *)(const void *)object;
    return n_object > sizeof *header && header->e_machine == EM_AARCH64;
}

static const Elf64_Shdr *section(const char *name)
{
    const Elf64_Shdr *all = (const Elf64_Shdr *)(const void *)(object + header->e_shoff);
    const char *names = (const char *)object + all[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (!strcmp(names + all[i].sh_name, name)) return &all[i];
    return NULL;
}

static struct cfi_table table;

/* What a linker does: the distance of each function from its entry. */
static void relocate(void)
{
    const Elf64_Shdr *frames = section(".eh_frame"), *relocations = section(".rela.eh_frame"),
                     *symbols = section(".symtab");
    REQUIRE(frames && relocations && symbols);
    const Elf64_Rela *r = (const Elf64_Rela *)(const void *)(object + relocations->sh_offset);
    const Elf64_Sym *s = (const Elf64_Sym *)(const void *)(object + symbols->sh_offset);
    for (size_t i = 0; i < relocations->sh_size / sizeof *r; i++) {
        REQUIRE(ELF64_R_TYPE(r[i].r_info) == R_AARCH64_PREL32);
        uint64_t target = CODE + s[ELF64_R_SYM(r[i].r_info)].st_value + (uint64_t)r[i].r_addend;
        int32_t distance = (int32_t)(target - (FRAMES + r[i].r_offset));
        memcpy(object + frames->sh_offset + r[i].r_offset, &distance, sizeof distance);
    }
}

static void build(void)
{
    if (!assemble()) SKIP("no clang that assembles for aarch64");
    relocate();
    const Elf64_Shdr *frames = section(".eh_frame"), *text = section(".text");
    struct cfi_section s = {
        .bytes = object + frames->sh_offset, .n_bytes = frames->sh_size, .address = FRAMES};
    struct err err = {0};
    if (cfi_build(&s, CFI_AARCH64, CODE, CODE + text->sh_size, &table, &err)) T_FAIL("%s", err.text);
    CHECK_INT(table.n_functions, 5);
}

static const struct unwind_rule *rule_at(unsigned offset)
{
    static _Alignas(16) char memory[sizeof(struct unwind_tables) + sizeof(struct unwind_module)];
    struct unwind_tables *t = (struct unwind_tables *)(void *)memory;
    t->n_modules = 1;
    t->modules[0] = table.module;
    return unwind_find_rule(t, CODE + offset);
}

static void check_rule(unsigned offset, unsigned cfa, int cfa_offset, unsigned ra, int ra_offset)
{
    const struct unwind_rule *r = rule_at(offset);
    if (r->cfa != cfa || r->cfa_offset != cfa_offset || r->ra != ra ||
        (ra == UNWIND_RA_AT_CFA && r->ra_offset != ra_offset))
        T_FAIL("at %u: cfa %u %+d, ra %u %+d; want %u %+d, %u %+d", offset, r->cfa, r->cfa_offset, r->ra,
               r->ra_offset, cfa, cfa_offset, ra, ra_offset);
}

TEST(rows_follow_the_prologue_and_the_epilogue)
{
    build();
    check_rule(0, UNWIND_CFA_SP, 0, UNWIND_RA_IN_LR, 0);
    check_rule(8, UNWIND_CFA_SP, 0, UNWIND_RA_IN_LR, 0);      /* nothing is saved yet */
    check_rule(12, UNWIND_CFA_SP, 32, UNWIND_RA_AT_CFA, -24); /* after stp */
    check_rule(16, UNWIND_CFA_FP, 32, UNWIND_RA_AT_CFA, -24); /* after mov */
    CHECK_INT(rule_at(16)->fp, UNWIND_FP_AT_CFA);
    CHECK_INT(rule_at(16)->fp_offset, -32);
    check_rule(24, UNWIND_CFA_SP, 0, UNWIND_RA_IN_LR, 0);     /* after ldp */
    check_rule(28, UNWIND_CFA_FP, 32, UNWIND_RA_AT_CFA, -24); /* the state that was remembered */
    check_rule(40, UNWIND_CFA_SP, 16, UNWIND_RA_AT_CFA, -16);
    check_rule(68, UNWIND_CFA_SP, 4160, UNWIND_RA_AT_CFA, -4112);
    CHECK_INT(rule_at(88)->cfa, UNWIND_CFA_END);
    CHECK_INT(rule_at(100)->cfa, UNWIND_CFA_NONE); /* behind the last function */
}

/* The table of build, and a stack whose first word has the address STACK. */
static struct unwind_source source_over(uint64_t *stack, size_t n_bytes)
{
    static _Alignas(16) char memory[sizeof(struct unwind_tables) + sizeof(struct unwind_module)];
    struct unwind_tables *t = (struct unwind_tables *)(void *)memory;
    t->n_modules = 1;
    t->modules[0] = table.module;
    return (struct unwind_source){
        .tables = t,
        .memory = {.lo = STACK, .hi = STACK + n_bytes, .shift = (intptr_t)((uintptr_t)stack - STACK)},
        .address_mask = ((uintptr_t)1 << 48) - 1};
}

/* first > large_frame > signed_ra > with_fp > leaf, interrupted in the last one. */
TEST(a_walk_goes_from_the_leaf_to_the_first_function)
{
    build();
    static uint64_t stack[1024];
    const uint64_t signature = 0x2a5c000000000000;
    uintptr_t sp = STACK; /* of leaf, and of with_fp, whose frame is 32 bytes */
    stack[0] = 0x1234;    /* with_fp's caller's x29 */
    stack[1] = CODE + 44;
    /* signed_ra's frame, 16 bytes, is behind it; then large_frame's of 4160 */
    stack[4] = signature | (CODE + 72);
    stack[(32 + 16 + 48) / 8] = CODE + 92;
    struct unwind_source source = source_over(stack, sizeof stack);
    struct unwind_registers r = {
        .pc = CODE + 4, .sp = sp, .fp = STACK, .lr = CODE + 20, .pc_is_exact = true, .lr_is_live = true};
    uintptr_t pcs[16];
    bool complete = false;
    unsigned n = unwind_walk(&source, &r, pcs, 16, &complete);
    const unsigned want[] = {4, 20, 44, 72, 92};
    CHECK_INT(n, 5);
    for (unsigned i = 0; i < n && i < 5; i++) CHECK_INT(pcs[i] - CODE, want[i]);
    CHECK(complete);
    CHECK_INT(r.fp, 0x1234);
}

/* A caller whose return address is said to be in the register: only a leaf's is. */
TEST(the_link_register_is_believed_once)
{
    build();
    static uint64_t stack[64];
    struct unwind_source source = source_over(stack, sizeof stack);
    struct unwind_registers r = {
        .pc = CODE, .sp = STACK, .lr = CODE + 4, .pc_is_exact = true, .lr_is_live = true};
    uintptr_t pcs[16];
    bool complete = true;
    CHECK_INT(unwind_walk(&source, &r, pcs, 16, &complete), 2);
    CHECK(!complete);
}

/* Only ERR_LIMIT makes the caller try again. */
TEST(more_code_than_a_table_describes_is_not_a_lack_of_memory)
{
    uint8_t none[1] = {0};
    struct cfi_section s = {.bytes = none, .n_bytes = sizeof none};
    struct cfi_table made;
    CHECK_INT(cfi_build(&s, CFI_AARCH64, CODE, CODE + ((uintptr_t)1 << 32), &made, NULL), ERR_UNSUPPORTED);
}

TEST_MAIN()
