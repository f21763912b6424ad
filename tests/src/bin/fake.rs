//! The program `fake`: a scripted MCP server over stdio. Everything it does is in `trunkline_tests::fake`.

#[cfg(unix)]
fn main() {
    trunkline_tests::fake::main()
}

#[cfg(not(unix))]
fn main() {}
