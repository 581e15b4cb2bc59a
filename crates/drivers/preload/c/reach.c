/* Judges the file of a program: which loader it has, or the interpreter of a script. */
#include "reach.h"

#include "real.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of nested interpreters that Linux follows, and bytes that are read at a time. */
enum { INTERPRETERS = 5, HEAD = 256, SEGMENTS = 64, NOTES = 1024, SECTIONS = 128, NAMES = 4096 };

/* The header of this library, whose processor a program must have. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Reads a part of a file. Returns the number of bytes; unread bytes are zero. */
static size_t read_at(int fd, uint64_t offset, void *into, size_t size)
{
    memset(into, 0, size);
    ssize_t got = pread(fd, into, size, (off_t)offset);
    return got < 0 ? 0 : (size_t)got;
}

static bool has_go_note(int fd, const ElfW(Phdr) *segment)
{
    char notes[NOTES];
    size_t size = read_at(fd, segment->p_offset, notes, segment->p_filesz < NOTES ? segment->p_filesz : NOTES);
    size_t at = 0;
    while (at + sizeof(ElfW(Nhdr)) <= size) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        if (note.n_namesz == 3 || note.n_namesz == 4) {
            if (at + 3 <= size && memcmp(notes + at, "Go", 3) == 0)
                return true;
        }
        at += ((uint64_t)note.n_namesz + 3) / 4 * 4 + ((uint64_t)note.n_descsz + 3) / 4 * 4;
    }
    return false;
}

/* Go's linker leaves a section with the build's description, also where a note is left out. */
static bool has_go_section(int fd, const ElfW(Ehdr) *header)
{
    ElfW(Shdr) sections[SECTIONS];
    char names[NAMES];
    size_t count = header->e_shnum < SECTIONS ? header->e_shnum : SECTIONS;
    read_at(fd, header->e_shoff, sections, count * sizeof *sections);
    if (header->e_shentsize != sizeof *sections || header->e_shstrndx >= count)
        return false;
    read_at(fd, sections[header->e_shstrndx].sh_offset, names, sizeof names - 1);
    names[sizeof names - 1] = '\0';
    for (size_t at = 0; at < count; at++) {
        if (sections[at].sh_name < sizeof names && strcmp(names + sections[at].sh_name, ".go.buildinfo") == 0)
            return true;
    }
    return false;
}

static const char *const GO = "a Go program, which reads the clock and waits without the C library";

/* Judges by the program headers. */
static const char *judge_segments(int fd, const ElfW(Phdr) *segments, size_t count)
{
    const char *why = "statically linked, so it would have real time: use a dynamically linked build";
    for (size_t at = 0; at < count; at++) {
        char loader[HEAD];
        if (segments[at].p_type == PT_NOTE && has_go_note(fd, &segments[at]))
            return GO;
        if (segments[at].p_type != PT_INTERP)
            continue;
        read_at(fd, segments[at].p_offset, loader, sizeof loader - 1);
        loader[sizeof loader - 1] = '\0';
        why = strstr(loader, "musl") == NULL ? NULL : "not for the GNU C library, so it would have real time";
    }
    return why;
}

static bool is_for_this_machine(const ElfW(Ehdr) *header)
{
    return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == __ehdr_start.e_machine;
}

static const char *judge_binary(int fd, const ElfW(Ehdr) *header)
{
    ElfW(Phdr) segments[SEGMENTS];
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (!is_for_this_machine(header))
        return "for another processor or with 32 bits, so it would have real time";
    size_t count = header->e_phnum < SEGMENTS ? header->e_phnum : SEGMENTS;
    if (has_go_section(fd, header))
        return GO;
    read_at(fd, header->e_phoff, segments, count * sizeof *segments);
    const char *why = judge_segments(fd, segments, count);
    struct stat status;
    if (why == NULL && geteuid() != 0 && fstat(fd, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0)
        return "set-user-ID or set-group-ID, so its loader ignores LD_PRELOAD unless root starts it";
    return why;
}

/* Cuts out the interpreter in the first line of a script. Returns NULL if there is none. */
static const char *interpreter(char *head)
{
    if (memcmp(head, "#!", 2) != 0)
        return NULL;
    char *name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    return name;
}

const char *unreachable(const char *path)
{
    char head[HEAD];
    for (int depth = 0; depth < INTERPRETERS; depth++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return NULL;
        read_at(fd, 0, head, sizeof head - 1);
        head[sizeof head - 1] = '\0';
        const char *next = interpreter(head);
        ElfW(Ehdr) header;
        memcpy(&header, head, sizeof header);
        const char *why = next == NULL ? judge_binary(fd, &header) : NULL;
        REAL(close)(fd);
        if (next == NULL)
            return why;
        path = next;
    }
    return NULL;
}
