import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A small SQL frontend under load, to be profiled: sessions run queries against an in-memory database (H2, when it is in the class
 * path; plain collections otherwise). It has what real frontends have: a hot query, a parser that allocates too much, and a catalog
 * lock that sessions wait for.
 *
 * <p>Options: --sessions N (3), --load SHARE of one core per session (0.15), --seconds N (0: until it is ended).
 */
public class DemoFe {
    /** What a session can ask for. */
    interface Database {
        long report(int region) throws SQLException; // the hot one

        long lookUp(int id) throws SQLException;

        void change(int id) throws SQLException;
    }

    // ---- H2

    static class SqlDatabase implements Database {
        static final String URL = "jdbc:h2:mem:demo;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=5000";
        private final Connection connection;
        private final PreparedStatement report, lookUp, change;

        SqlDatabase() throws SQLException {
            connection = DriverManager.getConnection(URL);
            report = connection.prepareStatement("SELECT c.region, COUNT(*), SUM(o.amount), AVG(o.amount) FROM orders o"
                    + " JOIN customers c ON o.customer = c.id WHERE c.region = ? AND o.amount * 7 + o.id > 20000 GROUP BY c.region");
            lookUp = connection.prepareStatement("SELECT amount FROM orders WHERE id = ?");
            change = connection.prepareStatement("UPDATE orders SET amount = amount + 1 WHERE id = ?");
        }

        static void fill(int orders) throws SQLException {
            Random random = new Random(1);
            try (Connection c = DriverManager.getConnection(URL); Statement s = c.createStatement()) {
                s.execute("CREATE TABLE customers(id INT PRIMARY KEY, region INT, name VARCHAR(40))");
                s.execute("CREATE TABLE orders(id INT PRIMARY KEY, customer INT, amount INT, note VARCHAR(80))");
                try (PreparedStatement insert = c.prepareStatement("INSERT INTO customers VALUES(?, ?, ?)")) {
                    for (int i = 0; i < orders / 20; i++) {
                        insert.setInt(1, i);
                        insert.setInt(2, i % 8);
                        insert.setString(3, "customer " + i);
                        insert.executeUpdate();
                    }
                }
                try (PreparedStatement insert = c.prepareStatement("INSERT INTO orders VALUES(?, ?, ?, ?)")) {
                    for (int i = 0; i < orders; i++) {
                        insert.setInt(1, i);
                        insert.setInt(2, random.nextInt(orders / 20));
                        insert.setInt(3, random.nextInt(1000));
                        insert.setString(4, i % 3 == 0 ? "an urgent order, number " + i : "an order like any other, number " + i);
                        insert.executeUpdate();
                    }
                }
            }
        }

        private static long first(PreparedStatement query) throws SQLException {
            try (ResultSet rows = query.executeQuery()) {
                return rows.next() ? rows.getLong(1) : 0;
            }
        }

        public long report(int region) throws SQLException {
            report.setInt(1, region);
            return first(report);
        }

        public long lookUp(int id) throws SQLException {
            lookUp.setInt(1, id);
            return first(lookUp);
        }

        public void change(int id) throws SQLException {
            change.setInt(1, id);
            change.executeUpdate();
        }
    }

    // ---- without H2

    static class PlainDatabase implements Database {
        private static final List<int[]> rows = new ArrayList<>(); // customer, amount
        private static final List<String> notes = new ArrayList<>();

        static void fill(int orders) {
            Random random = new Random(1);
            for (int i = 0; i < orders; i++) {
                rows.add(new int[] {random.nextInt(orders / 20), random.nextInt(1000)});
                notes.add(i % 3 == 0 ? "an urgent order, number " + i : "an order like any other, number " + i);
            }
        }

        public long report(int region) {
            Map<Integer, Long> sums = new HashMap<>();
            for (int i = 0; i < rows.size(); i++)
                if (rows.get(i)[0] % 8 == region && notes.get(i).contains("urgent")) sums.merge(region, (long) rows.get(i)[1], Long::sum);
            return sums.getOrDefault(region, 0L);
        }

        public long lookUp(int id) {
            return rows.get(id)[1];
        }

        public void change(int id) {
            rows.get(id)[1]++;
        }
    }

    // ---- the frontend

    static final int ORDERS = 20_000;
    static final AtomicLong queries = new AtomicLong();
    static volatile Object lastPlan;

    /** Every session needs it, and each holds it for too long. */
    static final class Catalog {
        private final Map<String, Long> versions = new HashMap<>();

        synchronized long touch(String table) throws InterruptedException {
            long version = versions.merge(table, 1L, Long::sum);
            if (version % 4 == 0) Thread.sleep(8); // "journal"
            return version;
        }
    }

    static final Catalog catalog = new Catalog();

    /** Makes a list of words out of a text, wastefully. */
    static List<String> parse(String sql) {
        List<String> words = new ArrayList<>();
        String rest = sql;
        while (!rest.isEmpty()) {
            int blank = rest.indexOf(' ');
            words.add(blank < 0 ? rest : rest.substring(0, blank));
            rest = blank < 0 ? "" : rest.substring(blank + 1); // copies all of it, each time
        }
        return words;
    }

    static void plan(int seed) {
        StringBuilder sql = new StringBuilder("SELECT");
        for (int i = 0; i < 60; i++) sql.append(" column_").append(seed + i);
        lastPlan = parse(sql.append(" FROM orders").toString());
    }

    static void session(Database database, double load, int number) {
        Random random = new Random(number);
        while (!Thread.interrupted()) {
            long begin = System.nanoTime();
            try {
                int what = random.nextInt(10);
                plan(random.nextInt(1000));
                catalog.touch(what < 8 ? "orders" : "customers");
                if (what < 3) database.report(random.nextInt(8));
                for (int i = 0; i < 20; i++) database.lookUp(random.nextInt(ORDERS));
                if (what == 9) database.change(random.nextInt(ORDERS));
                queries.incrementAndGet();
                double rest = (System.nanoTime() - begin) * (1 / load - 1);
                Thread.sleep((long) Math.min(rest / 1e6 + 1, 1000));
            } catch (InterruptedException e) {
                return;
            } catch (SQLException e) {
                System.err.println("query failed: " + e.getMessage());
            }
        }
    }

    static boolean hasH2() {
        try {
            Class.forName("org.h2.Driver");
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int sessions = 3;
        double load = 0.15;
        long seconds = 0;
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            switch (arguments[i]) {
                case "--sessions" -> sessions = Integer.parseInt(arguments[i + 1]);
                case "--load" -> load = Double.parseDouble(arguments[i + 1]);
                case "--seconds" -> seconds = Long.parseLong(arguments[i + 1]);
                default -> {
                    System.err.println("DemoFe: there is no option " + arguments[i]);
                    System.exit(2);
                }
            }
        }
        boolean h2 = hasH2();
        if (h2) SqlDatabase.fill(ORDERS);
        else PlainDatabase.fill(ORDERS);
        for (int i = 0; i < sessions; i++) {
            Database database = h2 ? new SqlDatabase() : new PlainDatabase();
            int number = i;
            double share = load;
            Thread thread = new Thread(() -> session(database, share, number), "session-" + i);
            thread.setDaemon(seconds > 0);
            thread.start();
        }
        System.out.println("ready: " + sessions + " sessions, " + (h2 ? "H2" : "without H2") + ", pid " + ProcessHandle.current().pid());
        if (seconds > 0) {
            Thread.sleep(seconds * 1000);
            System.out.println(queries.get() + " queries");
        }
    }
}
