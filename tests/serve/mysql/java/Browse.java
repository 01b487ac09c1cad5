// What tools with a window (DBeaver and its like) ask through JDBC when they draw the tree of a server, once for each of the
// connection options: prints "options<TAB>OPTIONS" and then "step<TAB>value" lines, for driver.test to look at.
//   Browse PORT PASSWORD OPTIONS...
import java.sql.*;
import java.util.*;

public class Browse {
    static void say(String step, Object value) {
        System.out.println(step + "\t" + value);
    }

    interface Rows {
        ResultSet get() throws SQLException;
    }

    /** All values of one column. */
    static String all(Rows rows, String column) throws SQLException {
        StringJoiner joined = new StringJoiner(" ");
        try (ResultSet r = rows.get()) {
            while (r.next()) joined.add(r.getString(column));
        }
        return joined.toString();
    }

    static int count(Rows rows) throws SQLException {
        int n = 0;
        try (ResultSet r = rows.get()) {
            while (r.next()) n++;
        }
        return n;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 2; i < args.length; i++) {
            say("options", args[i]);
            browse("jdbc:mysql://127.0.0.1:" + args[0] + "/procprof", args[1], args[i]);
        }
    }

    static void browse(String at, String password, String options) throws Exception {
        try (Connection c = DriverManager.getConnection(at + options, "root", password)) {
            DatabaseMetaData m = c.getMetaData();
            say("catalog", c.getCatalog());
            say("catalogs", all(m::getCatalogs, "TABLE_CAT"));
            say("tables", all(() -> m.getTables("procprof", null, "%", null), "TABLE_NAME"));
            say("views", count(() -> m.getTables("procprof", null, "%", new String[] {"VIEW"})));
            say("like", all(() -> m.getTables("procprof", null, "compute\\_%", null), "TABLE_NAME"));
            say("columns", all(() -> m.getColumns("procprof", null, "profiles", "%"), "COLUMN_NAME"));
            say("types", all(() -> m.getColumns("procprof", null, "profiles", "s%"), "DATA_TYPE"));
            say("keys", count(() -> m.getPrimaryKeys("procprof", null, "nodes"))
                    + count(() -> m.getImportedKeys("procprof", null, "nodes"))
                    + count(() -> m.getExportedKeys("procprof", null, "nodes"))
                    + count(() -> m.getIndexInfo("procprof", null, "nodes", false, true)));
            say("routines", count(() -> m.getProcedures("procprof", null, "%")) + count(() -> m.getFunctions("procprof", null, "%")));
            say("privileges", count(() -> m.getTablePrivileges("procprof", null, "%")));
            say("keywords", m.getSQLKeywords() != null);
            c.setCatalog("information_schema");
            say("changed", c.getCatalog());
            for (String show : new String[] {"SHOW ENGINES", "SHOW CHARSET", "SHOW COLLATION", "SHOW PLUGINS", "SHOW PRIVILEGES", "SHOW GLOBAL STATUS",
                    "SHOW SESSION VARIABLES", "SHOW FULL TABLES FROM `procprof`", "SHOW TABLE STATUS FROM `procprof`", "SHOW FULL COLUMNS FROM `procprof`.`nodes`",
                    "SHOW CREATE TABLE `procprof`.`nodes`", "SHOW FULL PROCESSLIST", "SELECT * FROM mysql.user ORDER BY user", "SELECT * FROM information_schema.SCHEMATA"})
                try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(show)) {
                    if (!r.next() && !show.equals("SHOW PLUGINS")) say("empty", show);
                }
            try (PreparedStatement p = c.prepareStatement("SELECT id, host, start_time, ? AS given FROM procprof.nodes WHERE kind = ? ORDER BY id LIMIT 1")) {
                p.setString(1, "it's");
                p.setString(2, "BACKEND");
                try (ResultSet r = p.executeQuery()) {
                    r.next();
                    ResultSetMetaData d = r.getMetaData();
                    say("row", r.getLong(1) + " " + r.getString(2) + " " + r.getTimestamp(3) + " " + r.getString(4));
                    say("row types", d.getColumnTypeName(1) + " " + d.getColumnTypeName(2) + " " + d.getColumnTypeName(3));
                }
            }
        }
    }
}
