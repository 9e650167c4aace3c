// SPDX-License-Identifier: MIT

//! events.rs: a Rust program that writes events with libkprof's typed calls (libkprof(3)).
//!
//!     rustc events.rs && ./events

use std::ffi::{c_char, c_int, c_void, CString};
use std::ptr;

#[repr(C)]
union As {
    int: i64,
    double: f64,
    string: *const c_char,
}

#[repr(C)]
struct KprofValue {
    kind: u32,
    reserved: u32,
    value: As,
}

#[link(name = "kprof")]
extern "C" {
    fn kprof_puts(text: *const c_char);
    fn kprof_typed_define(
        provider: *const c_char,
        name: *const c_char,
        format: *const c_char,
        event: *mut *mut c_void,
    ) -> c_int;
    fn kprof_typed_is_on(event: *const c_void) -> c_int;
    fn kprof_typed_write(event: *mut c_void, values: *const KprofValue, count: usize) -> c_int;
}

/// A value of an event.
pub enum Value {
    Int(i64),
    Double(f64),
    Text(CString),
}

/// An event, switched by the file events/PROVIDER:NAME of the mount. It lives as long as the process.
#[derive(Clone, Copy)]
pub struct Event(*mut c_void);

unsafe impl Send for Event {}
unsafe impl Sync for Event {}

impl Event {
    /// The error is a number of errno(3).
    pub fn define(provider: &str, name: &str, format: &str) -> Result<Event, i32> {
        const EINVAL: i32 = 22;
        let strings = [provider, name, format].map(CString::new);
        let [Ok(provider), Ok(name), Ok(format)] = strings else {
            return Err(EINVAL);
        };
        let mut event = ptr::null_mut();
        match unsafe {
            kprof_typed_define(provider.as_ptr(), name.as_ptr(), format.as_ptr(), &mut event)
        } {
            0 => Ok(Event(event)),
            error => Err(-error),
        }
    }

    pub fn is_on(&self) -> bool {
        unsafe { kprof_typed_is_on(self.0) != 0 }
    }

    /// Writes the event if it is on. The error is EINVAL: the values are not those of the format.
    pub fn write(&self, values: &[Value]) -> Result<(), i32> {
        let values: Vec<KprofValue> = values
            .iter()
            .map(|value| {
                let (kind, value) = match value {
                    Value::Int(int) => (1, As { int: *int }),
                    Value::Double(double) => (2, As { double: *double }),
                    Value::Text(text) => (3, As { string: text.as_ptr() }),
                };
                KprofValue { kind, reserved: 0, value }
            })
            .collect();
        match unsafe { kprof_typed_write(self.0, values.as_ptr(), values.len()) } {
            0 => Ok(()),
            error => Err(-error),
        }
    }
}

/// Writes a line of text, up to its first NUL.
pub fn puts(text: &str) {
    let text = CString::new(text.split('\0').next().unwrap_or("")).unwrap_or_default();
    unsafe { kprof_puts(text.as_ptr()) }
}

fn main() -> Result<(), i32> {
    let event = Event::define("example", "rust", "number %ld, %.2f, %s")?;
    for _ in 0..1000 {
        if event.is_on() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let three = CString::new("three").unwrap_or_default();
    event.write(&[Value::Int(1), Value::Double(2.5), Value::Text(three)])?;
    puts("hello from Rust");
    Ok(())
}
