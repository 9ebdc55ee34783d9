/*
 * Watching a network card: see watch.h. Data: struct watch.
 */
#include "watch.h"

#include "kernel/console/console.h"

#define LOOK_NS    100000000UL     /* between looks at the card's state */
#define HANG_LOOKS 50u             /* looks without a frame gone: it hangs */
#define RETRY_NS   1000000000UL    /* between attempts to reset it */

__attribute__((noinline, cold))
void watch_say(struct watch *w, enum watch_report kind, const char *what)
{
	if (w->told >> kind & 1)
		return;
	w->told |= 1u << kind;
	console_line("card %u (%s): %s; reported once, counted always", w->card,
		     w->nic->ops->name, what);
}

void watch_trouble(struct watch *w, const char *what)
{
	if (!w->trouble)
		w->trouble = what;
}

void watch_nonsense(struct watch *w, const char *what)
{
	w->nic->counters[NIC_BAD_DESCRIPTORS]++;
	watch_trouble(w, what);
}

void watch_works(struct watch *w, bool link)
{
	w->link = link;
	w->trouble = 0;
	w->down = false;
	w->nic->silent &= (uint8_t)~NIC_FAILED;
	w->looks = 0;
	w->looked = 0;
	w->look_at = deadline_in(LOOK_NS);
}

void watch_reset(struct watch *w)
{
	if (w->trouble)
		watch_say(w, WATCH_RESET, w->trouble);
	w->nic->counters[NIC_RESETS]++;
	w->down = true;
}

void watch_failed(struct watch *w, const char *why)
{
	watch_say(w, WATCH_GONE, why);
	w->nic->silent |= NIC_FAILED;
	w->look_at = deadline_in(RETRY_NS);
}

void watch_look(struct watch *w, bool link, bool sending, uint32_t progress)
{
	bool had_link = w->link;

	w->look_at = deadline_in(LOOK_NS);
	w->link = link;
	if (had_link && !link) {
		w->nic->counters[NIC_LINK_LOSSES]++;
		watch_say(w, WATCH_LINK, "the link is down");
	}
	if (!sending || progress != w->looked)
		w->looks = 0;
	else if (++w->looks >= HANG_LOOKS)
		watch_trouble(w, "it has sent nothing for 5 s; it is reset");
	w->looked = progress;
}

void watch_drop_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
	(void)context, (void)frame, (void)bytes;
}

void watch_forget_send(void *context, uint64_t cookie)
{
	(void)context, (void)cookie;
}
