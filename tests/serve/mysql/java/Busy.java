// A JVM that works, allocates and waits for a lock, for jvm_node.test.
import java.util.*;

public class Busy {
    static final Object lock = new Object();
    static final List<byte[]> kept = new ArrayList<>();

    static double workHard(int n) {
        double sum = 0;
        for (int i = 1; i < n; i++) sum += Math.sqrt(i);
        return sum;
    }

    static void keepSomething() {
        synchronized (lock) {
            kept.add(new byte[200_000]);
            if (kept.size() > 200) kept.clear();
            workHard(20_000);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int t = 0; t < 2; t++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    workHard(100_000);
                    keepSomething();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }
}
