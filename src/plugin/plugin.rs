//! The root of the shared object.

#![no_std]

mod counting;
mod layout;

/// No code of the plugin panics; a library without the standard library must say what would happen.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
