/*
 * Target regions, which run here: there is no other device. Data is where it is.
 */
#include "gomp.h"

#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef void region(void *data);

#define KIND           0xff    /* of a mapping; its alignment's power of two is above */
#define FIRST_PRIVATE  0x0c    /* the region gets a copy */
#define HOST           0       /* the device's number: how many others there are */
#define NO_ROOM        INT_MAX /* what omp_target_memcpy_rect knows no limit of */

void GOMP_target(int device, region *run, const void *unused, size_t count, void **addresses,
                 size_t *bytes, unsigned char *kinds);
void GOMP_target_ext(int device, region *run, size_t count, void **addresses, size_t *bytes,
                     unsigned short *kinds, unsigned flags, void **depend, void **arguments);
void GOMP_target_data(int device, const void *unused, size_t count, void **addresses,
                      size_t *bytes, unsigned char *kinds);
void GOMP_target_data_ext(int device, size_t count, void **addresses, size_t *bytes,
                          unsigned short *kinds);
void GOMP_target_end_data(void);
void GOMP_target_update(int device, const void *unused, size_t count, void **addresses,
                        size_t *bytes, unsigned char *kinds);
void GOMP_target_update_ext(int device, size_t count, void **addresses, size_t *bytes,
                            unsigned short *kinds, unsigned flags, void **depend);
void GOMP_target_enter_exit_data(int device, size_t count, void **addresses, size_t *bytes,
                                 unsigned short *kinds, unsigned flags, void **depend);
void GOMP_offload_register(const void *table, int kind, const void *data);
void GOMP_offload_unregister(const void *table, int kind, const void *data);
void GOMP_offload_register_ver(unsigned version, const void *table, int kind, const void *data);
void GOMP_offload_unregister_ver(unsigned version, const void *table, int kind,
                                 const void *data);
void GOMP_taskwait_depend(void **depend);

/* As if it were the first region of a program. */
static void run_region(region *run, void *data)
{
	unsigned teams = gomp_teams, number = gomp_team_number;
	struct team team;

	gomp_enter(&team, 0);
	gomp_teams = 1;
	gomp_team_number = 0;
	run(data);
	gomp_wait_team();
	gomp_leave();
	gomp_teams = teams;
	gomp_team_number = number;
}

void GOMP_target(int device, region *run, const void *unused, size_t count, void **addresses,
                 size_t *bytes, unsigned char *kinds)
{
	(void)device, (void)unused, (void)count, (void)bytes, (void)kinds;
	run_region(run, addresses);
}

static void *copy_of(const void *from, size_t bytes, size_t alignment, void *memory)
{
	uintptr_t at = ((uintptr_t)memory + alignment - 1) & ~(alignment - 1);

	return memcpy((void *)at, from, bytes);
}

void GOMP_target_ext(int device, region *run, size_t count, void **addresses, size_t *bytes,
                     unsigned short *kinds, unsigned flags, void **depend, void **arguments)
{
	(void)device, (void)flags, (void)arguments;
	if (depend)
		GOMP_taskwait_depend(depend);
	for (size_t i = 0; i < count; i++)
		if ((kinds[i] & KIND) == FIRST_PRIVATE && addresses[i]) {
			size_t alignment = (size_t)1 << (kinds[i] >> 8);

			addresses[i] = copy_of(addresses[i], bytes[i], alignment,
					       alloca(bytes[i] + alignment));
		}
	run_region(run, addresses);
}

void GOMP_target_data(int device, const void *unused, size_t count, void **addresses,
                      size_t *bytes, unsigned char *kinds)
{
	(void)device, (void)unused, (void)count, (void)addresses, (void)bytes, (void)kinds;
}

void GOMP_target_data_ext(int device, size_t count, void **addresses, size_t *bytes,
                          unsigned short *kinds)
{
	(void)device, (void)count, (void)addresses, (void)bytes, (void)kinds;
}

void GOMP_target_end_data(void)
{
}

void GOMP_target_update(int device, const void *unused, size_t count, void **addresses,
                        size_t *bytes, unsigned char *kinds)
{
	(void)device, (void)unused, (void)count, (void)addresses, (void)bytes, (void)kinds;
}

void GOMP_target_update_ext(int device, size_t count, void **addresses, size_t *bytes,
                            unsigned short *kinds, unsigned flags, void **depend)
{
	(void)device, (void)count, (void)addresses, (void)bytes, (void)kinds, (void)flags;
	if (depend)
		GOMP_taskwait_depend(depend);
}

void GOMP_target_enter_exit_data(int device, size_t count, void **addresses, size_t *bytes,
                                 unsigned short *kinds, unsigned flags, void **depend)
{
	GOMP_target_update_ext(device, count, addresses, bytes, kinds, flags, depend);
}

void GOMP_offload_register(const void *table, int kind, const void *data)
{
	(void)table, (void)kind, (void)data;
}

void GOMP_offload_unregister(const void *table, int kind, const void *data)
{
	(void)table, (void)kind, (void)data;
}

void GOMP_offload_register_ver(unsigned version, const void *table, int kind, const void *data)
{
	(void)version, (void)table, (void)kind, (void)data;
}

void GOMP_offload_unregister_ver(unsigned version, const void *table, int kind,
                                 const void *data)
{
	(void)version, (void)table, (void)kind, (void)data;
}

/* ---- memory of devices ---- */

void *omp_target_alloc(size_t bytes, int device)
{
	return device == HOST ? malloc(bytes) : NULL;
}

void omp_target_free(void *memory, int device)
{
	if (device == HOST)
		free(memory);
}

int omp_target_is_present(const void *address, int device)
{
	(void)address;
	return device == HOST;
}

int omp_target_memcpy(void *to, const void *from, size_t bytes, size_t to_offset,
                      size_t from_offset, int to_device, int from_device)
{
	if (to_device != HOST || from_device != HOST)
		return EINVAL;
	memcpy((char *)to + to_offset, (const char *)from + from_offset, bytes);
	return 0;
}

static void copy_part(char *to, const char *from, size_t element, int dimensions,
                      const size_t *volume, const size_t *to_at, const size_t *from_at,
                      const size_t *to_size, const size_t *from_size)
{
	size_t to_row = element, from_row = element;

	for (int i = 1; i < dimensions; i++) {
		to_row *= to_size[i];
		from_row *= from_size[i];
	}
	to += to_at[0] * to_row;
	from += from_at[0] * from_row;
	if (dimensions == 1) {
		memcpy(to, from, volume[0] * element);
		return;
	}
	for (size_t i = 0; i < volume[0]; i++)
		copy_part(to + i * to_row, from + i * from_row, element, dimensions - 1, volume + 1,
			  to_at + 1, from_at + 1, to_size + 1, from_size + 1);
}

int omp_target_memcpy_rect(void *to, const void *from, size_t element, int dimensions,
                           const size_t *volume, const size_t *to_at, const size_t *from_at,
                           const size_t *to_size, const size_t *from_size, int to_device,
                           int from_device)
{
	if (!to && !from)
		return NO_ROOM;
	if (to_device != HOST || from_device != HOST || dimensions < 1)
		return EINVAL;
	copy_part(to, from, element, dimensions, volume, to_at, from_at, to_size, from_size);
	return 0;
}

int omp_target_associate_ptr(const void *address, const void *there, size_t bytes,
                             size_t offset, int device)
{
	(void)address, (void)there, (void)bytes, (void)offset, (void)device;
	return EINVAL;
}

int omp_target_disassociate_ptr(const void *address, int device)
{
	(void)address, (void)device;
	return EINVAL;
}
