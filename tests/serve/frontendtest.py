"""A frontend for tests of the server: a JVM that is busy."""
import os
import shutil
import subprocess

import servertest
from servertest import Skip, java_classes

OURS = os.environ.get("PROCPROF_ASYNC_PROFILER") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "procprof/async-profiler-4.5/libasyncProfiler.so")

BUSY = """
public class BusyFrontend {
    static volatile Object keep;
    static volatile long sum;
    static void buildPlans() { for (int i = 0; i < 2000; i++) keep = new byte[2048]; }
    static void onlyCount() { for (int i = 0; i < 300000; i++) sum += i; }
    public static void main(String[] a) throws Exception { System.out.println("up"); while (true) { if (a.length > 0) onlyCount(); else buildPlans(); Thread.sleep(6); } }
}
"""


def frontend(*arguments, options=(), name="BusyFrontend"):
    """Starts the JVM. A test that finds it by its main class gives a name of its own: other tests have frontends at the same time."""
    if not (shutil.which("java") and shutil.which("javac") and os.path.exists(OURS)):
        raise Skip("no JDK, or async-profiler is not in the cache (tools/setup gets it)")
    java = subprocess.Popen(["java", "-Xmx64m", "-XX:+UseSerialGC", *options, "-cp", str(java_classes("javac", BUSY.replace("BusyFrontend", name))), name, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    servertest._cleanups.append(lambda: (java.kill(), java.wait()))
    assert java.stdout.readline() == b"up\n"  # a JVM that is still starting knows few commands
    return java


def settings(java, *more):
    options = [f"fe_jvm={java.pid}", "proc_profile_collect_time_s=1", "heartbeat_interval_s=1", *more]
    return [word for option in options for word in ("--set", option)]


def stamps(server, kind):
    """When the profiles of that type began."""
    return {p["time_ms"] for p in server.profiles(f"node=10001&type={kind}")}


def maps(java):
    return open(f"/proc/{java.pid}/maps").read()
