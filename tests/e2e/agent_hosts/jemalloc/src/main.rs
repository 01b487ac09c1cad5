// A program whose global allocator is jemalloc, under the prefix _rjem_, and which knows nothing of the profiler. One thread is there
// from the beginning, others come and go; all keep what they allocate in a table that grows to 64 MB and is emptied then. Ends when
// its input does.
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

static DONE: AtomicBool = AtomicBool::new(false);
static ROW_BYTES: usize = 2048;

struct Table {
    rows: Mutex<Vec<Vec<u8>>>,
}

#[inline(never)]
fn load_rows(table: &Table, n: usize) {
    for i in 0..n {
        let mut row = vec![0u8; ROW_BYTES];
        row[i % ROW_BYTES] = 1;
        table.rows.lock().unwrap().push(row);
    }
}

#[inline(never)]
fn load_rows_of_old_thread(table: &Table) {
    for _ in 0..500 {
        let row = vec![1u8; ROW_BYTES + table.rows.lock().unwrap().len() % 2];
        table.rows.lock().unwrap().push(row);
    }
}

fn main() {
    let table: &'static Table = Box::leak(Box::new(Table { rows: Mutex::new(Vec::new()) }));
    let old = std::thread::spawn(move || {
        while !DONE.load(Ordering::Relaxed) {
            load_rows_of_old_thread(table);
            // A young thread for each round.
            std::thread::spawn(move || load_rows(table, 1000)).join().unwrap();
            let mut rows = table.rows.lock().unwrap();
            if rows.len() >= 32_000 {
                rows.clear();
            }
        }
    });
    let _ = std::io::stdin().read(&mut [0u8; 1]);
    DONE.store(true, Ordering::Relaxed);
    old.join().unwrap();
    println!("ended as ever");
}
