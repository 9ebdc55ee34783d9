/*
 * vrpc_dir FOLDER: lists a folder of rank 0 from all others, like the example in Sun's manual. The
 * server's main is rpcgen's, renamed; the last client ends it.
 */
#include "dir.h"
#include "vmmc_test.h"

#include <dirent.h>
#include <errno.h>
#include <vrpc.h>

int dir_server(int argc, char **argv);

static readdir_res *list(nametype *name)
{
	static readdir_res result;
	namelist *end = &result.readdir_res_u.list;
	struct dirent *entry;
	DIR *folder;

	xdr_free((xdrproc_t)xdr_readdir_res, (char *)&result);
	folder = opendir(*name);
	if (!folder) {
		result.error = errno;
		return &result;
	}
	result.error = 0;
	while ((entry = readdir(folder))) {
		*end = malloc(sizeof **end);
		CHECK(*end);
		(*end)->name = strdup(entry->d_name);
		end = &(*end)->next;
	}
	*end = NULL;
	closedir(folder);
	return &result;
}

readdir_res *readdir_1_svc(nametype *name, struct svc_req *request)
{
	static int calls;

	(void)request;
	if (!strcmp(*name, "end") && ++calls == margay_size() - 1)
		svc_exit();
	return list(name);
}

int main(int argc, char **argv)
{
	nametype name = argc > 1 ? argv[1] : "/", none = "/not/there", end = "end";
	readdir_res *result;
	CLIENT *client;
	int count = 0;

	if (margay_rank() == 0)
		return dir_server(argc, argv);
	client = clnt_create("0", DIRPROG, DIRVERS, "tcp");
	if (!client) {
		clnt_pcreateerror("0");
		return 1;
	}
	result = readdir_1(&none, client);
	CHECK(result && result->error == ENOENT);
	result = readdir_1(&name, client);
	if (!result) {
		clnt_perror(client, "0");
		return 1;
	}
	EQUAL(result->error, 0);
	for (namelist entry = result->readdir_res_u.list; entry; entry = entry->next, count++)
		if (margay_rank() == 1)
			printf("%s\n", entry->name);
	CHECK(count > 1);
	CHECK(readdir_1(&end, client));
	clnt_destroy(client);
	return 0;
}
