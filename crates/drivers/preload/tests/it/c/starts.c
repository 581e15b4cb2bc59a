/* Starts the program of the argument by every function, in a child each, and shows its exit code. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program;
static char *arguments[] = {"name", "one", NULL};
static char *variables[64];

enum { REFUSED = 99 };

static void show(const char *name, int code)
{
    if (code == REFUSED)
        printf("%s refused\n", name);
    else
        printf("%s %d\n", name, code);
    fflush(stdout);
}

static int wait_for(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        pid_t child = fork();                                                                                          \
        if (child == 0) {                                                                                              \
            (void)(call);                                                                                              \
            _exit(errno == EPERM ? REFUSED : 98);                                                                      \
        }                                                                                                              \
        char name[80] = #call;                                                                                         \
        *strchr(name, '(') = '\0';                                                                                     \
        show(name, wait_for(child));                                                                                   \
    } while (0)

static void spawn(const char *name, int error, pid_t child)
{
    show(name, error == EPERM ? REFUSED : error != 0 ? 98 : wait_for(child));
}

int main(int count, char **given)
{
    if (count != 2)
        return 2;
    program = given[1];
    for (size_t at = 0; environ[at] != NULL && at < 63; at++)
        variables[at] = environ[at];
    TRY(execve(program, arguments, variables));
    TRY(execv(program, arguments));
    TRY(execvpe(program, arguments, variables));
    TRY(execvp(program, arguments));
    TRY(execl(program, "name", "one", (char *)NULL));
    TRY(execlp(program, "name", "one", (char *)NULL));
    TRY(execle(program, "name", "one", (char *)NULL, variables));
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    TRY(fexecve(fd, arguments, variables));
    pid_t child = 0;
    int error = posix_spawn(&child, program, NULL, NULL, arguments, variables);
    spawn("posix_spawn", error, child);
    error = posix_spawnp(&child, program, NULL, NULL, arguments, variables);
    spawn("posix_spawnp", error, child);
}
