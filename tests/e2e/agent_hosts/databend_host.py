# Runs the Databend engine inside Python, two queries over and over, until its input ends.
import sys, threading
from databend import SessionContext

done = threading.Event()


def ask(sql):
    context = SessionContext()
    while not done.is_set():
        context.sql(sql).collect()


workers = [threading.Thread(target=ask, args=(sql,)) for sql in (
    "select sum(sin(number) + sqrt(number)) from numbers(3000000)",
    "select number % 1000 as k, count(*), avg(number) from numbers(1000000) group by k order by k limit 10")]
for w in workers: w.start()
print("ready", flush=True)
sys.stdin.read()
done.set()
for w in workers: w.join()
print("done", flush=True)
