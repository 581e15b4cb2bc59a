//! Converts panics of a library into errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught, so that it is not reported.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// The result of `work`, or `None` if it panics. `work` must not change anything that is used afterwards.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !CAUGHT.get() {
                before(panic);
            }
        }));
    });
    let outer = CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(outer);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_no_result() {
        assert_eq!(caught(|| 7), Some(7));
        let empty: [u8; 0] = [];
        let at = std::hint::black_box(3);
        assert_eq!(caught(|| empty[at]), None);
        assert!(!CAUGHT.get());
    }
}
