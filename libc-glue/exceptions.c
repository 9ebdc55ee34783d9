/*
 * Functions that the unwinder of C++ and thread-local objects need from the C library. Each is
 * linked only into programs that use it; none belongs to C.
 */
#include <stdlib.h>

/* ---- the tables for unwinding ---- */

/* Glibc 2.35's layout: the compiler's unwinder was built with its headers. */
struct dl_find_object {
	unsigned long long flags;
	void *map_start, *map_end;
	void *link_map;
	void *eh_frame;                 /* the header of the tables */
	unsigned long long reserved[7];
};

/* From linker.ld; the header exists if the link has --eh-frame-hdr. */
extern char margay_app_start[], margay_app_text_end[];
extern char margay_eh_frame_hdr[], margay_eh_frame_hdr_end[];

int _dl_find_object(void *pc, struct dl_find_object *result);

/* The only object is the image. -1: `pc` is not in its text. */
int _dl_find_object(void *pc, struct dl_find_object *result)
{
	if ((char *)pc < margay_app_start || (char *)pc >= margay_app_text_end ||
	    &margay_eh_frame_hdr[0] == &margay_eh_frame_hdr_end[0])
		return -1;
	*result = (struct dl_find_object){
		.map_start = margay_app_start,
		.map_end = margay_app_text_end,
		.eh_frame = margay_eh_frame_hdr,
	};
	return 0;
}

/* Tells the compiler's libraries to use no atomic instructions. */
char __libc_single_threaded = 1;

/* ---- destructors of objects that belong to the thread ---- */

struct destructor {
	void (*function)(void *);
	void *object;
	struct destructor *next;
};

static struct destructor *destructors;  /* newest first */

int __cxa_thread_atexit_impl(void (*function)(void *), void *object, void *dso);
void __margay_thread_exit(void);

int __cxa_thread_atexit_impl(void (*function)(void *), void *object, void *dso)
{
	struct destructor *entry = malloc(sizeof *entry);

	(void)dso;
	if (!entry)
		return -1;
	*entry = (struct destructor){ function, object, destructors };
	destructors = entry;
	return 0;
}

/* exit() calls this before the functions of atexit (musl.sh). */
void __margay_thread_exit(void)
{
	while (destructors) {
		struct destructor *entry = destructors;

		destructors = entry->next;
		entry->function(entry->object);
		free(entry);
	}
}
