/*
 * The model driver's text: numbers in, names for handles, lines out. engine.c
 * has the commands. One thread, one world; state is static.
 */
#ifndef TESTS_MODEL_TEXT_H
#define TESTS_MODEL_TEXT_H
#include "../../net/portals/deliver.h"

#define PATTERN_BYTES  8192u

#define NAME_SPACES    3u

/* Forget all names. */
void names_reset(void);

/* Names and handles are now those of node `nid`'s process. */
void names_of(uint32_t nid);

/*
 * The handle of a name. Positive: the object that the step of this number made, or an unused handle
 * if it made none. 0: no handle. -1: all ones. Below: a forgery of the handle of name (-10 - n) /
 * 4, of four kinds.
 */
handle_t name_to_handle(int64_t name);

/* Give `handle` the name `name`; returns 0 if that handle was ever another object's, or is of
 * another kind. */
int name_set(int64_t name, handle_t handle, enum handle_kind kind);

/* Append to the line. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_number(uint64_t value);      /* " 123" */
void say_signed(int64_t value);
void say_handle(handle_t handle);     /* " NAME", or " ?hex" if it has none */
void say_args(const struct md_args *args);
void say_event(const struct event_head *head, const struct md_args *md, uint64_t hdr_data,
	       uint32_t link, uint32_t fail);
void say_message(const struct message *message);
void say_end(void);                   /* end of the line */
void say_flush(void);                 /* everything to standard output, now */

/* Fill in a message from 22 numbers; handles are names. */
void message_from(struct message *message, const uint64_t *numbers);

uint32_t crc_of(uint32_t crc, const void *bytes, uint64_t count);

/* The payload of messages: the same as in sequences.py. */
extern uint8_t pattern[PATTERN_BYTES];
void pattern_fill(void);

#endif
