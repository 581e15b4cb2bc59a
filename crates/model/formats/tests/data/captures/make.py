from scapy.all import *
import sys
conf.verb=0
out=sys.argv[1]
pk=[]
t=1700000000.000001
def add(p,dt):
    global t
    t+=dt; p.time=t; pk.append(p)
e=lambda: Ether(src='02:00:00:00:00:01',dst='02:00:00:00:00:02')
A,B,C='10.0.0.1','10.0.0.2','10.0.0.3'
# TCP over VLAN: handshake, request 100, response 1400+600, retransmit of 600
add(e()/Dot1Q(vlan=7)/IP(src=A,dst=B)/TCP(sport=1000,dport=80,flags='S',seq=99),1e-6)
add(e()/Dot1Q(vlan=7)/IP(src=B,dst=A)/TCP(sport=80,dport=1000,flags='SA',seq=499,ack=100),1e-6)
add(e()/Dot1Q(vlan=7)/IP(src=A,dst=B)/TCP(sport=1000,dport=80,flags='A',seq=100,ack=500),1e-6)
add(e()/Dot1Q(vlan=7)/IP(src=A,dst=B)/TCP(sport=1000,dport=80,flags='PA',seq=100,ack=500)/(b'x'*100),1e-6)
add(e()/Dot1Q(vlan=7)/IP(src=B,dst=A)/TCP(sport=80,dport=1000,flags='A',seq=500,ack=200)/(b'y'*1400),10e-6)
add(e()/Dot1Q(vlan=7)/IP(src=B,dst=A)/TCP(sport=80,dport=1000,flags='PA',seq=1900,ack=200)/(b'y'*600),1e-6)
add(e()/Dot1Q(vlan=7)/IP(src=B,dst=A)/TCP(sport=80,dport=1000,flags='PA',seq=1900,ack=200)/(b'y'*600),100e-6)
# UDP over IPv6 with hop-by-hop options
add(e()/IPv6(src='2001:db8::1',dst='2001:db8::2')/IPv6ExtHdrHopByHop(options=[PadN(optdata=b'\0'*4)])/UDP(sport=5000,dport=6000)/(b'z'*321),5e-6)
# ARP, ICMP
add(e()/ARP(psrc=A,pdst=B),1e-6)
add(e()/IP(src=A,dst=C)/ICMP(),1e-6)
# the same ports again, after a second of silence
add(e()/Dot1Q(vlan=7)/IP(src=A,dst=B)/TCP(sport=1000,dport=80,flags='PA',seq=200,ack=2500)/(b'x'*50),1.0)
# fragmented UDP: first 1480 of 2008 (2000 payload), rest
f=fragment(IP(src=C,dst=A,id=77)/UDP(sport=7,dport=8)/(b'f'*2000),fragsize=1480)
for x in f: add(e()/x,1e-6)
wrpcap(out,pk)
