//! Trunkline as a contestant of the benchmark, by CONVENTION.md section 1.
//! `--rt current|multi`: the runtime. `--spawned`: the caller is a task of the runtime instead of `block_on`.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use trunkline::{Arguments, Client, IntoArguments, Limits, Result, ToolProxy};

const TEXT: &str = "The quick brown fox jumps over the lazy dog, 64 bytes of text...";

#[derive(Clone)]
struct Args {
    scenario: String,
    n: usize,
    warmup: usize,
    conc: usize,
    kib: usize,
    servers: usize,
    hang: usize,
    timeout_ms: u64,
    multi_thread: bool,
    spawned: bool,
    /// The URL of the server over HTTP; a subprocess where there is none.
    url: Option<String>,
    server: Vec<String>,
}

fn parse() -> Args {
    let mut args = Args {
        scenario: String::new(),
        n: 1,
        warmup: 0,
        conc: 64,
        kib: 1024,
        servers: 1,
        hang: 0,
        timeout_ms: 30_000,
        multi_thread: false,
        spawned: false,
        url: None,
        server: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value");
        let mut number = || value().parse::<usize>().expect("a number");
        match word.as_str() {
            "--n" => args.n = number(),
            "--warmup" => args.warmup = number(),
            "--conc" => args.conc = number(),
            "--kib" => args.kib = number(),
            "--servers" => args.servers = number(),
            "--hang" => args.hang = number(),
            "--timeout-ms" => args.timeout_ms = number() as u64,
            "--scenario" => args.scenario = value(),
            "--transport" => drop(value()), // a URL says it too
            "--url" => args.url = Some(value()),
            "--rt" => args.multi_thread = value() == "multi",
            "--spawned" => args.spawned = true,
            "--server" => args.server = words.by_ref().collect(),
            other => panic!("unknown option {other}"),
        }
    }
    args
}

fn client(args: &Args, extra: &[&str]) -> Client {
    if let Some(url) = &args.url {
        return Client::http(url).build().expect("a client");
    }
    let rest = args.server[1..].iter().map(String::as_str).chain(extra.iter().copied());
    let limits = Limits { max_message: 64 << 20, ..Limits::default() };
    Client::stdio(&args.server[0], rest).limits(limits).build().expect("a client")
}

async fn call(client: &Client, tool: &str, arguments: Arguments, want: usize) {
    let value = client.call_tool(tool, arguments).await.expect("a result");
    assert_eq!(value.as_str().expect("text").len(), want);
}

fn echo() -> Arguments {
    json!({"text": TEXT}).into_arguments().expect("an object")
}

/// Resident and peak memory in KiB.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    (field("VmRSS:").unwrap_or(0), field("VmHWM:").unwrap_or(0))
}

/// User and system time of this process, in milliseconds.
fn cpu_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

async fn oneshot(args: &Args) -> Result<()> {
    let client = client(args, &[]);
    println!("{}", client.call("echo", echo()).await?.raw());
    client.disconnect().await;
    Ok(())
}

async fn sequence(args: &Args) -> Result<()> {
    let begun = Instant::now();
    let client = client(args, &[]);
    client.connect().await?;
    let connect = begun.elapsed();
    let (tool, arguments, want) = match args.scenario.as_str() {
        "seq" => ("echo", echo(), TEXT.len()),
        _ => ("blob", json!({"kib": args.kib}).into_arguments()?, args.kib * 1024),
    };
    for _ in 0..args.warmup {
        call(&client, tool, arguments.clone(), want).await;
    }
    let (cpu, begun) = (cpu_ms(), Instant::now());
    let mut latencies = Vec::with_capacity(args.n);
    for _ in 0..args.n {
        let begun = Instant::now();
        call(&client, tool, arguments.clone(), want).await;
        latencies.push(begun.elapsed().as_nanos() as f64 / 1e3);
    }
    let (elapsed, cpu) = (begun.elapsed(), cpu_ms() - cpu);
    latencies.sort_by(f64::total_cmp);
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    let (rss, peak) = memory();
    let report = json!({"scenario": args.scenario, "ok": true, "connect_ms": ms(connect), "elapsed_ms": ms(elapsed),
        "ops": args.n, "p50_us": at(0.5), "p99_us": at(0.99), "cpu_ms": cpu, "rss_kib": rss, "peak_kib": peak});
    println!("{report}");
    client.disconnect().await;
    Ok(())
}

async fn concurrent(args: &Args) -> Result<()> {
    let client = client(args, &[]);
    client.connect().await?;
    in_flight(&client, args.warmup, args.conc).await;
    let (cpu, begun) = (cpu_ms(), Instant::now());
    in_flight(&client, args.n, args.conc).await;
    let (elapsed, cpu) = (begun.elapsed(), cpu_ms() - cpu);
    let (rss, peak) = memory();
    let report = json!({"scenario": "conc", "ok": true, "elapsed_ms": ms(elapsed), "ops": args.n, "cpu_ms": cpu,
        "rss_kib": rss, "peak_kib": peak});
    println!("{report}");
    client.disconnect().await;
    Ok(())
}

/// Makes `n` calls, `conc` at a time, on one client.
async fn in_flight(client: &Client, n: usize, conc: usize) {
    let left = Arc::new(AtomicIsize::new(n as isize));
    let arguments = echo();
    let worker = || async {
        while left.fetch_sub(1, Ordering::Relaxed) > 0 {
            call(client, "echo", arguments.clone(), TEXT.len()).await;
        }
    };
    futures_util::future::join_all((0..conc).map(|_| worker())).await;
}

async fn list(args: &Args) -> Result<()> {
    let client = client(args, &[]);
    client.connect().await?;
    let (base, _) = memory();
    let (cpu, begun) = (cpu_ms(), Instant::now());
    let tools = client.list_tools().await?;
    let (elapsed, cpu) = (begun.elapsed(), cpu_ms() - cpu);
    let (rss, peak) = memory();
    let report = json!({"scenario": "list", "ok": true, "elapsed_ms": ms(elapsed), "count": tools.len(), "cpu_ms": cpu,
        "rss_base_kib": base, "rss_kib": rss, "peak_kib": peak});
    println!("{report}");
    client.disconnect().await;
    Ok(())
}

async fn many(args: &Args) -> Result<()> {
    let (base, _) = memory();
    let (cpu, begun) = (cpu_ms(), Instant::now());
    let mut listing = JoinSet::new();
    for index in 0..args.servers {
        let hangs = index >= args.servers - args.hang;
        let client = client(args, if hangs { &["--hang"] } else { &[] });
        listing.spawn(async move {
            let tools = client.list_tools().await?;
            Ok::<_, trunkline::Error>((client, tools))
        });
    }
    let mut held: Vec<(Client, Vec<ToolProxy>)> = Vec::new();
    let all = async {
        while held.len() < args.servers - args.hang {
            held.push(listing.join_next().await.expect("another server").expect("no panic")?);
        }
        Ok::<_, trunkline::Error>(())
    };
    let outcome = tokio::time::timeout(Duration::from_millis(args.timeout_ms), all).await;
    let (elapsed, cpu) = (begun.elapsed(), cpu_ms() - cpu);
    let (rss, _) = memory();
    let count: usize = held.iter().map(|(_, tools)| tools.len()).sum();
    let report = match outcome {
        Ok(Ok(())) => json!({"scenario": "multi", "ok": true, "usable_ms": ms(elapsed), "count": count, "cpu_ms": cpu,
            "rss_base_kib": base, "rss_kib": rss}),
        Ok(Err(error)) => json!({"scenario": "multi", "ok": false, "err": error.to_string()}),
        Err(_) => json!({"scenario": "multi", "ok": false, "err": "timeout"}),
    };
    println!("{report}");
    std::process::exit(0); // the servers end with their input
}

async fn run(args: Args) -> Result<()> {
    match args.scenario.as_str() {
        "oneshot" => oneshot(&args).await,
        "seq" | "big" => sequence(&args).await,
        "conc" => concurrent(&args).await,
        "list" => list(&args).await,
        "multi" => many(&args).await,
        other => panic!("unknown scenario {other}"),
    }
}

fn main() -> Result<()> {
    let args = parse();
    let mut builder = match args.multi_thread {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build().expect("a runtime");
    if args.spawned {
        return runtime.block_on(async { tokio::spawn(run(args)).await.expect("no panic") });
    }
    runtime.block_on(run(args))
}
