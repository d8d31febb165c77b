/*
 * A power cut, modelled. Loaded into a process with LD_PRELOAD, this keeps in CUT_IMAGE what a disk would hold of
 * the files under CUT_DIR if the power went at any moment:
 *
 *  - what was written reaches the image when fsync or fdatasync is called on the file, in the order of the writes;
 *  - with CUT_EARLY=percent, each 4 KiB piece of a write also reaches it at once with that chance: a disk writes
 *    back what it likes, in any order;
 *  - sync_file_range promises nothing, so it brings nothing into the image;
 *  - with CUT_LIES=1 no sync does: a disk that lies, to prove that the test would notice;
 *  - with CUT_FAILS_AFTER=n every sync of a file after the n-th fails: a disk that dies;
 *  - with CUT_WRITE_FAILS_AFTER=n every write to a file after the n-th fails, and writes nothing: a disk that takes no more;
 *  - with CUT_READ_FAILS_AFTER=n every read of a file after the n-th fails;
 *  - with CUT_BAD_BYTE=n every read of a file's n-th byte fails: a sector that is gone;
 *  - with CUT_SLOW_MS=n each sync takes so many milliseconds: a disk far away.
 *
 * Creating, renaming and removing files count at once, which is kinder than a real file system; the synced content
 * of a file does not depend on its directory having been synced. Nothing else is kept from the process: its own
 * files are written as usual.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 2048
#define BUCKETS 4096
#define PIECE 4096

/* A write or a truncation that is not durable yet. */
struct change {
    int64_t offset;
    int64_t length;
    int truncates;
    char *data;
    struct change *next;
};

/* A file that was written to, known by its inode so that renaming does not lose it. */
struct tracked {
    dev_t device;
    ino_t inode;
    char path[PATH_BYTES];
    struct change *first, *last;
    struct tracked *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tracked *tracked_files[BUCKETS];
static char dir[PATH_BYTES], image[PATH_BYTES];
static size_t dir_bytes;
static int64_t bad_byte = -1;
static int early_percent, lies, slow_ms, good_syncs, good_writes, good_reads, active = -1;
static unsigned seed;

static int setting(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

static int is_active(void) {
    if (active >= 0) return active;
    const char *from = getenv("CUT_DIR"), *to = getenv("CUT_IMAGE");
    if (!from || !to || !realpath(from, dir)) return active = 0;
    snprintf(image, sizeof image, "%s", to);
    dir_bytes = strlen(dir);
    early_percent = setting("CUT_EARLY", 0);
    lies = setting("CUT_LIES", 0);
    slow_ms = setting("CUT_SLOW_MS", 0);
    good_syncs = setting("CUT_FAILS_AFTER", INT_MAX);
    good_writes = setting("CUT_WRITE_FAILS_AFTER", INT_MAX);
    good_reads = setting("CUT_READ_FAILS_AFTER", INT_MAX);
    bad_byte = getenv("CUT_BAD_BYTE") ? atoll(getenv("CUT_BAD_BYTE")) : -1;
    seed = (unsigned)getpid();
    return active = 1;
}

static int is_inside(const char *path) {
    return !strncmp(path, dir, dir_bytes) && (path[dir_bytes] == '/' || !path[dir_bytes]);
}

/* The path of an open file, if it lies in the directory. */
static int path_of(int fd, char *path, struct stat *status) {
    if (!is_active() || fd < 3) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_BYTES - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_inside(path) && !fstat(fd, status);
}

static void image_path(const char *path, char *out) {
    snprintf(out, PATH_BYTES * 2, "%s%s", image, path + dir_bytes);
}

/* Opens the image of a file, with the directories on the way. */
static int open_image(const char *path) {
    char out[PATH_BYTES * 2];
    image_path(path, out);
    for (char *slash = out + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(out, 0755);
        *slash = '/';
    }
    return (int)syscall(SYS_openat, AT_FDCWD, out, O_RDWR | O_CREAT, 0644);
}

static struct tracked *find(const struct stat *status, const char *path) {
    struct tracked **bucket = &tracked_files[(unsigned)(status->st_ino * 2654435761u) % BUCKETS];
    struct tracked *file = *bucket;
    while (file && (file->inode != status->st_ino || file->device != status->st_dev)) file = file->next;
    if (!file) {
        file = calloc(1, sizeof *file);
        file->device = status->st_dev;
        file->inode = status->st_ino;
        file->next = *bucket;
        *bucket = file;
    }
    snprintf(file->path, sizeof file->path, "%s", path);
    return file;
}

static void apply(int fd, const struct change *change) {
    if (change->truncates) syscall(SYS_ftruncate, fd, change->length);
    else syscall(SYS_pwrite64, fd, change->data, change->length, change->offset);
}

/* Some pieces of a write reach the disk before anybody asked for it. */
static void write_early(const struct tracked *file, const struct change *change) {
    int fd = open_image(file->path);
    for (int64_t at = 0; at < change->length;) {
        int64_t end = ((change->offset + at) / PIECE + 1) * PIECE - change->offset;
        if (end > change->length) end = change->length;
        if ((int)(rand_r(&seed) % 100) < early_percent)
            syscall(SYS_pwrite64, fd, change->data + at, end - at, change->offset + at);
        at = end;
    }
    syscall(SYS_close, fd);
}

static void remember(struct tracked *file, int truncates, int64_t offset, int64_t length, const void *data) {
    struct change *change = calloc(1, sizeof *change);
    change->truncates = truncates;
    change->offset = offset;
    change->length = length;
    if (!truncates) {
        change->data = malloc((size_t)length);
        memcpy(change->data, data, (size_t)length);
        if (early_percent) write_early(file, change);
    }
    if (file->last) file->last->next = change;
    else file->first = change;
    file->last = change;
}

static void make_durable(struct tracked *file) {
    int fd = open_image(file->path);
    while (file->first) {
        struct change *change = file->first;
        file->first = change->next;
        apply(fd, change);
        free(change->data);
        free(change);
    }
    file->last = NULL;
    syscall(SYS_close, fd);
}

/* A synced directory has an entry for each of its files, and none for those that are gone. */
static void make_names_durable(const char *path) {
    char name[PATH_BYTES * 2], out[PATH_BYTES * 2], gone[PATH_BYTES * 4];
    struct stat status;
    struct dirent *entry;
    DIR *list = opendir(path);
    while (list && (entry = readdir(list))) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (lstat(name, &status) || !S_ISREG(status.st_mode)) continue;
        int fd = open_image(name);
        if (fd >= 0) syscall(SYS_close, fd);
    }
    if (list) closedir(list);
    image_path(path, out);
    list = opendir(out);
    while (list && (entry = readdir(list))) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        snprintf(gone, sizeof gone, "%s/%s", out, entry->d_name);
        if (lstat(name, &status) && errno == ENOENT) syscall(SYS_unlink, gone);
    }
    if (list) closedir(list);
}

/* Syncs a file or directory of ours, for which the process need not wait for the real one; others by `call`. */
static int synced(int fd, long call) {
    char path[PATH_BYTES];
    struct stat status;
    int failed = 0;
    if (!path_of(fd, path, &status)) return (int)syscall(call, fd);
    if (lies) return 0;
    if (slow_ms) {
        struct timespec left = {slow_ms / 1000, slow_ms % 1000 * 1000000L};
        while (nanosleep(&left, &left) && errno == EINTR) {}
    }
    pthread_mutex_lock(&lock);
    if (S_ISDIR(status.st_mode)) make_names_durable(path);
    else if (S_ISREG(status.st_mode) && good_syncs-- > 0) make_durable(find(&status, path));
    else failed = 1, good_syncs = 0;
    pthread_mutex_unlock(&lock);
    if (failed) errno = EIO;
    return failed ? -1 : 0;
}

static void wrote(int fd, int64_t offset, const void *data, ssize_t length) {
    int error = errno;
    char path[PATH_BYTES];
    struct stat status;
    if (length > 0 && path_of(fd, path, &status) && S_ISREG(status.st_mode)) {
        pthread_mutex_lock(&lock);
        remember(find(&status, path), 0, offset, length, data);
        pthread_mutex_unlock(&lock);
    }
    errno = error;
}

/* Whether a file of ours has had its last good write or read; counts this one. */
static int is_spent(int fd, int *good) {
    char path[PATH_BYTES];
    struct stat status;
    if (*good == INT_MAX && active >= 0) return 0;
    if (!path_of(fd, path, &status) || !S_ISREG(status.st_mode)) return 0;
    pthread_mutex_lock(&lock);
    int spent = *good != INT_MAX && (*good)-- <= 0;
    if (spent) *good = 0;
    pthread_mutex_unlock(&lock);
    if (spent) errno = EIO;
    return spent;
}

ssize_t write(int fd, const void *data, size_t length) {
    if (is_spent(fd, &good_writes)) return -1;
    ssize_t done = syscall(SYS_write, fd, data, length);
    if (done > 0 && fd > 2 && is_active()) {
        int error = errno;
        off_t end = lseek(fd, 0, SEEK_CUR);
        errno = error;
        wrote(fd, end - done, data, done);
    }
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        ssize_t done = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (done < 0) return total ? total : done;
        total += done;
        if ((size_t)done < parts[i].iov_len) break;
    }
    return total;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    if (is_spent(fd, &good_writes)) return -1;
    ssize_t done = syscall(SYS_pwrite64, fd, data, length, offset);
    wrote(fd, offset, data, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

/* Whether a read of a file of ours meets its bad byte. */
static int is_bad(int fd, int64_t offset, size_t length) {
    char path[PATH_BYTES];
    struct stat status;
    int error = errno;
    int bad = is_active() && bad_byte >= offset && bad_byte < offset + (int64_t)length && path_of(fd, path, &status)
        && S_ISREG(status.st_mode) && status.st_size > bad_byte;
    errno = bad ? EIO : error;
    return bad;
}

ssize_t pread64(int fd, void *data, size_t length, off64_t offset) {
    if (is_spent(fd, &good_reads) || is_bad(fd, offset, length)) return -1;
    return syscall(SYS_pread64, fd, data, length, offset);
}

ssize_t pread(int fd, void *data, size_t length, off_t offset) { return pread64(fd, data, length, offset); }

ssize_t read(int fd, void *data, size_t length) {
    if (is_spent(fd, &good_reads)) return -1;
    if (fd > 2 && is_active() && bad_byte >= 0) {
        int error = errno;
        off_t at = lseek(fd, 0, SEEK_CUR);
        errno = error;
        if (at >= 0 && is_bad(fd, at, length)) return -1;
    }
    return syscall(SYS_read, fd, data, length);
}

int ftruncate64(int fd, off64_t length) {
    int result = (int)syscall(SYS_ftruncate, fd, length);
    char path[PATH_BYTES];
    struct stat status;
    if (!result && path_of(fd, path, &status) && S_ISREG(status.st_mode)) {
        pthread_mutex_lock(&lock);
        remember(find(&status, path), 1, 0, length, NULL);
        pthread_mutex_unlock(&lock);
    }
    return result;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fsync(int fd) { return synced(fd, SYS_fsync); }

int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    return is_active() ? 0 : (int)syscall(SYS_sync_file_range, fd, offset, length, flags);
}

/* Whether a path is ours; with its counterpart in the image. */
static int counterpart(const char *path, char *out) {
    char whole[PATH_BYTES * 2], here[PATH_BYTES];
    if (!is_active()) return 0;
    if (path[0] == '/') snprintf(whole, sizeof whole, "%s", path);
    else if (getcwd(here, sizeof here)) snprintf(whole, sizeof whole, "%s/%s", here, path);
    else return 0;
    if (!is_inside(whole)) return 0;
    image_path(whole, out);
    return 1;
}

int rename(const char *from, const char *to) {
    int result = (int)syscall(SYS_rename, from, to);
    char old[PATH_BYTES * 2], new[PATH_BYTES * 2];
    if (!result && counterpart(from, old) && counterpart(to, new)) {
        pthread_mutex_lock(&lock);
        syscall(SYS_rename, old, new);
        pthread_mutex_unlock(&lock);
    }
    return result;
}

int unlink(const char *path) {
    int result = (int)syscall(SYS_unlink, path);
    char out[PATH_BYTES * 2];
    if (!result && counterpart(path, out)) {
        pthread_mutex_lock(&lock);
        syscall(SYS_unlink, out);
        pthread_mutex_unlock(&lock);
    }
    return result;
}
