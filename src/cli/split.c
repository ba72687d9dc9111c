/* adaps split: a model and a mapping in, a model for each key of the mapping out. */
#include "cli/dim_option.h"
#include "cli/plan_options.h"
#include "report/text.h"
#include "search/given/mapping_layout.h"
#include "split/split.h"

#include <stdio.h>

struct split_options {
    struct ad_pipeline_options passes;
    const char *folder;
    char assumed[AD_ASSUMED];
};

/* What is worth saying beside the files. */
static void tell(const struct ad_split *split, const char *folder)
{
    const struct ad_layer_mapping *m = split->mapping;
    char name[256];
    for (size_t i = 0; i < split->nundivided; i++)
        fprintf(stderr,
                "adaps split: '%s' has several keys, but cannot be divided: it is whole at the "
                "fastest of them\n",
                ad_text_clean(split->undivided[i], name, sizeof name));
    for (int k = 0; k < m->nkeys; k++) {
        const struct ad_sub_model *model = &split->models[k];
        printf("%s/%s.onnx: %zu nodes, %zu inputs, %zu outputs\n", folder,
               ad_text_clean(m->keys[k].name, name, sizeof name), model->nnodes, model->ninputs,
               model->noutputs);
    }
    printf("%s/sender.json, %s/receiver.json: %zu messages\n", folder, folder, split->nmessages);
}

static enum adaps_status split(const struct split_options *options, struct adaps_error *err)
{
    struct ad_pipeline_mapped mapped;
    struct ad_split made = {0};
    double speeds[AD_MAX_KEYS];
    enum adaps_status status = ad_pipeline_map(&options->passes, &mapped, err);
    if (status != ADAPS_OK)
        return status;
    ad_cli_assumed(&ad_command_split, options->assumed);
    enum ad_cost_class class = ad_cost_main_class(mapped.graph);
    for (int k = 0; k < mapped.mapping.nkeys; k++)
        speeds[k] = mapped.cluster.ndevices > 0
                        ? ad_mapping_key_speed(&mapped.mapping, k, class, &mapped.cluster)
                        : mapped.mapping.keys[k].ncores;
    status = ad_split_model(mapped.file, &mapped.facts, &mapped.mapping, speeds, &made, err);
    if (status == ADAPS_OK) {
        status = ad_split_write(&made, options->folder, err);
        if (status == ADAPS_OK)
            tell(&made, options->folder);
        ad_split_fini(&made);
    }
    ad_pipeline_mapped_fini(&mapped);
    return status;
}

static int run(int argc, char **argv)
{
    struct split_options options = {.passes = ad_plan_defaults()};
    struct ad_operands operands;
    struct ad_cli_config config;
    struct adaps_error err = {0};
    int code = ad_options_parse(&ad_command_split, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 1)
        return ad_cli_usage(&ad_command_split, "one MODEL expected, not %d", operands.count);
    if (!options.passes.mapping)
        return ad_cli_usage(&ad_command_split, "no mapping: name one with --mapping");
    if (!options.folder)
        return ad_cli_usage(&ad_command_split, "no folder: name one with -o");
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_split, &err);
    options.passes.assumed = options.assumed;
    options.passes.model = operands.count ? operands.items[0] : config.model;
    if (!options.passes.model)
        code = ad_cli_usage(&ad_command_split, "no model: name one here or in adaps.conf");
    else if (split(&options, &err) != ADAPS_OK)
        code = ad_cli_fail(&ad_command_split, &err);
    else
        code = ad_cli_close_stdout(&ad_command_split);
    ad_cli_config_fini(&config);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT(0, "mapping", "FILE", struct split_options, passes.mapping,
                "which key has which layers (AutoDiCE's JSON)"),
    AD_OPT_TEXT('o', "output", "DIR", struct split_options, folder, "write the files here"),
    AD_OPT_TEXT('d', "devices", "FILE", struct split_options, passes.devices,
                "how fast the keys' devices are, for layers of several keys\n"
                "(default: each core is as fast as any other)"),
    AD_OPT_TEXT(0, "platform", "FILE", struct split_options, passes.platform,
                "AutoDiCE's list of hosts: devices that the devices file lacks"),
    AD_OPT_DIM(struct split_options, passes.dims),
    AD_OPT_END,
};

const struct ad_command ad_command_split = {
    .name = "split",
    .arguments = "--mapping FILE -o DIR [OPTIONS] [MODEL.onnx]",
    .summary = "Write an ONNX file for each key of a mapping, and what they send one another.",
    .options = options_table,
    .notes = "The model is taken from adaps.conf of this folder when it is not given.\n",
    .run = run,
};
