/* Functions of SQL's by which a test takes memory away from the process that runs it. */

#define _GNU_SOURCE
#include "postgres.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 170000
#include "utils/memutils_internal.h"
#endif

PG_MODULE_MAGIC;

/* limit_memory(bytes): the process may have so much address space more than it has now; null: as much as there is. */
PG_FUNCTION_INFO_V1(limit_memory);
Datum
limit_memory(PG_FUNCTION_ARGS)
{
	struct rlimit limit;
	unsigned long pages;
	FILE *file;

	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (!PG_ARGISNULL(0))
	{
		file = fopen("/proc/self/statm", "r");
		if (file == NULL || fscanf(file, "%lu", &pages) != 1)
			elog(ERROR, "the size of the process cannot be read");
		fclose(file);
		limit.rlim_cur = pages * sysconf(_SC_PAGESIZE) + PG_GETARG_INT64(0);
	}
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		elog(ERROR, "setrlimit: %m");
	PG_RETURN_VOID();
}

/* Where PostgreSQL itself does not bear that an allocation fails and the process goes on: a lock whose owners it has no memory
 * to note crashes it when it is taken again; an error at the begin of a subtransaction ends it from 17 on. */
static const char *const exempt[] = {"LockAcquireExtended", "BeginInternalSubTransaction"};

static bool
is_exempt(void)
{
	void	   *frames[64];
	int			count = backtrace(frames, lengthof(frames));
	Dl_info		function;

	for (int i = 0; i < count; i++)
		for (int j = 0; j < lengthof(exempt); j++)
			if (dladdr(frames[i], &function) != 0 && function.dli_sname != NULL &&
				strcmp(function.dli_sname, exempt[j]) == 0)
				return true;
	return false;
}

/* How many allocations succeed before the next one fails; below 0: all succeed. */
static int64 remaining = -1;

static bool
fails(void)
{
	/* What PostgreSQL does at the ends of transactions and in critical sections is its own to get right. */
	if (remaining < 0 || !IsTransactionState() || CritSectionCount > 0 || proc_exit_inprogress)
		return false;
	if (remaining > 0)
		remaining--;
	else if (!is_exempt())
	{
		remaining = -1;
		return true;
	}
	return false;
}

#if PG_VERSION_NUM < 170000
static void *(*allocate)(MemoryContext, Size);

static void *
may_fail(MemoryContext context, Size size)
{
	return fails() ? NULL : allocate(context, size);
}
#else
static void *(*allocate)(MemoryContext, Size, int);

static void *
may_fail(MemoryContext context, Size size, int flags)
{
	return fails() ? MemoryContextAllocationFailure(context, size, flags) : allocate(context, size, flags);
}
#endif

/* fail_allocation(n): of what PostgreSQL allocates in this process from now on, the piece after n others fails, once. */
PG_FUNCTION_INFO_V1(fail_allocation);
Datum
fail_allocation(PG_FUNCTION_ARGS)
{
	if (allocate == NULL)
	{
		MemoryContextMethods *methods = (MemoryContextMethods *) TopMemoryContext->methods;
		uintptr_t	page = sysconf(_SC_PAGESIZE);
		uintptr_t	begin = (uintptr_t) methods & ~(page - 1);

		if (mprotect((void *) begin, (uintptr_t) (methods + 1) - begin, PROT_READ | PROT_WRITE) != 0)
			elog(ERROR, "mprotect: %m");
		allocate = methods->alloc;
		methods->alloc = may_fail;
	}
	remaining = PG_GETARG_INT64(0);
	PG_RETURN_VOID();
}
