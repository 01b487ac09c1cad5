import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.locks.ReentrantLock;

/** Work with a known truth. "go KIND AMOUNT" on standard input does it and prints "done NAME=VALUE...". */
public class Work {
    static volatile long sink;
    static volatile Object keep;

    /* About a tenth of a millisecond, the same for both: only how often each is called differs. */
    static long spin(long x) {
        for (int i = 0; i < 40000; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static long hot(long x) {
        return spin(x) ^ spin(x + 1) ^ spin(x + 2);
    }

    static long cold(long x) {
        return spin(x);
    }

    /** CPU for AMOUNT milliseconds of this thread's CPU clock; three parts of four in hot. */
    static String cpu(int milliseconds) {
        var clock = ManagementFactory.getThreadMXBean();
        long end = clock.getCurrentThreadCpuTime() + milliseconds * 1_000_000L, begin = clock.getCurrentThreadCpuTime();
        long hotNanos = 0, coldNanos = 0;
        while (clock.getCurrentThreadCpuTime() < end) {
            long a = clock.getCurrentThreadCpuTime();
            for (int i = 0; i < 20; i++) sink += hot(i);
            long b = clock.getCurrentThreadCpuTime();
            for (int i = 0; i < 20; i++) sink += cold(i);
            hotNanos += b - a;
            coldNanos += clock.getCurrentThreadCpuTime() - b;
        }
        return "hot_ns=" + hotNanos + " cold_ns=" + coldNanos + " all_ns=" + (clock.getCurrentThreadCpuTime() - begin);
    }

    static void small() {
        keep = new byte[1008]; /* 1024 with its header */
    }

    static void large() {
        keep = new long[16382]; /* 131072 with its header */
    }

    static final Object[] held = new Object[16];

    /** AMOUNT MiB, half in small arrays and half in large ones; some of the large ones stay. */
    static String alloc(int mebibytes) {
        for (int i = 0; i < mebibytes; i++) {
            held[i % held.length] = keep;
            for (int n = 0; n < 512; n++) small();
            for (int n = 0; n < 4; n++) large();
        }
        return "small_bytes=" + mebibytes * 524288L + " large_bytes=" + mebibytes * 524288L;
    }

    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static long monitorWaitNanos, lockWaitNanos;

    static void pause(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void waitForMonitor() {
        long begin = System.nanoTime();
        synchronized (monitor) {
            monitorWaitNanos += System.nanoTime() - begin;
            pause(7);
        }
    }

    static void waitForLock() {
        long begin = System.nanoTime();
        lock.lock();
        try {
            lockWaitNanos += System.nanoTime() - begin;
            pause(5);
        } finally {
            lock.unlock();
        }
    }

    /** Three threads take a monitor and then a lock from each other, AMOUNT times each. */
    static String contend(int times) throws InterruptedException {
        monitorWaitNanos = lockWaitNanos = 0;
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 3; t++) {
            Thread one = new Thread(() -> {
                for (int i = 0; i < times; i++) {
                    waitForMonitor();
                    waitForLock();
                }
            }, "contender-" + t);
            threads.add(one);
            one.start();
        }
        for (Thread one : threads) one.join();
        return "monitor_ns=" + monitorWaitNanos + " lock_ns=" + lockWaitNanos;
    }

    /** The compressor takes about 256 KiB from malloc each time. */
    static String nativeMemory(int times) {
        for (int i = 0; i < times; i++) new java.util.zip.Deflater().end();
        return "";
    }

    static long deep(int depth, long x) {
        return depth == 0 ? spin(x) : deep(depth - 1, x + 1) + 1;
    }

    public static void main(String[] arguments) throws Exception {
        sink += cpu(100).length() + alloc(1).length(); /* compiled before a profile begins */
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().trim().split(" ");
            int amount = words.length > 2 ? Integer.parseInt(words[2]) : 0;
            if (words[0].equals("halt")) Runtime.getRuntime().halt(3);
            if (!words[0].equals("go")) continue;
            String truth = switch (words[1]) {
                case "cpu" -> cpu(amount);
                case "alloc" -> alloc(amount);
                case "lock" -> contend(amount);
                case "native" -> nativeMemory(amount);
                case "deep" -> {
                    long end = System.nanoTime() + amount * 1_000_000L;
                    while (System.nanoTime() < end) sink += deep(100, 1);
                    yield "";
                }
                default -> "unknown=1";
            };
            System.out.println("done " + truth);
        }
    }
}
