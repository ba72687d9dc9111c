/*
 * zoo: writes well-known convolutional networks as ONNX files with seeded random weights, so that
 * benchmarks and tests need no download.
 *
 * Exit status: 0 done, 1 the file could not be written, 2 usage.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo_nets.h"

static void usage(FILE *to)
{
    fputs("usage: zoo NAME [-o FILE] [--seed N] [--no-bn]\n"
          "       zoo --list | --info\n"
          "\n"
          "Writes a network with seeded random weights as ONNX (opset 13, float32, batch 1).\n"
          "The same name, seed and options give the same bytes on every machine.\n"
          "\n"
          "  -o, --output FILE  where to write; - is standard output (NAME.onnx)\n"
          "  -s, --seed N       seed of the weights, 0 to 2^64-1 (1)\n"
          "      --no-bn        batch normalization folded into the convolutions\n"
          "  -l, --list         the names of the networks, one a line\n"
          "      --info         name, parameters, multiply-accumulates, nodes, input, output,\n"
          "                     source: a table\n"
          "  -h, --help         this text\n",
          to);
}

static void list(FILE *to)
{
    for (size_t i = 0; i < zoo_nets_count; i++)
        fprintf(to, "%s\n", zoo_nets[i].name);
}

/* "3x224x224", "3x16x112x112" with a depth, or "1000" for a flat value. */
static const char *shape(char text[40], const int s[3], int depth)
{
    if (depth)
        snprintf(text, 40, "%dx%dx%dx%d", s[0], depth, s[1], s[2]);
    else if (s[1])
        snprintf(text, 40, "%dx%dx%d", s[0], s[1], s[2]);
    else
        snprintf(text, 40, "%d", s[0]);
    return text;
}

static void info(const struct zoo_options *options)
{
    printf("%-12s %11s %12s %5s %-12s %-6s %s\n", "name", "parameters", "MACs", "nodes", "input",
           "output", "source");
    for (size_t i = 0; i < zoo_nets_count; i++) {
        struct zoo *z = zoo_build(&zoo_nets[i], options);
        struct zoo_totals t = zoo_get_totals(z);
        char in[40], out[40];

        printf("%-12s %11" PRIu64 " %12" PRIu64 " %5d %-12s %-6s %s\n", zoo_nets[i].name, t.params,
               t.macs, t.nodes, shape(in, t.input, t.depth), shape(out, t.output, 0), zoo_nets[i].source);
        zoo_free(z);
    }
}

/* Flushes standard output; the exit status. */
static int finish_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "zoo: standard output: %s\n", strerror(errno));
    return 1;
}

/* Writes the network to path; a file that could not be completed is removed. */
static int write_net(const struct zoo_net *net, const struct zoo_options *options, const char *path)
{
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *out = to_stdout ? stdout : fopen(path, "wb");
    struct zoo *z;
    int rc, err;

    if (!out) {
        fprintf(stderr, "zoo: %s: %s\n", path, strerror(errno));
        return 1;
    }
    z = zoo_build(net, options);
    rc = zoo_write(z, out);
    err = errno;
    zoo_free(z);
    if (to_stdout)
        return rc ? (fprintf(stderr, "zoo: standard output: %s\n", strerror(err)), 1)
                  : finish_stdout();
    if (fclose(out) != 0 && rc == 0) {
        rc = -1;
        err = errno;
    }
    if (rc != 0) {
        fprintf(stderr, "zoo: %s: %s\n", path, strerror(err));
        remove(path);
        return 1;
    }
    return 0;
}

static bool parse_seed(const char *text, uint64_t *seed)
{
    char *end;
    unsigned long long v;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    v = strtoull(text, &end, 10);
    if (errno || *end || v > UINT64_MAX)
        return false;
    *seed = v;
    return true;
}

static const struct zoo_net *find(const char *name)
{
    for (size_t i = 0; i < zoo_nets_count; i++)
        if (strcmp(zoo_nets[i].name, name) == 0)
            return &zoo_nets[i];
    return NULL;
}

int main(int argc, char **argv)
{
    enum { NO_BN = 256, INFO };
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 's'},
        {"no-bn", no_argument, NULL, NO_BN},
        {"list", no_argument, NULL, 'l'},
        {"info", no_argument, NULL, INFO},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct zoo_options options = {.seed = 1};
    const struct zoo_net *net;
    const char *path = NULL;
    char text[80];
    bool want_info = false;
    int c;

    while ((c = getopt_long(argc, argv, "o:s:lh", longs, NULL)) != -1) {
        switch (c) {
        case 'o':
            path = optarg;
            break;
        case 's':
            if (!parse_seed(optarg, &options.seed)) {
                fprintf(stderr, "zoo: seed \"%s\" is not an integer from 0 to 2^64-1\n", optarg);
                return 2;
            }
            break;
        case NO_BN:
            options.fold_bn = true;
            break;
        case 'l':
            list(stdout);
            return finish_stdout();
        case INFO:
            want_info = true;
            break;
        case 'h':
            usage(stdout);
            return finish_stdout();
        default:
            usage(stderr);
            return 2;
        }
    }
    if (want_info) {
        info(&options);
        return finish_stdout();
    }
    if (optind + 1 != argc) {
        usage(stderr);
        return 2;
    }
    net = find(argv[optind]);
    if (!net) {
        fprintf(stderr, "zoo: no network is called \"%s\"; there are:\n", argv[optind]);
        list(stderr);
        return 2;
    }
    snprintf(text, sizeof(text), "%s.onnx", net->name);
    return write_net(net, &options, path ? path : text);
}
