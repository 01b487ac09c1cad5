// host.rs - a Rust program that knows nothing of the profiler: generic code, closures, panics that are caught, threads
// that come and go (not too soon: CPU timers, where perf events are not allowed, see the kernel's ticks only). Prints its CPU time by kind of work when its input ends: the truth to compare with.
use std::collections::HashMap;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}
extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// std::hint::black_box, for compilers that do not have it yet (before 1.66).
#[inline(never)]
fn black_box<T>(value: T) -> T {
    let copy = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    copy
}

fn cpu_ns() -> u64 {
    let mut t = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(3, &mut t) }; // CLOCK_THREAD_CPUTIME_ID
    t.seconds as u64 * 1_000_000_000 + t.nanoseconds as u64
}

#[inline(never)]
fn count_words(n: u32) -> usize {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for i in 0..n {
        *counts.entry(format!("word-{}", i * 7919 % 1000)).or_insert(0) += 1;
    }
    counts.len()
}

#[inline(never)]
fn sort_rows(n: u32) -> u64 {
    let mut rows: Vec<u64> = (0..n as u64).map(|i| i.wrapping_mul(6364136223846793005) >> 7).collect();
    rows.sort_unstable_by(|a, b| b.cmp(a));
    rows[rows.len() / 2]
}

#[inline(never)]
fn panic_deep(depth: u32) -> u32 {
    let held = vec![depth; 4];
    if depth == 0 {
        panic!("no such row");
    }
    black_box(panic_deep(depth - 1)) + held[0]
}

#[inline(never)]
fn catch_panics(n: u32) {
    for _ in 0..n {
        let _ = black_box(std::panic::catch_unwind(|| panic_deep(20)));
    }
}

static DONE: AtomicBool = AtomicBool::new(false);
static SPENT: [AtomicU64; 3] = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let workers: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                while !DONE.load(Ordering::Relaxed) {
                    // A young thread for each round: they come and go while samples are taken.
                    let _ = std::thread::spawn(|| {
                        for _ in 0..20 {
                            let a = cpu_ns();
                            black_box(count_words(20_000));
                            let b = cpu_ns();
                            black_box(sort_rows(60_000));
                            let c = cpu_ns();
                            catch_panics(100);
                            let d = cpu_ns();
                            for (i, ns) in [b - a, c - b, d - c].iter().enumerate() {
                                SPENT[i].fetch_add(*ns, Ordering::Relaxed);
                            }
                            if DONE.load(Ordering::Relaxed) {
                                return;
                            }
                        }
                    })
                    .join();
                }
            })
        })
        .collect();
    let _ = std::io::stdin().read(&mut [0u8; 1]);
    DONE.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(1));
    for w in workers {
        w.join().unwrap();
    }
    for (name, ns) in ["count_words", "sort_rows", "catch_panics"].iter().zip(SPENT.iter()) {
        println!("truth {} {}", name, ns.load(Ordering::Relaxed) as f64 * 1e-9);
    }
}
