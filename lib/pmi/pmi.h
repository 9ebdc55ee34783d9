/*
 * PMI, version 1: what a message library asks of the job that started it. Names
 * and values are those of MPICH and Slurm. This is the part that MPICH calls when it knows the
 * addresses of the ranks beforehand, as it does here.
 *
 * All answers come from what margay run has told this process (<margay.h>): only PMI_Barrier sends
 * messages or waits. Each call may be made anywhere in the application's one thread except in an
 * event handler. A call returns PMI_SUCCESS or an error: PMI_ERR_INIT before PMI_Init and after
 * PMI_Finalize (but not from PMI_Init, PMI_Initialized and PMI_Abort); PMI_ERR_INVALID_ARG for a
 * null pointer to a result. After an error no result is stored.
 *
 * The key-value space is read only: ranks never need to exchange keys.
 */
#ifndef PMI_H
#define PMI_H

#ifdef __cplusplus
extern "C" {
#endif

#define PMI_SUCCESS                 0
#define PMI_FAIL                    (-1)
#define PMI_ERR_INIT                1
#define PMI_ERR_NOMEM               2
#define PMI_ERR_INVALID_ARG         3
#define PMI_ERR_INVALID_KEY         4
#define PMI_ERR_INVALID_KEY_LENGTH  5
#define PMI_ERR_INVALID_VAL         6
#define PMI_ERR_INVALID_VAL_LENGTH  7
#define PMI_ERR_INVALID_LENGTH      8
#define PMI_ERR_INVALID_NUM_ARGS    9
#define PMI_ERR_INVALID_ARGS        10
#define PMI_ERR_INVALID_NUM_PARSED  11
#define PMI_ERR_INVALID_KEYVALP     12
#define PMI_ERR_INVALID_SIZE        13

typedef struct PMI_keyval_t {
	const char *key;
	char *val;
} PMI_keyval_t;

/*
 * This process takes part in the job from now on, and must call PMI_Finalize before it ends. If it
 * ends by exit, _exit or the return from main without that call, it prints a line with its rank,
 * and status 0 becomes 1. *spawned becomes 0: no process of a job was started by another. May be
 * called again, with no further effect. PMI_FAIL: there are no Portals.
 */
int PMI_Init(int *spawned);

/* *initialized: 1 between PMI_Init and PMI_Finalize, else 0. */
int PMI_Initialized(int *initialized);

/* From here on the process may end without a warning. */
int PMI_Finalize(void);

/* *size: the number of the job's processes. */
int PMI_Get_size(int *size);

/* *rank: this process, 0 to size - 1. */
int PMI_Get_rank(int *rank);

/* *size: the most processes that the job can have: as many as it has. */
int PMI_Get_universe_size(int *size);

/* *appnum: the number of this program in the job: 0, as there is only one. */
int PMI_Get_appnum(int *appnum);

/* Returns when every process of the job has called it as often as this one.
 * PMI_FAIL: one of them has died, was started again or cannot be reached. */
int PMI_Barrier(void);

/*
 * Ends the job: this process, and the others at once, wherever they are. The
 * status of margay run is exit_code & 255; it prints a line with this rank and that
 * status. error_msg is not printed: MPICH has done so. Open files of this process
 * are flushed first. Does not return.
 */
int PMI_Abort(int exit_code, const char error_msg[]);

/* The name of the key-value space. PMI_ERR_INVALID_LENGTH: the name does not fit
 * with its terminating 0. */
int PMI_KVS_Get_my_name(char kvsname[], int length);

/* *length: longest name, key or value in bytes, with its terminating 0. */
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length);
int PMI_KVS_Get_value_length_max(int *length);

/* Would publish the value to other processes. Always PMI_FAIL. */
int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]);

/* Would end a series of PMI_KVS_Put: PMI_SUCCESS, as there are none. */
int PMI_KVS_Commit(const char kvsname[]);

/*
 * The value of a key. The only key is "PMI_process_mapping": which process is on
 * which node, "(vector,(0,N,1))" for N nodes with one process each.
 * PMI_ERR_INVALID_ARG: no such space; PMI_ERR_INVALID_KEY: no such key;
 * PMI_ERR_INVALID_LENGTH: the value does not fit with its terminating 0.
 */
int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length);

/* Would start more processes. Always PMI_FAIL, after a line on standard error: the job has one node
 * for each of its processes. `errors`, if not null, gets PMI_FAIL for each. */
int PMI_Spawn_multiple(int count, const char *cmds[], const char **argvs[],
		       const int maxprocs[], const int info_keyval_sizes[],
		       const PMI_keyval_t *info_keyval_vectors[], int preput_keyval_size,
		       const PMI_keyval_t preput_keyval_vector[], int errors[]);

#ifdef __cplusplus
}
#endif
#endif
