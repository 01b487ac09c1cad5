// What a program does through Node's mysql2: prints one JSON line a step, for driver.test to look at.
import { createRequire } from 'node:module';
const [folder, port, nodeId, password, cert] = process.argv.slice(2);
const mysql = createRequire(folder + '/x.js')('mysql2/promise');
const say = (step, value) => console.log(JSON.stringify({ step, value }));
const at = { host: '127.0.0.1', port: Number(port), user: 'root', password };
const failure = async (promise) => { try { await promise; return null; } catch (e) { return { errno: e.errno, sqlState: e.sqlState, message: e.message }; } };

const c = await mysql.createConnection(at);
say('version', (await c.query('select version() as v, @@version_comment as c, 1+1 as two'))[0]);
const [backends, fields] = await c.query('SHOW BACKENDS');
say('backends', { rows: backends, names: fields.map((f) => f.name) });
say('execute', (await c.query(`ADMIN EXECUTE ON ${nodeId} 'System.print(HeapProf.getInstance().enable_prof())'`))[0]);
say('placeholder', (await c.query('ADMIN EXECUTE ON ? ?', [Number(nodeId), 'System.print(HeapProf.getInstance().has_enable())']))[0]);
say('prepared', (await c.execute('ADMIN EXECUTE ON ? ?', [Number(nodeId), 'System.print("it\'s fine")']))[0]);
say('prepared again', (await c.execute('ADMIN EXECUTE ON ? ?', [Number(nodeId), 'System.print(42)']))[0]);
say('prepared where', (await c.execute('SHOW BACKENDS WHERE BackendId = ?', [Number(nodeId)]))[0].map((r) => r.BackendId));
say('prepared select', (await c.execute('select ? as a, ? as b, ? as n, 2.5 as r', ["x'; drop", 42, null]))[0]);
say('lines', (await c.query(`ADMIN EXECUTE ON ${nodeId} 'System.print(1)\nSystem.print(2)\nSystem.print(3)'`))[0].map((r) => r.result));
say('wrong id', await failure(c.query("ADMIN EXECUTE ON 4711 'System.print(1)'")));
say('syntax', await failure(c.query('SHWO BACKENDS')));
say('goes on', (await c.query('select 1 as one'))[0]);
say('table', (await c.query('SELECT id, kind, host FROM procprof.nodes WHERE kind = ?', ['backend']))[0]);
say('table prepared', (await c.execute('SELECT n.id, b.IP, b.LastStartTime t, count(*) c, 0.5 r FROM procprof.nodes n JOIN procprof.backends b ON b.BackendId = n.id WHERE n.id = ? GROUP BY n.id', [Number(nodeId)]))[0]);
await c.query('USE information_schema');
say('columns', (await c.query('SELECT `column_name`, data_type FROM columns WHERE table_schema = "procprof" AND table_name LIKE "nod%" ORDER BY ordinal_position LIMIT 2'))[0]);
say('no table', await failure(c.query('SELECT * FROM procprof.nothing')));
await c.ping();
say('ping', true);
await c.changeUser({ user: 'root', password });
say('changed user', (await c.query('select current_user() as u'))[0]);
const statement = await c.prepare('select ? as v');
say('statement', (await statement.execute(['kept']))[0]);
await statement.close();
await c.end();
say('wrong password', await failure(mysql.createConnection({ ...at, password: 'no' })));
const pool = mysql.createPool({ ...at, connectionLimit: 8 });
const all = await Promise.all(Array.from({ length: 64 }, (_, i) => pool.query('select ? as i', [i])));
say('pool', all.reduce((sum, [rows]) => sum + Number(rows[0].i), 0));
await pool.end();
if (cert) {
    const tls = await mysql.createConnection({ ...at, ssl: { rejectUnauthorized: false } });
    say('tls', (await tls.query("select 'secret' as s"))[0]);
    await tls.end();
}
