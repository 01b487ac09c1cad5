"""starting_jvm.py N RECORDING LOG DIR: answers as a JVM that is being asked while it starts. It has a file named libjvm.so in memory, handles
SIGQUIT and listens as the JVM does; the first N times it does not know JFR.start, as long as its flight recorder is not up."""
import mmap, os, re, shutil, signal, socket, sys

n_unknown, recording, log, folder = int(sys.argv[1]), sys.argv[2], open(sys.argv[3], "w"), sys.argv[4]
library = os.path.join(folder, "libjvm.so")
with open(library, "wb") as file:
    file.write(bytes(4096))
with open(library, "rb") as file:
    mapped = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
signal.signal(signal.SIGQUIT, lambda *_: None)
address = f"/tmp/.java_pid{os.getpid()}"
if os.path.exists(address):
    os.unlink(address)  # A JVM that was killed left it, and this process has its pid now. A JVM removes it too.
listener = socket.socket(socket.AF_UNIX)
os.umask(0o177)
listener.bind(address)
listener.listen()
print("ready", flush=True)
unknown = b"1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n"
while True:
    peer, _ = listener.accept()
    words = b""
    while words.count(b"\0") < 5:  # version, command, three arguments
        more = peer.recv(4096)
        if not more:
            break
        words += more
    command = words.split(b"\0")[2].decode() if words.count(b"\0") >= 5 else ""
    print(command.split(" ")[0], file=log, flush=True)
    answer = b"0\n"
    if command == "VM.version":
        answer = b"0\nOpenJDK 64-Bit Server VM version 17.0.15\nJDK 17.0.15\n"
    elif command.startswith("JFR.start"):
        answer = unknown if n_unknown > 0 else b"0\nStarted recording 1.\n"
        n_unknown -= 1
    elif "filename=" in command:
        shutil.copy(recording, re.search(r"filename=(\S+)", command).group(1))
    peer.sendall(answer)
    peer.close()
