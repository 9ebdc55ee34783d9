/*
 * Shared by the two halves of the model driver, engine.c and messages.c.
 */
#ifndef TESTS_MODEL_ENGINE_H
#define TESTS_MODEL_ENGINE_H
#include "../../net/portals/process.h"

#define PROCESSES  2u

struct command {
	const char *word;         /* null ends a list of commands */
	void (*run)(struct process_view *view, const uint64_t *numbers);
};

extern struct process_view views[PROCESSES];
extern const struct command message_commands[];

/* Forget all messages. */
void messages_reset(void);

/* Name a new object; reports a handle that is not new. */
void named(int64_t name, handle_t handle, enum handle_kind kind);

#endif
