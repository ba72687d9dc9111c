/* The answer to PROFILE. */
#include "exec/agent/internal.h"

bool ad_agent_answer_profile(struct ad_agent *agent, struct ad_pending *to)
{
    struct ad_profile_times *times = &agent->worker.result.times;
    Adaps__Wire__Profiled m = ADAPS__WIRE__PROFILED__INIT;
    m.n_seconds = (size_t)agent->worker.result.ntasks;
    m.seconds = times->seconds;
    m.passes = (uint32_t)times->passes;
    m.pass_s = times->pass_s;
    m.spread = times->spread;
    m.speed = times->speed;
    m.feed_s = times->feed_s;
    m.fetch_s = times->fetch_s;
    m.bytes = times->bytes;
    m.n_encode = m.n_decode = AD_ENCODINGS;
    m.encode = times->encoding.encode;
    m.decode = times->encoding.decode;
    return ad_answer(&agent->router, &to->route, &to->frame, AD_FRAME_PROFILED, &m.base, NULL, 0);
}

void ad_agent_drop_profile(struct ad_agent *agent)
{
    ad_profile_times_fini(&agent->worker.result.times);
}
