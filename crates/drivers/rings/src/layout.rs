//! Where frames are in the memory of a ring.

/// The kernel allocates a ring in blocks of this many bytes.
pub const BLOCK: usize = 1 << 20;
/// The room for a frame with the kernel's header: the longest packet that hosts join, and what precedes it.
pub const FRAME: usize = 16_384 + 256;
/// The number of frames in a block.
pub const FRAMES: usize = BLOCK / FRAME;

/// A ring of some blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The number of blocks, at least 1.
    pub blocks: usize,
}

impl Layout {
    /// The bytes of the ring.
    pub fn bytes(self) -> usize {
        self.blocks * BLOCK
    }
    /// The number of frames.
    pub fn frames(self) -> usize {
        self.blocks * FRAMES
    }
    /// The place of a frame in the ring, in bytes.
    pub fn place(self, frame: usize) -> usize {
        frame / FRAMES * BLOCK + frame % FRAMES * FRAME
    }
    /// The frame after another one.
    pub fn next(self, frame: usize) -> usize {
        (frame + 1) % self.frames()
    }
}

/// The range of `length` bytes from `at` on in a frame; `None` if it exceeds the frame.
pub fn within(at: usize, length: usize) -> Option<std::ops::Range<usize>> {
    let end = at.checked_add(length)?;
    (end <= FRAME).then_some(at..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_are_apart_and_within_the_ring(blocks in 1usize..9, a in 0usize..1_000, b in 0usize..1_000) {
            let layout = Layout { blocks };
            let (a, b) = (a % layout.frames(), b % layout.frames());
            let (from, to) = (layout.place(a.min(b)), layout.place(a.max(b)));
            prop_assert!(a == b || from + FRAME <= to);
            prop_assert!(to + FRAME <= layout.bytes());
            prop_assert_eq!(to % 16, 0, "the kernel aligns frames");
            prop_assert_eq!(from / BLOCK, (from + FRAME - 1) / BLOCK, "no frame is in two blocks");
        }

        #[test]
        fn each_frame_has_its_turn(blocks in 1usize..5) {
            let layout = Layout { blocks };
            let mut at = 0;
            for frame in 0..layout.frames() {
                prop_assert_eq!(at, frame);
                at = layout.next(at);
            }
            prop_assert_eq!(at, 0);
        }

        #[test]
        fn ranges_stay_within_a_frame(at: usize, length: usize) {
            let range = within(at, length);
            prop_assert_eq!(range.is_some(), at as u128 + length as u128 <= FRAME as u128);
        }
    }
}
