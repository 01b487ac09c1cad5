// host.rs - libprocprof linked into a Rust program, which takes a CPU profile of itself and prints it.
//
//   rustc -O -g -L build -C link-arg=-Wl,-rpath,$PWD/build examples/host.rs -o host && ./host
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_double, c_int, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};

#[repr(C)]
struct PpOptions {
    size: usize,
    listen: *const c_char,
    token: *const c_char,
    settings: *const c_char,
}

#[repr(C)]
struct PpCapture {
    size: usize,
    kind: *const c_char,
    seconds: c_double,
    frequency: c_uint,
    format: *const c_char,
}

#[link(name = "procprof")]
extern "C" {
    fn pp_agent_start(options: *const PpOptions) -> c_int;
    fn pp_agent_stop();
    fn pp_profile(capture: *const PpCapture, bytes: *mut *mut c_void, n_bytes: *mut usize) -> c_int;
    fn pp_free(bytes: *mut c_void, n_bytes: usize);
    fn pp_label_set(key: *const c_char, value: *const c_char) -> c_int;
    fn pp_error_text() -> *const c_char;
}

fn check(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // pp_error_text is never null and stays valid until this thread's next call.
    Err(unsafe { CStr::from_ptr(pp_error_text()) }.to_string_lossy().into_owned())
}

fn start(listen: &str) -> Result<(), String> {
    let listen = CString::new(listen).unwrap();
    let options = PpOptions {
        size: std::mem::size_of::<PpOptions>(),
        listen: listen.as_ptr(),
        token: std::ptr::null(),
        settings: std::ptr::null(),
    };
    check(unsafe { pp_agent_start(&options) })
}

fn profile(kind: &str, seconds: f64, format: &str) -> Result<Vec<u8>, String> {
    let (kind, format) = (CString::new(kind).unwrap(), CString::new(format).unwrap());
    let capture = PpCapture {
        size: std::mem::size_of::<PpCapture>(),
        kind: kind.as_ptr(),
        seconds,
        frequency: 0,
        format: format.as_ptr(),
    };
    let (mut bytes, mut n_bytes) = (std::ptr::null_mut(), 0usize);
    check(unsafe { pp_profile(&capture, &mut bytes, &mut n_bytes) })?;
    let copy = unsafe { std::slice::from_raw_parts(bytes as *const u8, n_bytes) }.to_vec();
    unsafe { pp_free(bytes, n_bytes) };
    Ok(copy)
}

#[inline(never)]
fn sieve(limit: usize) -> usize {
    let mut composite = vec![false; limit];
    let mut n_primes = 0;
    for i in 2..limit {
        if !composite[i] {
            n_primes += 1;
            let mut j = i * i;
            while j < limit {
                composite[j] = true;
                j += i;
            }
        }
    }
    n_primes
}

static DONE: AtomicBool = AtomicBool::new(false);

fn run() -> Result<(), String> {
    start("127.0.0.1:0")?;
    let worker = std::thread::spawn(|| {
        let (key, value) = (CString::new("job").unwrap(), CString::new("sieve").unwrap());
        unsafe { pp_label_set(key.as_ptr(), value.as_ptr()) };
        let mut sum = 0;
        while !DONE.load(Ordering::Relaxed) {
            sum += sieve(200_000);
        }
        sum
    });
    let text = profile("profile", 1.0, "text");
    DONE.store(true, Ordering::Relaxed);
    let sum = worker.join().map_err(|_| "the worker panicked".to_string())?;
    print!("{}", String::from_utf8_lossy(&text?));
    println!("# primes counted: {}", sum);
    unsafe { pp_agent_stop() };
    Ok(())
}

fn main() {
    if let Err(why) = run() {
        eprintln!("host: {}", why);
        std::process::exit(1);
    }
}
