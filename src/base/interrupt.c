#include "base/interrupt.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum adaps_status ad_interrupt_init(struct ad_interrupt *interrupt, struct adaps_error *err)
{
    interrupt->given_up = 0;
    interrupt->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (interrupt->fd < 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "eventfd: %s", strerror(errno));
    return ADAPS_OK;
}

void ad_interrupt_fini(struct ad_interrupt *interrupt)
{
    if (interrupt->fd >= 0)
        close(interrupt->fd);
    interrupt->fd = -1;
}

void ad_interrupt_wake(struct ad_interrupt *interrupt)
{
    /* It fails only when the counter is full: then it is readable already. */
    (void)!eventfd_write(interrupt->fd, 1);
}

void ad_interrupt_cancel(struct ad_interrupt *interrupt)
{
    interrupt->given_up = 1;
    ad_interrupt_wake(interrupt);
}

void ad_interrupt_reset(struct ad_interrupt *interrupt)
{
    interrupt->given_up = 0;
}

bool ad_interrupt_woken(struct ad_interrupt *interrupt)
{
    eventfd_t count;
    return eventfd_read(interrupt->fd, &count) == 0;
}

bool ad_interrupt_cancelled(const struct ad_interrupt *interrupt)
{
    return interrupt->given_up != 0;
}
