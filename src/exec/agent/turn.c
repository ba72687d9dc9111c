/* Whose turn it is: an agent serves one controller at a time. Another one is told who is served; if
 * it likes to wait, it is the next, after those who came before it. */
#include "base/clock.h"
#include "exec/agent/internal.h"

#include <string.h>

#define IDLE_S 60.0 /* unless the agent's options say */
#define SILENCE_NS ((int64_t)3000000000)
#define KEPT_NS ((int64_t)5000000000) /* for a controller that changes its plan */
#define KEY_SHOWN 8                   /* letters that tell keys apart */

/* Whether the session does nothing, and has done nothing for as long as it may. One that is opened
 * on other agents still, where its controller may be waiting, is in use as long as that is heard.
 */
static bool idle_for_long(const struct ad_agent *agent, int64_t now)
{
    const struct ad_agent_session *session = &agent->session;
    double most_s = agent->options->idle_timeout_s;
    bool opening = !session->ready && now - session->heard_ns < SILENCE_NS;
    return session->open && !session->ending && ad_worker_idle(&agent->worker) &&
           session->queued == 0 && !session->job.set && !opening &&
           (double)(now - session->used_ns) >= (most_s > 0 ? most_s : IDLE_S) * 1e9;
}

/* Keeps a request until the present session has ended. */
static void keep_next(struct ad_agent *agent, struct ad_wire_message *message)
{
    struct ad_wire_message *next = &agent->next;
    zmq_msg_move(&next->route, &message->route);
    zmq_msg_move(&next->body, &message->body);
    zmq_msg_move(&next->raw, &message->raw);
    next->frame = message->frame;
    next->fd = message->fd;
    memcpy(next->user, message->user, sizeof next->user);
    agent->has_next = true;
}

/* Who is served, or why nobody is. */
static void say_why(const struct ad_agent *agent, int before, int64_t now, struct adaps_error *err)
{
    const struct ad_agent_session *session = &agent->session;
    char key[KEY_SHOWN + 16] = "without keys", others[60] = "";
    if (session->user[0])
        snprintf(key, sizeof key, "key %.*s...", KEY_SHOWN, session->user);
    if (before > 0)
        snprintf(others, sizeof others, "; %d other%s in line before this one", before,
                 before == 1 ? "" : "s");
    if (session->open)
        ad_error_set(err, ADAPS_EAGENT,
                     "busy: it has been in a session of the controller at %s (%s) for %.0f s%s",
                     ad_visitors_address(&agent->visitors, session->fd), key,
                     (double)(now - session->begun_ns) / 1e9, others);
    else if (now < agent->kept_until_ns)
        ad_error_set(err, ADAPS_EAGENT, "busy: its controller changes the plan%s", others);
    else if (before > 0)
        ad_error_set(err, ADAPS_EAGENT, "busy: %d controller%s in line before this one", before,
                     before == 1 ? " is" : "s are");
    else
        ad_error_set(err, ADAPS_EAGENT, "busy: it ends a session");
}

enum adaps_status ad_agent_take_turn(struct ad_agent *agent, struct ad_wire_message *message,
                                     bool wait, uint64_t after, struct adaps_error *err)
{
    struct ad_line *line = &agent->line;
    int64_t now = ad_clock_ns();
    if (message->frame.session == 0)
        return ad_error_set(err, ADAPS_EAGENT, "a session without a number");
    ad_line_refresh(line, now);
    int place = wait ? ad_line_ask(line, message->fd, now) : ad_line_place(line, message->fd);
    int before = place >= 0 ? place : line->count;
    if (before == 0 && idle_for_long(agent, now) && !agent->has_next) {
        keep_next(agent, message);
        ad_agent_end_session(agent, "it was idle, and another is asked for");
        return ADAPS_NO;
    }
    bool kept = now < agent->kept_until_ns;
    bool mine = kept ? after == agent->kept_for : before == 0;
    if (!agent->session.open && ad_worker_idle(&agent->worker) && mine) {
        ad_line_leave(line, message->fd);
        agent->kept_until_ns = 0;
        return ADAPS_OK;
    }
    ad_agent_call_controller(agent);
    say_why(agent, before, now, err);
    ad_answer_busy(&agent->router, &message->route, &message->frame, err,
                   (uint32_t)before + (agent->session.open || before == 0));
    return ADAPS_NO;
}

void ad_agent_keep_for(struct ad_agent *agent, uint64_t session)
{
    agent->kept_for = session;
    agent->kept_until_ns = ad_clock_ns() + KEPT_NS;
}
