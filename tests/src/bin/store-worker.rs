//! The process that multi-process tests start; see `candy_store_tests::worker`.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    candy_store_tests::worker::run(&arguments)
}
