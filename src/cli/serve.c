/* adaps serve: answers Frigate's questions about what is in pictures. */
#include "base/mem.h"
#include "cli/metrics_option.h"
#include "cli/vision_options.h"
#include "report/text.h"
#include "serve/server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ASK_S 2 /* for an agent to say that it is there */

struct serve_command {
    struct ad_vision_command vision; /* first: its tables are used */
    const char *frigate;             /* where to listen */
    int ready_fd;                    /* -1: none */
};

/* The network of the server, on its agents or in this process. */
struct served_network {
    struct ad_vision_network network;
    struct ad_vision vision;
    struct ad_decoding decoding;
    bool *classes;
    struct ad_placement placement; /* pictures have the network's size */
};

static void fini(struct served_network *n)
{
    ad_free(n->classes);
    ad_vision_fini(&n->vision);
    ad_vision_network_fini(&n->network);
}

static enum adaps_status init(struct served_network *n, const struct serve_command *command,
                              struct adaps_error *err)
{
    const struct ad_vision_command *o = &command->vision;
    const struct ad_vision_options options = ad_vision_options_of(o, AD_VISION_DETECT);
    memset(n, 0, sizeof *n);
    enum adaps_status status =
        ad_vision_network_init(&n->network, &ad_command_serve, o->network, &o->place, err);
    if (status == ADAPS_OK)
        status = ad_vision_init(&n->vision, n->network.graph, &options, err);
    if (status == ADAPS_OK)
        status = ad_vision_decoding_of(o, &n->vision, &n->decoding, &n->classes, err);
    n->placement = (struct ad_placement){.width = n->vision.input.width,
                                         .height = n->vision.input.height,
                                         .scale_x = 1,
                                         .scale_y = 1};
    return status;
}

/* Whether all agents are there: opening a session waits much longer for one that is not. */
static enum adaps_status ask_agents(const struct ad_vision_network *network,
                                    struct adaps_error *err)
{
    const struct adaps_plan *plan = network->deployment.plan;
    struct ad_session_options options = network->deployment.session;
    enum adaps_status status = ADAPS_OK;
    options.deadline_s =
        options.deadline_s > 0 && options.deadline_s < ASK_S ? options.deadline_s : ASK_S;
    for (int d = 0; status == ADAPS_OK && d < plan->cluster.ndevices; d++) {
        struct ad_agent_status is;
        if (ad_deployment_works(plan, d))
            status = ad_agent_query(&plan->cluster.devices[d], &options, &is, err);
    }
    return status;
}

static enum adaps_status open_again(void *context, struct adaps_error *err)
{
    struct served_network *n = context;
    enum adaps_status status = n->network.local ? ADAPS_OK : ask_agents(&n->network, err);
    return status == ADAPS_OK ? ad_vision_network_open(&n->network, err) : status;
}

static void close_session(void *context)
{
    struct served_network *n = context;
    ad_vision_network_close(&n->network);
}

static enum adaps_status detect(void *context, struct ad_tensor *input, struct ad_detections *found,
                                struct adaps_error *err)
{
    struct served_network *n = context;
    enum adaps_status status = ad_vision_network_begin(&n->network, input, err);
    if (status == ADAPS_OK)
        status = ad_vision_network_finish(&n->network, err);
    return status == ADAPS_OK ? ad_head_decode(&n->vision.head, n->network.outputs, &n->placement,
                                               &n->decoding, found, err)
                              : status;
}

static void tell(void *context, const char *message)
{
    (void)context;
    char clean[1024];
    fprintf(stderr, "adaps serve: %s\n", ad_text_clean(message, clean, sizeof clean));
}

/* --- ending by a signal: who waits is still answered. The second one ends the program at once. */

static volatile sig_atomic_t stop_fd = -1;

static void on_signal(int signal)
{
    int kept = errno;
    uint64_t one = 1;
    (void)signal;
    ssize_t n = write(stop_fd, &one, sizeof one);
    (void)n;
    errno = kept;
}

static void catch_signals(int fd)
{
    const int signals[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    action.sa_handler = fd >= 0 ? on_signal : SIG_DFL;
    sigemptyset(&action.sa_mask);
    stop_fd = fd;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

static enum adaps_status tell_ready(const struct serve_command *command, const char *endpoint,
                                    struct adaps_error *err)
{
    char line[AD_ENDPOINT_BYTES + 1];
    int n = snprintf(line, sizeof line, "%s\n", endpoint);
    fprintf(stderr, "adaps serve: listening on %s\n", endpoint);
    if (command->ready_fd >= 0 && write(command->ready_fd, line, (size_t)n) != n)
        return ad_error_set(err, ADAPS_EUSAGE, "--ready-fd %d: %s", command->ready_fd,
                            strerror(errno));
    if (command->ready_fd >= 0)
        close(command->ready_fd); /* who waits for the end of file need not know of lines */
    return ADAPS_OK;
}

static void print_counts(const struct ad_server *server)
{
    const struct ad_server_counts counts = ad_server_counts(server);
    fprintf(stderr, "pictures answered: %llu, without an answer: %llu; requests refused: %llu\n",
            (unsigned long long)counts.answered, (unsigned long long)counts.failed,
            (unsigned long long)counts.refused);
}

/* Listens first, since that fails at once if it fails, then opens the session. */
static enum adaps_status serve(const struct serve_command *command, struct served_network *n,
                               int fd, struct adaps_error *err)
{
    const char *model = n->network.deployment.plan->model_path, *slash;
    const struct ad_server_options options = {
        .endpoint = command->frigate,
        .input = n->vision.input,
        .model = model && (slash = strrchr(model, '/')) ? slash + 1 : model,
        .place = {open_again, detect, close_session, n},
        .stop_fd = fd,
        .tell = tell};
    struct ad_server *server;
    enum adaps_status status = ad_server_new(&options, &server, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_vision_network_open(&n->network, err);
    if (status == ADAPS_OK)
        status = tell_ready(command, ad_server_endpoint(server), err);
    if (status == ADAPS_OK) {
        catch_signals(fd);
        status = ad_server_run(server, err);
        catch_signals(-1);
        print_counts(server);
    }
    ad_server_free(server);
    return status;
}

static enum adaps_status serve_all(const struct serve_command *command, struct adaps_error *err)
{
    struct served_network n;
    int fd = -1;
    enum adaps_status status = init(&n, command, err);
    if (status == ADAPS_OK && (fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        status = ad_error_set(err, ADAPS_EINTERNAL, "eventfd: %s", strerror(errno));
    if (status == ADAPS_OK)
        status = serve(command, &n, fd, err);
    if (fd >= 0)
        close(fd);
    fini(&n);
    return status;
}

static int run_serve(int argc, char **argv)
{
    struct serve_command command = {.vision = ad_vision_defaults(), .ready_fd = -1};
    const struct ad_vision_place *place = &command.vision.place;
    struct ad_operands operands;
    struct adaps_error err = {0};
    int code = ad_options_parse(&ad_command_serve, argc, argv, &command, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count != 1)
        return ad_cli_usage(&ad_command_serve, "one PLAN or MODEL expected");
    if (!command.frigate)
        return ad_cli_usage(&ad_command_serve, "--frigate ENDPOINT says where to listen");
    if (place->local && place->shared.devices)
        return ad_cli_usage(&ad_command_serve, "--devices and --local exclude each other");
    if (place->failover && place->local)
        return ad_cli_usage(&ad_command_serve, "--failover does not go with --local");
    command.vision.network = operands.items[0];
    enum adaps_status status = ad_server_check(command.frigate, &err);
    if (status == ADAPS_OK)
        status = serve_all(&command, &err);
    if (status == ADAPS_EUSAGE)
        return ad_cli_usage(&ad_command_serve, "%s", err.message);
    return status == ADAPS_OK ? ad_cli_close_stdout(&ad_command_serve)
                              : ad_cli_fail(&ad_command_serve, &err);
}

#define SERVE struct serve_command
static const struct ad_option options_table[] = {
    AD_OPT_TEXT(0, "frigate", "ENDPOINT", SERVE, frigate,
                "listen here to Frigate's detector zmq: ipc:///FILE or\n"
                "tcp://127.0.0.1:PORT, * for any port"),
    AD_OPT_GROUP(ad_vision_found_rows, SERVE, vision),
    AD_OPT_GROUP(ad_vision_network_rows, SERVE, vision),
    AD_OPT_GROUP(ad_deployment_option_rows, SERVE, vision.place.shared),
    AD_OPT_GROUP(ad_metrics_option_rows, SERVE, vision.place.shared.session),
    AD_OPT_INT("ready-fd", "N", SERVE, ready_fd, 0, 1 << 20,
               "write the address that it listens on to this descriptor"),
    AD_OPT_END,
};

const struct ad_command ad_command_serve = {
    .name = "serve",
    .arguments = "[OPTION...] --frigate ENDPOINT PLAN|MODEL",
    .summary = "Answer a video recorder's questions about what is in its pictures.",
    .options = options_table,
    .run = run_serve,
};
