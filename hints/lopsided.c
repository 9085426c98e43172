/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lopsided.h"
#include "channel.h"
#include "record.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINNING, SEQUENTIAL, LOCK_HOLDER, BACKGROUND, NR_FLAGS };
_Static_assert(LOP_HINT_SPINNING == 1 << SPINNING && LOP_HINT_SEQUENTIAL == 1 << SEQUENTIAL &&
	LOP_HINT_LOCK_HOLDER == 1 << LOCK_HOLDER && LOP_HINT_BACKGROUND == 1 << BACKGROUND, "a flag's number is its bit");

/* What a thread knows of itself. Flags are kept here, so that a record is only ever written, and nobody's writing misleads. */
struct self {
	struct lop_hint_record *record; /* NULL: it has none */
	bool asked;                     /* for a record */
	unsigned int flags;
	unsigned int depth[NR_FLAGS];   /* begins without their ends */
};
static _Thread_local struct self self __attribute__((tls_model("initial-exec")));

/* The memory of this process. Written by the first thread that calls, under the lock. */
static struct {
	bool asked;                    /* for memory */
	int channel;
	struct lop_hint_page *page;    /* NULL: nobody listens */
	size_t bytes;
	unsigned int nr_records;       /* copies: others may write to the page */
	unsigned int probes;
	bool has_key;
	pthread_key_t at_end;          /* set for threads that have a record */
	unsigned int handed_on;        /* to a child that is being forked: its parent's page says so no longer when it looks */
} own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_word(unsigned int *word, unsigned int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* The record is free before the key's destructor returns, and is never taken again by a thread that ends. */
static void give_back(void *unused)
{
	struct lop_hint_record *record = self.record;

	(void)unused;
	self.record = NULL;
	if (!record)
		return;
	__atomic_store_n(&record->version, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&record->thread, 0, __ATOMIC_RELEASE);
}

/* Reads the header into `own`. False: it is not one that this library knows. */
static bool knows(const struct lop_hint_page *header)
{
	own.nr_records = header->nr_records;
	own.probes = header->probes;
	own.bytes = ((size_t)own.nr_records + 1) * sizeof(struct lop_hint_record);
	return header->magic == LOP_HINT_MAGIC && header->version >= LOP_HINT_VERSION &&
	       header->record_bytes == sizeof(struct lop_hint_record) && own.nr_records && own.probes <= own.nr_records;
}

/* Maps the page of the channel. The kernel refuses to map more of a map than there is; of a file it would not. */
static bool map(int channel)
{
	struct lop_hint_page *header;
	struct stat stat;
	bool known;

	if (fstat(channel, &stat) != 0 || (S_ISREG(stat.st_mode) && stat.st_size < (off_t)sizeof(*header)))
		return false;
	header = mmap(NULL, sizeof(*header), PROT_READ, MAP_SHARED, channel, 0);
	if (header == MAP_FAILED)
		return false;
	known = knows(header) && (!S_ISREG(stat.st_mode) || (size_t)stat.st_size >= own.bytes);
	munmap(header, sizeof(*header));
	if (!known)
		return false;
	header = mmap(NULL, own.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, channel, 0);
	own.page = header == MAP_FAILED ? NULL : header;
	return own.page;
}

static void open_page(void)
{
	own.asked = true;
	own.channel = lop_channel();
	if (own.channel < 0)
		return;
	own.has_key = own.has_key || pthread_key_create(&own.at_end, give_back) == 0;
	if (!own.has_key || !map(own.channel))
		close(own.channel);
}

static void note_used(unsigned int nr)
{
	unsigned int *nr_used = &own.page->nr_used, before = __atomic_load_n(nr_used, __ATOMIC_RELAXED);

	while (before < nr && !__atomic_compare_exchange_n(nr_used, &before, nr, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Takes the first free record that the calling thread may have, and clears what its last thread left. */
static void take_record(void)
{
	struct lop_hint_record *records = (struct lop_hint_record *)(own.page + 1);
	unsigned int thread = (unsigned int)syscall(SYS_gettid);
	unsigned int first = own.probes ? thread % own.nr_records : 0, nr = own.probes ? own.probes : own.nr_records;

	for (unsigned int i = 0; i < nr; i++) {
		unsigned int at = (first + i) % own.nr_records, free = 0;
		struct lop_hint_record *record = &records[at];

		/* Its own number: of a thread that ended without its destructors, or of another copy of this library. */
		if (!__atomic_compare_exchange_n(&record->thread, &free, thread, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
		    free != thread)
			continue;
		if (pthread_setspecific(own.at_end, record) != 0) {
			write_word(&record->thread, 0);
			return;
		}
		write_word(&record->length, 0);
		write_word(&record->next_length, 0);
		write_word(&record->parallelism, 0);
		write_word(&record->memory, 0);
		write_word(&record->flags, 0);
		__atomic_store_n(&record->version, LOP_HINT_VERSION, __ATOMIC_RELEASE);
		note_used(at + 1);
		self.record = record;
		return;
	}
}

/* A thread's first call. No signal handler, which may call too, and no cancellation comes between. */
static __attribute__((noinline, cold)) void ask(void)
{
	int error = errno, cancelling;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
	self.asked = true;
	pthread_mutex_lock(&lock);
	if (!own.asked)
		open_page();
	pthread_mutex_unlock(&lock);
	if (own.page)
		take_record();
	pthread_setcancelstate(cancelling, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
}

/* The record of the calling thread; NULL: it has none. */
static inline struct lop_hint_record *record(void)
{
	if (__builtin_expect(!self.asked, 0))
		ask();
	return self.record;
}

/* What the calling thread declared for its next child; and its withdrawal, since it is for one child only. */
static unsigned int next_length(void)
{
	return self.record ? __atomic_load_n(&self.record->next_length, __ATOMIC_RELAXED) : 0;
}

static void withdraw_next_length(void)
{
	if (self.record)
		write_word(&self.record->next_length, 0);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	own.handed_on = next_length();
}

static void after_fork_in_parent(void)
{
	withdraw_next_length();
	pthread_mutex_unlock(&lock);
}

/* The child has the forking thread only. What it writes must not reach its parent's page. */
static void after_fork_in_child(void)
{
	self = (struct self){ 0 };
	if (own.page) {
		munmap(own.page, own.bytes);
		close(own.channel);
	}
	own.page = NULL;
	own.asked = false;
	pthread_mutex_unlock(&lock);
	if (own.handed_on)
		lop_length(own.handed_on);
}

static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static inline void begin(unsigned int flag)
{
	struct lop_hint_record *mine = record();

	if (!mine || self.depth[flag]++ > 0)
		return;
	self.flags |= 1u << flag;
	write_word(&mine->flags, self.flags);
}

static inline void end(unsigned int flag)
{
	struct lop_hint_record *mine = record();

	if (!mine || self.depth[flag] == 0 || --self.depth[flag] > 0)
		return;
	self.flags &= ~(1u << flag);
	write_word(&mine->flags, self.flags);
}

unsigned int lop_version(void)
{
	return LOP_VERSION;
}

void lop_parallelism(unsigned int threads)
{
	struct lop_hint_record *mine = record();

	if (mine)
		write_word(&mine->parallelism, threads);
}

void lop_length(unsigned int length)
{
	struct lop_hint_record *mine = record();

	if (mine)
		write_word(&mine->length, length);
}

void lop_next_length(unsigned int length)
{
	struct lop_hint_record *mine = record();

	if (mine)
		write_word(&mine->next_length, length);
}

void lop_memory(enum lop_memory_class memory)
{
	struct lop_hint_record *mine = record();

	if (mine)
		write_word(&mine->memory, memory);
}

void lop_sequential_begin(void)
{
	begin(SEQUENTIAL);
}

void lop_sequential_end(void)
{
	end(SEQUENTIAL);
}

void lop_lock_holder_begin(void)
{
	begin(LOCK_HOLDER);
}

void lop_lock_holder_end(void)
{
	end(LOCK_HOLDER);
}

void lop_spinning_begin(void)
{
	begin(SPINNING);
}

void lop_spinning_end(void)
{
	end(SPINNING);
}

void lop_background_begin(void)
{
	begin(BACKGROUND);
}

void lop_background_end(void)
{
	end(BACKGROUND);
}

/* What a thread of declared length begins with. */
struct start {
	void *(*run)(void *);
	void *argument;
	unsigned int length;
};

static void *start_thread(void *passed)
{
	struct start start = *(struct start *)passed;

	free(passed);
	lop_length(start.length);
	return start.run(start.argument);
}

int lop_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	unsigned int length = next_length();
	struct start *start;
	int error;

	if (!length)
		return pthread_create(thread, attributes, run, argument);
	start = malloc(sizeof(*start));
	if (!start)
		return EAGAIN;
	*start = (struct start){ .run = run, .argument = argument, .length = length };
	error = pthread_create(thread, attributes, start_thread, start);
	if (error)
		free(start);
	else
		withdraw_next_length();
	return error;
}
