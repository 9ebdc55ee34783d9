/*
 * The index of match entries: see index.h.
 */
#include "index.h"

void index_init(struct process_view *view)
{
	for (uint32_t i = 0; i < index_chains(view->limits.mes); i++)
		view->chains[i] = (struct chain){ 0, 0 };
}
