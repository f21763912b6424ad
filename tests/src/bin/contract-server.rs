//! The program `contract-server`: the server of the contract suite over standard input and output, or, as
//! `contract-server --http MODE`, over HTTP: it says its address on the first line and ends with its input. The
//! modes are those of `trunkline_tests::contract::Mode`.

#[cfg(unix)]
fn main() -> trunkline::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.is_empty()).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => runtime.block_on(trunkline::serve_stdio(trunkline_tests::contract::server())),
        ["--http", mode] => runtime.block_on(serve(mode.parse().expect("a mode"))),
        _ => panic!("usage: contract-server [--http MODE]"),
    }
}

#[cfg(unix)]
async fn serve(mode: trunkline_tests::contract::Mode) -> trunkline::Result<()> {
    use std::io::Write as _;

    let served = trunkline_tests::contract::serve(mode).await;
    writeln!(std::io::stdout(), "{}", served.url).expect("standard output is open");
    trunkline_tests::offload(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await.expect("an input");
    served.serving.stop().await
}

#[cfg(not(unix))]
fn main() {}
