//! The program `contract-server`: the server of the contract suite over standard input and output.

#[cfg(unix)]
fn main() -> trunkline::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(trunkline::serve_stdio(trunkline_tests::contract::server()))
}

#[cfg(not(unix))]
fn main() {}
