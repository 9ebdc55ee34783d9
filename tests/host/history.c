/*
 * Records what threads did: see history.h.
 */
#include "history.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

void history_open(struct history *history, uint32_t thread, uint32_t room)
{
	*history = (struct history){ .steps = calloc(room, sizeof(struct step)), .room = room,
				     .thread = thread };
}

void history_close(struct history *history)
{
	free(history->steps);
}

void history_add(struct history *history, uint64_t number, const char *word,
		 const int64_t *values, uint32_t count)
{
	struct step *step = &history->steps[history->used];

	if (history->used == history->room || count > HISTORY_VALUES) {
		check_failed(__FILE__, __LINE__, "the history has room");
		abort();
	}
	history->used++;
	step->word = word;
	step->number = number;
	step->thread = history->thread;
	step->count = count;
	memcpy(step->values, values, count * sizeof(*values));
}

void history_write(const struct history *histories, uint32_t threads, const char *path)
{
	FILE *file = fopen(path, "w");

	CHECK(file != 0);
	for (uint32_t t = 0; file && t < threads; t++) {
		for (uint32_t i = 0; i < histories[t].used; i++) {
			const struct step *step = &histories[t].steps[i];

			fprintf(file, "%llu %u %s", (unsigned long long)step->number,
				step->thread, step->word);
			for (uint32_t v = 0; v < step->count; v++)
				fprintf(file, " %lld", (long long)step->values[v]);
			fputc('\n', file);
		}
	}
	if (file)
		CHECK_IS(fclose(file), 0);
}
