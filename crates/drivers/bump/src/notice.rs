//! Congestion notification messages about real frames.

use slotline_net::aqm::Feedback;
use slotline_net::wire::cnm::{Cnm, MOST_SAMPLE, TAG, units};
use slotline_net::wire::mac_control::Mac;

/// Tags of IEEE 802.1Q.
const VLAN: u16 = 0x8100;

/// The message that notifies the sender of `frame` of the queue `point`; `None` if the frame is too short to
/// have a sender.
pub fn notice(frame: &[u8], point: u64, own: Mac, what: Feedback) -> Option<Vec<u8>> {
    let mac = |at: usize| Some(Mac(*frame.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let (to, from) = (mac(0)?, mac(6)?);
    let (mut at, mut priority, mut flow) = (12, 0, 0);
    if word(at) == Some(VLAN) {
        priority = (word(at + 2)? >> 13) as u8;
        at += 4;
    }
    if word(at) == Some(TAG) {
        flow = word(at + 2)?;
        at += 4;
    }
    let contents = frame.get(at..).unwrap_or_default();
    let cnm = Cnm {
        destination: from,
        source: own,
        flow,
        quantised: what.quantised,
        point,
        offset: units(what.offset),
        delta: units(what.delta),
        priority,
        sampled_to: to,
        sample: contents[..contents.len().min(MOST_SAMPLE)].to_vec(),
    };
    Some(cnm.emit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_contains_the_beginning_of_the_frame() {
        let mut frame = vec![1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2];
        frame.extend([0x81, 0x00, 0xa0, 0x07, 0x22, 0xe9, 0x12, 0x34, 0x08, 0x00]);
        frame.extend([9; 100]);
        let own = Mac([3; 6]);
        let what = Feedback { quantised: 17, offset: 6_400, delta: -640 };
        let cnm = Cnm::parse(&notice(&frame, 5, own, what).unwrap()).unwrap();
        assert_eq!((cnm.destination, cnm.source, cnm.sampled_to), (Mac([2; 6]), own, Mac([1; 6])));
        assert_eq!((cnm.priority, cnm.flow, cnm.quantised), (5, 0x1234, 17));
        assert_eq!((cnm.offset, cnm.delta, cnm.sample.len()), (100, -10, 64));
        assert_eq!(cnm.sample[..3], [0x08, 0x00, 9]);
        assert_eq!(notice(&frame[..11], 5, own, what), None);
    }
}
