/* A plugin of qemu-user (7.2, as in Debian 12): which blocks of instructions a program executes how
 * often, and what its loads and stores would miss in a cache. For bench/arm/judge.
 *
 *   qemu-aarch64 -plugin blocks.so,out=FILE[,l1=BYTES:WAYS,l2=BYTES:WAYS] PROGRAM
 *
 * The program says where parts of it end, by the system call getppid with an argument: what came
 * before is written to FILE under this number, and counting begins again. FILE has these lines:
 *
 *   block ADDRESS WORD...      instructions of a block, in hexadecimal; before it is counted
 *   count ADDRESS TIMES        executions of it
 *   part NUMBER L1 L2          the counts above are of this part; lines that were not in the cache
 *
 * Prefetches are not seen. Caches evict what was not used for longest; the second level has what
 * the first one misses. One thread. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64
#define GETPPID 173 /* of aarch64 */
#define EXPORT __attribute__((visibility("default")))

/* --- what qemu offers (its header is in no package) --- */

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void tb_function(plugin_id, struct qemu_plugin_tb *);
typedef void memory_function(unsigned, uint32_t, uint64_t, void *);
typedef void syscall_function(plugin_id, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                              uint64_t, uint64_t, uint64_t, uint64_t);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, tb_function *);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id, syscall_function *);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int op, void *, uint64_t);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, memory_function *, int flags,
                                      int reads_writes, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
unsigned qemu_plugin_mem_size_shift(uint32_t);
EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);
int qemu_plugin_version = 1;

/* --- caches --- */

struct cache {
    uint64_t *lines; /* by set and way, the latest first; 0: none */
    uint64_t sets, ways, misses;
};

static struct cache l1, l2;

static bool is_cached(struct cache *c, uint64_t line)
{
    uint64_t *set = c->lines + line % c->sets * c->ways, i = 0;
    while (i < c->ways - 1 && set[i] != line)
        i++;
    bool there = set[i] == line;
    memmove(set + 1, set, i * sizeof *set);
    set[0] = line;
    c->misses += !there;
    return there;
}

static void on_memory(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu, (void)data;
    uint64_t last = (address + (1u << qemu_plugin_mem_size_shift(info)) - 1) / LINE;
    for (uint64_t line = address / LINE; line <= last; line++)
        if (!is_cached(&l1, line))
            is_cached(&l2, line);
}

/* text: BYTES:WAYS */
static bool make_cache(struct cache *c, const char *text)
{
    uint64_t bytes;
    if (sscanf(text, "%" SCNu64 ":%" SCNu64, &bytes, &c->ways) != 2 || c->ways == 0)
        return false;
    c->sets = bytes / LINE / c->ways;
    c->lines = c->sets ? calloc(c->sets * c->ways, sizeof *c->lines) : NULL;
    return c->lines;
}

/* --- blocks --- */

struct block {
    struct block *next;
    uint64_t address, times;
    size_t count;
    bool written;
    uint32_t words[];
};

static struct block *blocks;
static FILE *out;

static void on_translation(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(tb);
    struct block *b = calloc(1, sizeof *b + n * sizeof *b->words);
    if (!b)
        abort();
    b->address = qemu_plugin_tb_vaddr(tb);
    b->count = n;
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        memcpy(&b->words[i], qemu_plugin_insn_data(insn), sizeof b->words[i]);
        if (l1.lines)
            qemu_plugin_register_vcpu_mem_cb(insn, on_memory, 0, 3, NULL);
    }
    b->next = blocks;
    blocks = b;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &b->times, 1);
}

static void on_syscall(plugin_id id, unsigned cpu, int64_t number, uint64_t part, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)cpu, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number != GETPPID)
        return;
    for (struct block *b = blocks; b; b = b->next) {
        if (b->times > 0 && !b->written) {
            fprintf(out, "block %" PRIx64, b->address);
            for (size_t i = 0; i < b->count; i++)
                fprintf(out, " %08" PRIx32, b->words[i]);
            putc('\n', out);
            b->written = true;
        }
        if (b->times > 0)
            fprintf(out, "count %" PRIx64 " %" PRIu64 "\n", b->address, b->times);
        b->times = 0;
    }
    fprintf(out, "part %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", part, l1.misses, l2.misses);
    l1.misses = l2.misses = 0;
    fflush(out);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        bool good = true;
        if (strncmp(argv[i], "out=", 4) == 0)
            good = (out = fopen(argv[i] + 4, "we")) != NULL;
        else if (strncmp(argv[i], "l1=", 3) == 0)
            good = make_cache(&l1, argv[i] + 3);
        else if (strncmp(argv[i], "l2=", 3) == 0)
            good = make_cache(&l2, argv[i] + 3);
        if (!good)
            return 1;
    }
    if (!out || !l1.lines != !l2.lines)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    return 0;
}
