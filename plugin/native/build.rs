//! Link arguments that an addon needs on each platform.

fn main() {
    napi_build::setup();
}
