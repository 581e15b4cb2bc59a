//! Functions that the calling program has compiled, called by their addresses: what numba makes from functions in
//! Python.
//!
//! All of them have one signature: slices of numbers, each as an address and a length, and a number that says how the
//! call ended. A program that gives the address of something else breaks the process, as with `ctypes`. That is why
//! the calls are in a crate of their own.
#![warn(missing_docs)]

use std::num::NonZeroUsize;

/// Numbers that a function reads and writes.
type Numbers = (*mut i64, i64);
/// The signature of all functions.
type Signature = extern "C" fn(*mut i64, i64, *mut i64, i64, *mut f64, i64) -> i64;

/// A function of the calling program.
///
/// It gets three arrays: its input, its output, and its memory, which nobody else changes between two calls. It returns
/// 0, or another number after an error.
#[derive(Clone, Copy, Debug)]
pub struct Function(Signature);

impl Function {
    /// The function at `address`. The caller vouches that it is there as long as the process, that it has the
    /// signature, and that it stays within its arrays.
    pub fn vouched(address: NonZeroUsize) -> Function {
        // SAFETY: the caller vouches for the function. A function pointer is as large as an address, and not null.
        Function(unsafe { std::mem::transmute::<usize, Signature>(address.get()) })
    }

    /// Calls the function. Returns whether it ended without an error.
    pub fn call(self, input: &mut [i64], output: &mut [i64], memory: &mut [f64]) -> bool {
        let parts =
            |numbers: &mut [i64]| -> Numbers { (numbers.as_mut_ptr(), numbers.len() as i64) };
        let ((input, inputs), (output, outputs)) = (parts(input), parts(output));
        (self.0)(input, inputs, output, outputs, memory.as_mut_ptr(), memory.len() as i64) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn sum(
        input: *mut i64,
        inputs: i64,
        output: *mut i64,
        outputs: i64,
        memory: *mut f64,
        words: i64,
    ) -> i64 {
        // SAFETY: the arrays of the test have these lengths.
        unsafe {
            let input = std::slice::from_raw_parts(input, inputs as usize);
            let output = std::slice::from_raw_parts_mut(output, outputs as usize);
            let memory = std::slice::from_raw_parts_mut(memory, words as usize);
            output[0] = input.iter().sum();
            memory[0] += 1.0;
        }
        i64::from(inputs != 3)
    }

    #[test]
    fn a_function_gets_its_arrays() {
        let address = NonZeroUsize::new(sum as Signature as usize).expect("an address");
        let function = Function::vouched(address);
        let (mut output, mut memory) = ([0; 2], [0.5]);
        assert!(function.call(&mut [1, 2, 39], &mut output, &mut memory));
        assert_eq!((output, memory), ([42, 0], [1.5]));
        assert!(!function.call(&mut [1], &mut output, &mut memory));
    }
}
