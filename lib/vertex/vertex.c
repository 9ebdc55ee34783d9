/*
 * Vertex by NX: each call is one of nx.h's with an underscore. See vertex.h. Called by the
 * application's one thread.
 */
#include <errno.h>
#include <nx.h>
#include <stddef.h>
#include <vertex.h>

static int result(int error)
{
	errno = error;
	return -1;
}

void whoami(int *node, int *proc, int *host, int *dim)
{
	int dimension = 0;

	while (1L << dimension < numnodes())
		dimension++;
	if (node)
		*node = (int)mynode();
	if (proc)
		*proc = 0;
	if (host)
		*host = -1;
	if (dim)
		*dim = dimension;
}

int nwrite(const void *buf, int length, int dest, int type, int *flag)
{
	(void)flag;
	if (type < 0 || type >= VERTEX_TYPES)
		return result(EQTYPE);
	if (dest < 0)
		return result(EQNODE);
	return _csend(type, buf, length, dest == VERTEX_ALL ? -1 : dest, 0);
}

/* Checks the source and type of a receive or test: 0 or EQ*. */
static int check(const int *src, const int *type)
{
	if (!src || !type)
		return EQPBUF;
	return *type < -1 || *type >= VERTEX_TYPES ? EQTYPE : 0;
}

int nread(void *buf, int length, int *src, int *type, int *flag)
{
	int error = check(src, type);
	long info[8];

	(void)flag;
	if (error)
		return result(error);
	if (_crecvx(*type, buf, length, *src, -1, info) < 0 && errno != EQMSGLONG)
		return -1;
	*type = (int)info[0];
	*src = (int)info[2];
	return info[1] < length ? (int)info[1] : length;
}

int ntest(int *src, int *type)
{
	int error = check(src, type);
	long info[8], found;

	if (error)
		return result(error);
	found = _iprobex(*type, *src, -1, info);
	if (found <= 0)
		return found < 0 ? -1 : result(EAGAIN);
	*type = (int)info[0];
	*src = (int)info[2];
	return (int)info[1];
}
