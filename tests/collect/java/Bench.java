import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.Executors;

/** Deep calls, maps and short waits on two threads, for the benchmark of overhead; "go N" does N batches on each. */
public class Bench {
    static long operations; // under shared
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

    static void run(int batches) {
        for (int batch = 0; batch < batches; batch++) {
            Map<Integer, String> map = new HashMap<>();
            long sum = 0;
            for (int i = 0; i < 20; i++) sum += STEPS[i & 1].go(40, map);
            keep = map;
            synchronized (shared) {
                operations += 20 + (sum & 0);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        var threads = Executors.newFixedThreadPool(2);
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            int batches = Integer.parseInt(in.nextLine().split(" ")[1]);
            var both = List.of(threads.submit(() -> run(batches)), threads.submit(() -> run(batches)));
            for (var one : both) one.get();
            System.out.println("done ops=" + operations);
        }
        threads.shutdown();
    }
}
