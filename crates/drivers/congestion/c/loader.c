/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loads BPF programs into the kernel and registers them as a congestion control for TCP:
 *
 *   loader NAME FLAGS PLACES DESCRIPTOR TYPE VALUE-TYPE VALUE-SIZE NAME-AT FLAGS-AT FILTER [MEMBER AT FILE]...
 *
 * FILTER and each FILE contain the instructions of a program. Member MEMBER of `struct tcp_congestion_ops` is at AT in the
 * value of a struct_ops map, as are NAME and FLAGS; TYPE and VALUE-TYPE are the numbers of the two types in the kernel's
 * BTF. DESCRIPTOR is where programs expect the map of circuits. Standard input is a socket, which gets the filter. `ready` on standard output says that the control is registered.
 * It is until the far end of the socket is closed, or until this program ends in any way. Otherwise standard output
 * says what failed. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers may be older than the kernel (6.4). */
#define LINKED (1u << 13)
#define STRUCT_OPS 44
#define MOST_INSTRUCTIONS 4096
#define MOST_VALUE 4096
#define LOG (1 << 20)

static char license[] = "Dual MIT/GPL";
static char log_text[LOG];

static void refuse(const char *what, const char *name)
{
    const char *error = strerror(errno);
    size_t length = strlen(log_text);

    printf("%s %s: %s\n", what, name, error);
    /* What the verifier says last is the reason. */
    printf("%s", log_text + (length > 1500 ? length - 1500 : 0));
    fflush(stdout);
    exit(1);
}

static int bpf(int command, union bpf_attr *attributes, const char *what, const char *name)
{
    int result = syscall(SYS_bpf, command, attributes, sizeof *attributes);

    if (result < 0)
        refuse(what, name);
    return result;
}

static uint64_t address(const void *at)
{
    return (uintptr_t)at;
}

/* Loads the program in `file`. */
static int load(const char *file, union bpf_attr attributes)
{
    static struct bpf_insn instructions[MOST_INSTRUCTIONS];
    FILE *stream = fopen(file, "rb");

    if (!stream)
        refuse("cannot read", file);
    attributes.insn_cnt = fread(instructions, sizeof *instructions, MOST_INSTRUCTIONS, stream);
    fclose(stream);
    attributes.insns = address(instructions);
    attributes.license = address(license);
    int program = syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes);
    if (program >= 0)
        return program;
    attributes.log_buf = address(log_text);
    attributes.log_size = LOG;
    attributes.log_level = 1;
    return bpf(BPF_PROG_LOAD, &attributes, "the kernel refuses the program", file);
}

/* The map with a state of circuits for each place. */
static void make_states(uint32_t places, int descriptor)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = places};
    int map = bpf(BPF_MAP_CREATE, &attributes, "cannot create", "the map of circuits");

    if (dup2(map, descriptor) < 0)
        refuse("cannot move", "the map of circuits");
}

static void filter(const char *file)
{
    union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER};
    int program = load(file, attributes);

    if (setsockopt(STDIN_FILENO, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program) < 0)
        refuse("cannot attach", file);
}

static uint32_t number(const char *text)
{
    return strtoul(text, NULL, 10);
}

/* The kernel wants some types of the one who registers. */
static int load_types(void)
{
    static const struct {
        struct btf_header header;
        struct btf_type type;
        uint32_t encoding;
        char names[5];
    } types = {
        .header = {.magic = 0xeb9f, .version = 1, .hdr_len = 24, .type_len = 16, .str_off = 16, .str_len = 5},
        .type = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
        .encoding = 32,
        .names = "\0u32",
    };
    union bpf_attr attributes = {.btf = address(&types), .btf_size = 24 + 16 + 5};

    return bpf(BPF_BTF_LOAD, &attributes, "cannot load", "types");
}

/* A struct_ops map with this value, registered as long as the link exists. */
static void register_value(const char *name, uint32_t type, uint32_t size, const void *value)
{
    union bpf_attr create = {
        .map_type = BPF_MAP_TYPE_STRUCT_OPS,
        .key_size = 4,
        .value_size = size,
        .max_entries = 1,
        .map_flags = LINKED,
        .btf_fd = load_types(),
        .btf_vmlinux_value_type_id = type,
    };
    uint32_t key = 0;
    uint32_t map = bpf(BPF_MAP_CREATE, &create, "cannot create struct_ops", name);
    union bpf_attr update = {.map_fd = map, .key = address(&key), .value = address(value)};
    union bpf_attr link = {.link_create = {.prog_fd = map, .attach_type = STRUCT_OPS}};

    bpf(BPF_MAP_UPDATE_ELEM, &update, "cannot fill in struct_ops", name);
    bpf(BPF_LINK_CREATE, &link, "cannot register", name);
}

int main(int count, char **arguments)
{
    static _Alignas(8) unsigned char value[MOST_VALUE];
    char byte;

    if (count < 11 || number(arguments[7]) > MOST_VALUE)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    make_states(number(arguments[3]), number(arguments[4]));
    filter(arguments[10]);
    for (int at = 11; at + 2 < count; at += 3) {
        union bpf_attr attributes = {
            .prog_type = BPF_PROG_TYPE_STRUCT_OPS,
            .attach_btf_id = number(arguments[5]),
            .expected_attach_type = number(arguments[at]),
        };
        uint64_t program = load(arguments[at + 2], attributes);

        memcpy(value + number(arguments[at + 1]), &program, sizeof program);
    }
    uint32_t flags = number(arguments[2]);
    memcpy(value + number(arguments[9]), &flags, sizeof flags);
    memcpy(value + number(arguments[8]), arguments[1], strnlen(arguments[1], 15));
    register_value(arguments[1], number(arguments[6]), number(arguments[7]), value);
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
