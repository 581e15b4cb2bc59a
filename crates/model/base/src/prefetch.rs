//! Requests of memory that is needed soon.

/// Asks the processor for an element that is needed soon. The program does not wait for it.
#[inline(always)]
pub fn prefetch<T>(list: &[T], at: u32) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = list.get(at as usize) {
        safe_arch::prefetch_t0(element);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, at);
}
