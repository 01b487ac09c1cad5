import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;

/** Deep calls, maps and short waits on two threads, for the benchmark of overhead; "mark" tells operations and CPU time so far. */
public class Bench {
    static final AtomicLong operations = new AtomicLong();
    static final Object shared = new Object();
    static volatile Object keep;

    interface Step {
        long go(int depth, Map<Integer, String> map);
    }

    static long odd(int depth, Map<Integer, String> map) {
        return depth == 0 ? leaf(map) : STEPS[depth & 1].go(depth - 1, map) + 1;
    }

    static long even(int depth, Map<Integer, String> map) {
        return depth == 0 ? leaf(map) : STEPS[depth & 1].go(depth - 1, map) * 3;
    }

    static final Step[] STEPS = {Bench::odd, Bench::even};

    static long leaf(Map<Integer, String> map) {
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            map.put(i, "value " + i);
            sum += map.get(i).hashCode();
        }
        return sum;
    }

    static void run() {
        while (true) {
            Map<Integer, String> map = new HashMap<>();
            long sum = 0;
            for (int i = 0; i < 20; i++) sum += STEPS[i & 1].go(40, map);
            keep = map;
            synchronized (shared) {
                operations.addAndGet(20 + (sum & 0));
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        var os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(Bench::run, "bench-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(4000);
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            in.nextLine();
            System.out.println("done ops=" + operations.get() + " cpu=" + os.getProcessCpuTime());
        }
    }
}
