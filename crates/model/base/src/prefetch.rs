//! Requests of memory that is needed soon.

/// Asks the processor for an element that is needed soon. The program does not wait for it.
#[inline(always)]
pub fn prefetch<T>(list: &[T], at: u32) {
    if let Some(element) = list.get(at as usize) {
        prefetch_value(element);
    }
}

/// As [`prefetch`], for the beginning of a value: one cache line.
#[inline(always)]
pub fn prefetch_value<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
