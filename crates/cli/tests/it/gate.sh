#!/bin/bash
# gate.sh PROGRAM: hosts h0 and h1 with agents, and an arbiter, each in a network namespace, at a bridge. It runs in namespaces of
# its own for mounts, processes and the network, in a folder with the configuration. It carries out lines of the pipe `orders`.
program=$1
mount --make-rprivate /
mount -t tmpfs none /run
mkdir /run/netns
mount -t proc none /proc

machine() { # NAME NUMBER
    ip netns add "$1"
    ip -n "$1" link set lo up
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip link set "$1" up master bridge
    ip -n "$1" link set eth0 up
    ip -n "$1" address add "10.1.0.$2/24" dev eth0
    ip -n "$1" address add "fd01::$2/64" dev eth0 nodad
}
agent() { # NAME
    ip netns exec "$1" "$program" agent network.toml --host "$1" --key "$1.key" --control "$1.sock" >> "$1.log" 2>&1 &
}

ip link add bridge type bridge
ip link set bridge up
machine h0 1
machine h1 2
machine a0 10
ip netns exec a0 "$program" arbiter network.toml --rank 0 --key a0.key --control a0.sock > a0.log 2>&1 &
agent h0
h0=$!
agent h1
ip netns exec h1 iperf3 --server > iperf.log 2>&1 &
mkfifo orders
exec 3<> orders
while read -r line <&3; do
    eval "$line"
done
