/* The passes, in order: see pipeline.c. */
#ifndef AD_PIPELINE_H
#define AD_PIPELINE_H

#include "cost/algorithm.h"
#include "import/import.h"
#include "plan/plan.h"
#include "search/given/mapping.h"
#include "search/pareto/pareto.h"
#include "search/strategies/compare.h"

struct ad_pipeline_options {
    const char *model;      /* ONNX file, or what messages call: */
    const void *model_data; /* its bytes in memory (compiling only); NULL: the file's */
    size_t model_size;
    struct ad_dim_bindings dims;      /* sizes of its symbolic dimensions */
    char *assumed;                    /* of those without, as in ad_import_options; or NULL */
    const char *devices;              /* devices file; NULL: one device, this machine */
    const struct ad_cluster *cluster; /* instead of the file (compiling a model only); or NULL */
    const char *strategy;             /* NULL = the default */
    const char *from;                 /* a plan file: where strategy dn2pciot starts; or NULL */
    const char *layout;               /* a file of a layout to follow instead; or NULL */
    const char *mapping;              /* a file of a mapping to follow instead; or NULL */
    const char *platform;      /* the mapping's platform file; or NULL: devices may be, then */
    double bandwidth;          /* bytes/s, < 0 = the file's */
    double latency;            /* seconds, < 0 = the file's */
    const double *corrections; /* times the devices' speeds, by device; NULL: none */
    double threshold;          /* ADaPS eq 3 */
    bool split_h, split_w, split_c;
    bool gather_type3;  /* see struct ad_search_problem */
    bool conv_direct;   /* no Winograd: cost/algorithm.h */
    bool input_f32;     /* pictures travel as float32 */
    unsigned encodings; /* that links may have besides float32 (search/problem.h) */
    bool late;          /* nothing is computed or sent ahead (search/problem.h) */
    enum ad_objective objective;
    int64_t interval_cap_ns; /* of a stream; 0: none */
    int64_t latency_cap_ns;  /* 0 = the objective's default (search/problem.h) */
    uint64_t seed;           /* what the search may take, as in struct ad_search_problem */
    int64_t evaluations, effort, time_limit_ns; /* 0 = no limit of one's own */
    bool spares; /* with plans for the loss of single devices: spare_plan.h */
    /* Of compiling: after each pass ("plan", done, of); NULL: nobody wants to know. */
    void (*progress)(void *self, const char *what, uint64_t done, uint64_t total);
    void *progress_self;
};

/* Model and devices in, plan out. Its graph has its weights attached: it keeps the model
 * file open. */
AD_MUST_CHECK enum adaps_status ad_pipeline_compile(const struct ad_pipeline_options *options,
                                                    struct adaps_plan **out,
                                                    struct adaps_error *err);

/* What a plan says of the search that found it, and of its problem. The result's strings are
 * borrowed, as are the model's path and the strategy's name. */
struct ad_provenance ad_pipeline_provenance(struct ad_search_result *result, const char *model_path,
                                            const struct ad_digest *model_digest,
                                            const char *strategy,
                                            const struct ad_search_problem *problem);

/* Every strategy on the model and the devices (options->strategy is not used). On success the
 * caller's (ad_pipeline_comparison_fini). */
struct ad_pipeline_comparison {
    struct ad_comparison *items;
    int count;
    struct ad_cluster cluster;
};
AD_MUST_CHECK enum adaps_status ad_pipeline_compare(const struct ad_pipeline_options *options,
                                                    struct ad_pipeline_comparison *out,
                                                    struct adaps_error *err);
void ad_pipeline_comparison_fini(struct ad_pipeline_comparison *comparison);

/* The Pareto front of a model on the devices (options->strategy and objective are not used). On
 * success the caller's (ad_pipeline_pareto_fini). */
struct ad_pipeline_pareto {
    struct ad_pareto front;
    struct ad_graph *graph; /* with its weights attached */
    struct ad_blocks blocks;
    struct ad_cluster cluster;
    struct ad_digest model_digest;
};
AD_MUST_CHECK enum adaps_status ad_pipeline_pareto(const struct ad_pipeline_options *options,
                                                   const struct ad_pareto_objectives *objectives,
                                                   struct ad_pipeline_pareto *out,
                                                   struct adaps_error *err);

/* A plan of the front, from 0, to be kept: takes over its schedule, so it can be had once. */
AD_MUST_CHECK enum adaps_status ad_pipeline_pareto_plan(const struct ad_pipeline_options *options,
                                                        struct ad_pipeline_pareto *pareto, int i,
                                                        struct adaps_plan **out,
                                                        struct adaps_error *err);
void ad_pipeline_pareto_fini(struct ad_pipeline_pareto *pareto);

/* Only the front: model -> verified graph and its blocks (adaps inspect). `import` may be NULL. */
AD_MUST_CHECK enum adaps_status ad_pipeline_front(const char *model,
                                                  const struct ad_import_options *import,
                                                  struct ad_graph **graph, struct ad_blocks *blocks,
                                                  struct ad_digest *model_digest,
                                                  struct adaps_error *err);

/* A model whose layers a mapping places, imported so that nodes of different keys stay apart, and
 * the devices that it names. */
struct ad_pipeline_mapped {
    struct ad_layer_mapping mapping;
    struct ad_onnx_model *file;
    struct ad_import_facts facts;
    struct ad_graph *graph;
    struct ad_cluster cluster;
};
/* Reads options->mapping and what belongs to it. Without devices and platform there is no cluster.
 * On success the caller's. */
AD_MUST_CHECK enum adaps_status ad_pipeline_map(const struct ad_pipeline_options *options,
                                                struct ad_pipeline_mapped *out,
                                                struct adaps_error *err);
void ad_pipeline_mapped_fini(struct ad_pipeline_mapped *mapped);

#endif
