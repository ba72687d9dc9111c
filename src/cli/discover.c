/* adaps discover: the agents in the local network, and which of them are in the devices file. */
#include "base/mem.h"
#include "cli/devices.h"
#include "cli/run_options.h"
#include "control/discover.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define ASK_S 3 /* for an answer of an agent that was just heard */

struct discover_options {
    const char *devices;
    double time_s;
    struct ad_session_options session;
    bool json;
};

/* An agent that was found, and what it says when it is asked. */
struct neighbour {
    const struct ad_found_agent *found;
    const struct ad_device *device; /* of the devices file; NULL: not paired */
    const struct ad_session_options *session;
    struct ad_device at; /* the same, where it was found */
    struct ad_agent_status answer;
    enum adaps_status status; /* of asking */
    bool asked;
    pthread_t thread;
};

static bool is_at(const struct ad_device *device, const struct ad_found_agent *found)
{
    char by_name[AD_ENDPOINT_BYTES];
    const char *colon = strrchr(found->address, ':');
    snprintf(by_name, sizeof by_name, "tcp://%.250s%s", found->host, colon ? colon : "");
    return strcmp(device->address, found->address) == 0 || strcmp(device->address, by_name) == 0;
}

/* The device that an agent is: by key, where both have one; else by address. */
static const struct ad_device *find_device(const struct ad_cluster *cluster,
                                           const struct ad_found_agent *found)
{
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_device *device = &cluster->devices[d];
        bool keys = device->key[0] && found->key[0];
        if (keys ? strcmp(device->key, found->key) == 0
                 : !device->key[0] && !found->key[0] && is_at(device, found))
            return device;
    }
    return NULL;
}

static void *ask(void *self)
{
    struct neighbour *n = self;
    struct adaps_error err; /* the column stays empty */
    n->status = ad_agent_query(&n->at, n->session, &n->answer, &err);
    return NULL;
}

/* Asks those that may let this side in, all at the same time. */
static void ask_all(struct neighbour *neighbours, int count)
{
    for (int i = 0; i < count; i++) {
        struct neighbour *n = &neighbours[i];
        n->status = ADAPS_EAGENT;
        if (!n->device && n->found->key[0])
            continue;
        snprintf(n->at.name, sizeof n->at.name, "%s", n->found->name);
        snprintf(n->at.address, sizeof n->at.address, "%s", n->found->address);
        snprintf(n->at.key, sizeof n->at.key, "%s", n->found->key);
        n->asked = pthread_create(&n->thread, NULL, ask, n) == 0;
    }
    for (int i = 0; i < count; i++)
        if (neighbours[i].asked)
            pthread_join(neighbours[i].thread, NULL);
}

static const char *state_of(const struct neighbour *n)
{
    return n->status != ADAPS_OK ? NULL : n->answer.busy ? "busy" : "idle";
}

static enum adaps_status print_table(const struct neighbour *neighbours, int count,
                                     struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"agent", false, true},  {"host", false, true},    {"address", false, true},
        {"board", false, false}, {"version", false, true}, {"state", false, false},
        {"load", true, false},   {"device", false, true},
    };
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < count; i++) {
        const struct neighbour *n = &neighbours[i];
        const char *state = state_of(n);
        ad_table_cell(&table, "%s", n->found->name);
        ad_table_cell(&table, "%s", n->found->host);
        ad_table_cell(&table, "%s", n->found->address);
        ad_table_cell(&table, "%s", n->found->board[0] ? n->found->board : "-");
        ad_table_cell(&table, "%s", n->found->version[0] ? n->found->version : "-");
        ad_table_cell(&table, "%s", state ? state : "-");
        if (state)
            ad_table_cell(&table, "%.2f", n->answer.load1);
        else
            ad_table_cell(&table, "-");
        ad_table_cell(&table, "%s", n->device ? n->device->name : "not paired");
    }
    enum adaps_status status = ad_table_print(&table, stdout, err);
    ad_table_fini(&table);
    return status;
}

static json_t *agent_json(const struct neighbour *n)
{
    const struct ad_found_agent *a = n->found;
    const char *state = state_of(n);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "name", ad_report_json_text(a->name),
        "host", ad_report_json_text(a->host), "address", ad_report_json_text(a->address), "board",
        a->board[0] ? ad_report_json_text(a->board) : json_null(), "version",
        a->version[0] ? ad_report_json_text(a->version) : json_null(), "key",
        a->key[0] ? ad_report_json_text(a->key) : json_null(), "paired", n->device != NULL,
        "device", n->device ? ad_report_json_text(n->device->name) : json_null(), "state",
        state ? json_string(state) : json_null(), "load",
        ad_report_json_number(state ? n->answer.load1 : NAN));
}

static int print_json(const struct neighbour *neighbours, int count)
{
    json_t *agents = json_array();
    for (int i = 0; i < count; i++)
        agents = ad_report_json_append(agents, agent_json(&neighbours[i]));
    return ad_cli_print_json(&ad_command_discover, json_pack("{s:o}", "agents", agents));
}

/* Devices that are elsewhere than the devices file says. */
static void tell_moved(const struct neighbour *neighbours, int count)
{
    for (int i = 0; i < count; i++) {
        const struct neighbour *n = &neighbours[i];
        char name[sizeof n->device->name], was[sizeof n->device->address];
        if (n->device && !is_at(n->device, n->found))
            fprintf(stderr, "adaps discover: %s is at %s now, the devices file has %s\n",
                    ad_text_clean(n->device->name, name, sizeof name), n->found->address,
                    n->device->address[0] ? ad_text_clean(n->device->address, was, sizeof was)
                                          : "no address");
    }
}

static int report(const struct ad_found_agents *found, const struct ad_cluster *cluster,
                  const struct discover_options *options)
{
    struct adaps_error err = {0};
    struct neighbour *neighbours = ad_calloc((size_t)found->count + 1, sizeof *neighbours);
    if (!neighbours) {
        ad_error_memory(&err, "discover", (size_t)found->count * sizeof *neighbours);
        return ad_cli_fail(&ad_command_discover, &err);
    }
    for (int i = 0; i < found->count; i++) {
        neighbours[i].found = &found->items[i];
        neighbours[i].device = find_device(cluster, &found->items[i]);
        neighbours[i].session = &options->session;
    }
    ask_all(neighbours, found->count);
    int code = ADAPS_OK;
    if (options->json)
        code = print_json(neighbours, found->count);
    else if (found->count == 0)
        fprintf(stderr, "adaps discover: nobody in this network says that it is an agent\n");
    else if (print_table(neighbours, found->count, &err) != ADAPS_OK)
        code = ad_cli_fail(&ad_command_discover, &err);
    else
        code = ad_cli_close_stdout(&ad_command_discover);
    tell_moved(neighbours, found->count);
    ad_free(neighbours);
    return code;
}

static int run_discover(int argc, char **argv)
{
    struct discover_options options = {.time_s = AD_DISCOVER_S, .session.deadline_s = ASK_S};
    struct ad_operands operands;
    struct ad_cli_devices devices;
    struct ad_cluster cluster = {0};
    struct ad_found_agents found;
    struct adaps_error err = {0};
    int code = ad_options_parse(&ad_command_discover, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 0)
        return ad_cli_usage(&ad_command_discover, "unexpected argument '%s'", operands.items[0]);
    enum adaps_status status = ad_cli_devices_load(options.devices, &cluster, &devices, &err);
    if (status != ADAPS_OK && status != ADAPS_EUSAGE) /* without any, nobody is paired */
        return ad_cli_fail(&ad_command_discover, &err);
    if (ad_discover(options.time_s, &found, &err) == ADAPS_OK) {
        code = report(&found, &cluster, &options);
        ad_found_agents_fini(&found);
    } else {
        code = ad_cli_fail(&ad_command_discover, &err);
    }
    ad_cluster_fini(&cluster);
    ad_cli_devices_fini(&devices);
    return code;
}

#define DISCOVER struct discover_options
static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", DISCOVER, devices,
                "the devices that count as paired (default: those of\n"
                "$ADAPS_DEVICES, of adaps.conf, or that were paired)"),
    AD_OPT_SECONDS("time", "TIME", DISCOVER, time_s, 0, 600, "2s",
                   "how long to listen (default: 2s)"),
    AD_OPT_TEXT(0, "key", "FILE", DISCOVER, session.key_file,
                "this side's key pair (adaps-keygen(1))"),
    AD_OPT_FLAG(0, "json", DISCOVER, json, "print the result as JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_discover = {
    .name = "discover",
    .arguments = "[OPTION...]",
    .summary = "List the agents in the local network.",
    .options = options_table,
    .run = run_discover,
};
