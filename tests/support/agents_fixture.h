/* Agents on loopback for tests: children of the test, each with a cache of its own in a temporary
 * folder. They die with the test. Failures end the test through Check. */
#ifndef TESTS_AGENTS_FIXTURE_H
#define TESTS_AGENTS_FIXTURE_H

#include "exec/agent/agent.h"
#include "control/session.h"

#include <sys/types.h>

#define AD_TESTBED_AGENTS 4

struct ad_testbed {
    char dir[256];
    const char *speed_after[AD_TESTBED_AGENTS]; /* as in struct ad_agent_options; before starting */
    int n;
    pid_t pid[AD_TESTBED_AGENTS]; /* 0 = no more */
    char address[AD_TESTBED_AGENTS][128];
};

/* An empty temporary folder, before any agent. */
void ad_testbed_init(struct ad_testbed *testbed);

/* Starts n agents agent0, agent1, ... ; `options` (NULL = defaults) gives all but name, cache_dir
 * and ready_fd; listen, if it is NULL, is any port of 127.0.0.1. Must not be called while this
 * process has a ZeroMQ context. */
void ad_testbed_start(struct ad_testbed *testbed, int n, const struct ad_agent_options *options);

/* Ends the agents that are left, which must exit with 0, and removes the folder. */
void ad_testbed_fini(struct ad_testbed *testbed);

/* Kills an agent and waits for its end. */
void ad_testbed_kill(struct ad_testbed *testbed, int agent);

/* Makes *plan one whose devices have the agents' addresses. */
void ad_testbed_address(const struct ad_testbed *testbed, struct adaps_plan **plan);

/* The path of a file of the testbed: static buffer, good until the next call. */
const char *ad_testbed_path(const struct ad_testbed *testbed, const char *name);

/* Processor time that an agent has used, ns. */
int64_t ad_testbed_cpu_ns(const struct ad_testbed *testbed, int agent);

/* Returns when an agent has used `more` ns of processor time since it had used `before`. */
void ad_testbed_await_work(const struct ad_testbed *testbed, int agent, int64_t before,
                           int64_t more);

/* Pushes a plan with attached weights. Returns how many bytes of weights were sent. */
uint64_t ad_testbed_push(const struct adaps_plan *plan);

/* Random input tensors of a plan (pictures if it takes any and the seed is even), and the answer of
 * a single device. The caller frees both. */
struct ad_tensor *ad_testbed_inputs(const struct adaps_plan *plan, uint64_t seed);
struct ad_tensor *ad_testbed_reference(const struct adaps_plan *plan,
                                       const struct ad_tensor *inputs);
void ad_testbed_tensors_free(struct ad_tensor *tensors, int n);

/* Compares outputs with the reference for the inputs of this seed, bit for bit, and frees them. */
void ad_testbed_check_outputs(const struct adaps_plan *plan, uint64_t seed,
                              struct ad_tensor *outputs);
void ad_testbed_check_run(struct ad_session *session, const struct adaps_plan *plan, uint64_t seed);

/* A chain of `layers` 3x3 convolutions, size x size x channels, in bands on n devices. */
struct adaps_plan *ad_testbed_heavy_plan(int n, int layers, int size, int channels);

/* The same network and devices for a stream. */
struct adaps_plan *ad_testbed_heavy_stream(int n, int layers, int size, int channels,
                                           const char *strategy);

#endif
