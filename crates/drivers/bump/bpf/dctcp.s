# SPDX-License-Identifier: MIT OR Apache-2.0
# What clang makes of dctcp.c, written by hand; llvm-mc -triple bpfel -filetype=obj dctcp.s -o dctcp.o
        .section slotline_bump,"ax",@progbits
        .globl  dctcp
        .type   dctcp,@function
dctcp:
        r0 = 0
        r2 = *(u64 *)(r1 + 8)
        if r2 <= 30000 goto out
        r0 = *(u32 *)(r1 + 36)
out:
        exit
        .size   dctcp, .-dctcp
