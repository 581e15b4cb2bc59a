//! Where the running kernel has the fields that the programs use.

use crate::CongestionError;
use slotline_bump::btf::{Field, Types};
use std::fmt::Write;

/// The types of the running kernel.
pub const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

const SOCKET: &str = "tcp_sock";
const OPERATIONS: &str = "tcp_congestion_ops";
const VALUE: &str = "bpf_struct_ops_tcp_congestion_ops";

/// The fields of `struct tcp_sock`, by the names that programs use.
const FIELDS: [(&str, &[&str]); 16] = [
    ("snd_cwnd", &["snd_cwnd"]),
    ("snd_cwnd_cnt", &["snd_cwnd_cnt"]),
    ("snd_ssthresh", &["snd_ssthresh"]),
    ("prior_cwnd", &["prior_cwnd"]),
    ("is_cwnd_limited", &["is_cwnd_limited"]),
    ("max_packets_out", &["max_packets_out"]),
    ("snd_una", &["snd_una"]),
    ("snd_nxt", &["snd_nxt"]),
    ("rcv_nxt", &["rcv_nxt"]),
    ("delivered", &["delivered"]),
    ("ecn_flags", &["ecn_flags"]),
    ("icsk_ca_state", &["inet_conn", "icsk_ca_state"]),
    ("icsk_ca_priv", &["inet_conn", "icsk_ca_priv"]),
    ("icsk_ack_pending", &["inet_conn", "icsk_ack", "pending"]),
    ("skc_daddr", &["inet_conn", "icsk_inet", "sk", "__sk_common", "skc_daddr"]),
    ("skc_rcv_saddr", &["inet_conn", "icsk_inet", "sk", "__sk_common", "skc_rcv_saddr"]),
];

const CONSTANTS: [&str; 6] = [
    "TCP_CA_Recovery",
    "CA_EVENT_LOSS",
    "CA_EVENT_ECN_NO_CE",
    "CA_EVENT_ECN_IS_CE",
    "ICSK_ACK_TIMER",
    "ICSK_ACK_NOW",
];

/// The types of a kernel that congestion controls use.
pub struct Layout<'a> {
    types: Types<'a>,
    socket: u32,
    operations: u32,
    value: u32,
}

/// A place in the value of a struct_ops map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The number of the member of `struct tcp_congestion_ops`.
    pub member: u32,
    /// The offset in bytes.
    pub at: u32,
}

impl<'a> Layout<'a> {
    /// Finds the structures in BTF.
    ///
    /// # Errors
    /// [`CongestionError::Lacking`].
    pub fn new(btf: &'a [u8]) -> Result<Layout<'a>, CongestionError> {
        let types = Types::read(btf).ok_or_else(|| lacking("BTF"))?;
        let named = |name: &str| types.structure(name).ok_or_else(|| lacking(name));
        let (socket, operations, value) = (named(SOCKET)?, named(OPERATIONS)?, named(VALUE)?);
        Ok(Layout { types, socket, operations, value })
    }

    /// The numbers of the types of the operations and of the value, and the size of the value.
    ///
    /// # Errors
    /// [`CongestionError::Lacking`].
    pub fn numbers(&self) -> Result<[u32; 3], CongestionError> {
        let size = self.types.bytes(self.value).ok_or_else(|| lacking(VALUE))?;
        Ok([self.operations, self.value, size])
    }

    /// The slot of a member of `struct tcp_congestion_ops`.
    ///
    /// # Errors
    /// [`CongestionError::Lacking`].
    pub fn slot(&self, name: &str) -> Result<Slot, CongestionError> {
        let own = self.types.field(self.operations, &[name]);
        let outer = self.types.field(self.value, &["data"]);
        let slot = own
            .zip(outer)
            .map(|(own, outer)| Slot { member: own.member, at: (own.bit + outer.bit) / 8 });
        slot.ok_or_else(|| lacking(name))
    }

    /// The definitions that programs include.
    ///
    /// # Errors
    /// [`CongestionError::Lacking`].
    pub fn header(&self) -> Result<String, CongestionError> {
        let mut out = String::new();
        for (name, path) in FIELDS {
            let found = self.types.field(self.socket, path).and_then(|field| define(name, field));
            out += &found.ok_or_else(|| lacking(name))?;
        }
        for name in CONSTANTS {
            let value = self.types.constant(name).ok_or_else(|| lacking(name))?;
            let _ = writeln!(out, "#define {name} {value}");
        }
        Ok(out)
    }
}

fn lacking(name: &str) -> CongestionError {
    CongestionError::Lacking(name.into())
}

/// The definitions of a field; `None` if programs cannot access it.
fn define(name: &str, field: Field) -> Option<String> {
    let Field { bit, bits, .. } = field;
    let at = bit / 8;
    if bits < 8 {
        let (shift, mask) = (bit % 8, (1 << bits) - 1);
        let part = format!("#define {name}_SHIFT {shift}\n#define {name}_MASK {mask}\n");
        let whole = format!("#define {name}_AT {at}\n#define {name}_TYPE u8\n");
        return (shift + bits <= 8).then_some(whole + &part);
    }
    let kind = match bits {
        8 => "u8",
        16 => "unsigned short",
        32 => "u32",
        bits if bits.is_multiple_of(64) => "u64",
        _ => return None,
    };
    Some(format!("#define {name}_AT {at}\n#define {name}_TYPE {kind}\n"))
}
