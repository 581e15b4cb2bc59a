#!/bin/bash
# discovery.sh PROGRAM: hosts h0 to h2 at the switches s0 and s1, and two arbiters, each in a network namespace, with lldpd on all
# but the arbiters. It runs in namespaces of its own for mounts, processes and the network, in a folder with the configuration. A
# file NAME.start starts the agent of a machine; `ping`, `move`, `kill` and `stop` do what their names say.
set -e
program=$1
mount --make-rprivate /
mount -t tmpfs none /run
mkdir /run/netns

cable() {
    ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
    ip -n "$1" link set "$2" up
    ip -n "$3" link set "$4" up
}
host() { # NAME NUMBER SWITCH PORT
    cable "$1" eth0 "$3" "$4"
    ip -n "$3" link set "$4" master bridge
    ip -n "$1" address add "10.1.0.$2/24" dev eth0
}
after() { until [ -e "$1" ]; do sleep 0.05; done; }

for name in s0 s1 h0 h1 h2 a0 a1; do
    ip netns add $name
    ip -n $name link set lo up
done
for switch in s0 s1; do
    ip -n $switch link add bridge type bridge
    ip -n $switch link set bridge up
    ip -n $switch address add "10.1.0.2${switch#s}/24" dev bridge
done
cable s0 u0 s1 u0
ip -n s0 link set u0 master bridge
ip -n s1 link set u0 master bridge
host h0 1 s0 p0
host h1 2 s0 p1
host h2 3 s1 p2
host a0 10 s0 q0
host a1 11 s1 q1

# Its own /run lets lldpd and the agent of a machine find each other. lldpd reads its configuration itself: a second lldpcli while it
# starts may leave it paused, so that it hears nothing.
for name in s0 s1 h0 h1 h2; do
    ip netns exec $name sh -c '
        mount -t tmpfs none /run
        mkdir /run/lldpd
        printf "configure system hostname %s\nconfigure lldp tx-interval 1\n" $1 > $1.conf
        lldpd -d -O $1.conf -I "eth*,p*,u*" > $1.lldpd 2>&1 &
        until [ -e $1.start ]; do sleep 0.05; done
        exec $0 agent network.toml --host $1 --key $1.key --control $1.sock
    ' "$program" $name > $name.log 2>&1 &
done
for rank in 0 1; do
    ip netns exec a$rank "$program" arbiter network.toml --rank $rank --key a$rank.key --control a$rank.sock > a$rank.log 2>&1 &
    arbiters[rank]=$!
done
touch ready

after ping
ip netns exec h0 ping -i 0.02 10.1.0.3 > ping.txt 2>&1 &
ping=$!
after move
ip -n h1 link delete eth0
host h1 2 s1 p1
after kill
kill -9 ${arbiters[$(cat kill)]}
after stop
kill -INT $ping
wait $ping || true
touch stopped
