// What a program does through MySQL Connector/J, once for each of the connection options: prints "options<TAB>OPTIONS" and then
// "step<TAB>value" lines, for driver.test to look at.
//   Driver PORT NODE PASSWORD OPTIONS...
import java.sql.*;

public class Driver {
    static void say(String step, Object value) {
        System.out.println(step + "\t" + value);
    }

    public static void main(String[] args) throws Exception {
        for (int i = 3; i < args.length; i++) {
            say("options", args[i]);
            use("jdbc:mysql://127.0.0.1:" + args[0] + "/", args[1], args[2], args[i]);
        }
    }

    static void use(String at, String node, String password, String options) throws Exception {
        try (Connection c = DriverManager.getConnection(at + options, "root", password)) {
            say("product", c.getMetaData().getDatabaseProductVersion());
            say("valid", c.isValid(5));
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SHOW BACKENDS")) {
                say("columns", r.getMetaData().getColumnCount());
                r.next();
                say("backend", r.getLong("BackendId") + " " + r.getString("IP"));
            }
            try (PreparedStatement p = c.prepareStatement("ADMIN EXECUTE ON ? ?")) {
                p.setLong(1, Long.parseLong(node));
                p.setString(2, "System.print(HeapProf.getInstance().enable_prof())");
                p.execute(); // executeQuery() refuses what does not begin with SELECT, SHOW ... before it asks the server
                try (ResultSet r = p.getResultSet()) {
                    r.next();
                    say("prepared", r.getString("result"));
                }
                p.setString(2, "System.print(10)\nSystem.print(20)\nSystem.print(30)");
                StringBuilder lines = new StringBuilder();
                p.execute();
                try (ResultSet r = p.getResultSet()) {
                    while (r.next()) lines.append(r.getInt(1)).append(' ');
                }
                say("lines", lines.toString().trim());
            }
            c.setAutoCommit(true);
            try (Statement s = c.createStatement()) {
                s.execute("ADMIN EXECUTE ON 4711 'System.print(1)'");
                say("wrong id", "nothing happened");
            } catch (SQLException e) {
                say("wrong id", e.getErrorCode() + " " + e.getSQLState() + " " + e.getMessage());
            }
        }
        try (Connection c = DriverManager.getConnection(at + options, "root", "no")) {
            say("wrong password", "let in");
        } catch (SQLException e) {
            say("wrong password", e.getErrorCode() + " " + e.getSQLState());
        }
    }
}
