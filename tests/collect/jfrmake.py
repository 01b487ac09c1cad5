"""Small JFR recordings made by hand, in the layout of the JDK: what a real JVM writes only now and then."""
import struct

START_NS = 1_700_000_000_000_000_000
CHUNK_NS = 1_000_000_000

#        name, [(field, type, in pool, array)]; an event if "jdk." and not "jdk.types."
TYPES = {
    "long": [], "int": [], "short": [], "byte": [], "boolean": [],
    "java.lang.String": [],
    "java.lang.Thread": [("osName", "java.lang.String"), ("osThreadId", "long"), ("javaName", "java.lang.String"), ("javaThreadId", "long")],
    "java.lang.Class": [("classLoader", "long"), ("name", "jdk.types.Symbol", True), ("package", "long"), ("modifiers", "int")],
    "jdk.types.Symbol": [("string", "java.lang.String")],
    "jdk.types.Method": [("type", "java.lang.Class", True), ("name", "jdk.types.Symbol", True), ("descriptor", "jdk.types.Symbol", True),
                         ("modifiers", "int"), ("hidden", "boolean")],
    "jdk.types.FrameType": [("description", "java.lang.String")],
    "jdk.types.ThreadState": [("name", "java.lang.String")],
    "jdk.types.StackTrace": [("truncated", "boolean"), ("frames", "jdk.types.StackFrame", False, True)],
    "jdk.types.StackFrame": [("method", "jdk.types.Method", True), ("lineNumber", "int"), ("bytecodeIndex", "int"),
                             ("type", "jdk.types.FrameType", True)],
    "jdk.ExecutionSample": [("startTime", "long"), ("sampledThread", "java.lang.Thread", True), ("stackTrace", "jdk.types.StackTrace", True),
                            ("state", "jdk.types.ThreadState", True)],
    "jdk.ActiveSetting": [("startTime", "long"), ("id", "long"), ("name", "java.lang.String"), ("value", "java.lang.String")],
    "jdk.ActiveRecording": [("startTime", "long")],
    "jdk.ObjectAllocationInNewTLAB": [("startTime", "long"), ("eventThread", "java.lang.Thread", True), ("stackTrace", "jdk.types.StackTrace", True),
                                      ("objectClass", "java.lang.Class", True), ("allocationSize", "long"), ("tlabSize", "long")],
    "jdk.ObjectAllocationSample": [("startTime", "long"), ("eventThread", "java.lang.Thread", True), ("stackTrace", "jdk.types.StackTrace", True),
                                   ("objectClass", "java.lang.Class", True), ("weight", "long")],
    "profiler.LiveObject": [("startTime", "long"), ("eventThread", "java.lang.Thread", True), ("stackTrace", "jdk.types.StackTrace", True),
                            ("objectClass", "java.lang.Class", True), ("allocationSize", "long"), ("allocationTime", "long")],
    # What takes no bytes, alone and in arrays.
    "test.Nothing": [],
    "test.Nothings": [("one", "test.Nothing"), ("many", "test.Nothing", False, True), ("inner", "test.Inner")],
    "test.Inner": [("one", "test.Nothing")],
}
IDS = {name: number for number, name in enumerate(TYPES, 20)}


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def text(value):
    """In place; or, of a number, a reference to the pool of strings."""
    if isinstance(value, int):
        return b"\2" + varint(value)
    return b"\3" + varint(len(value.encode())) + value.encode()


def record(type_id, body):
    body = varint(type_id) + body
    return padded(len(body) + 4) + body


def padded(size):
    """A size in four bytes, as the JDK has it for large records."""
    return bytes([size & 0x7f | 0x80, size >> 7 & 0x7f | 0x80, size >> 14 & 0x7f | 0x80, size >> 21 & 0x7f])


def small_record(type_id, body):
    body = varint(type_id) + body
    assert len(body) < 126
    return bytes([len(body) + 1]) + body


def metadata():
    strings = []

    def index(string):
        if string not in strings:
            strings.append(string)
        return varint(strings.index(string))

    def element(name, attributes, children=()):
        return (index(name) + varint(len(attributes)) + b"".join(index(k) + index(v) for k, v in attributes.items()) +
                varint(len(children)) + b"".join(children))

    classes = []
    for name, fields in TYPES.items():
        children = []
        for field, type_name, *more in fields:
            attributes = {"name": field, "class": str(IDS[type_name])}
            if more and more[0]:
                attributes["constantPool"] = "true"
            if len(more) > 1 and more[1]:
                attributes["dimension"] = "1"
            children.append(element("field", attributes))
        attributes = {"id": str(IDS[name]), "name": name}
        if name.startswith("jdk.") and not name.startswith("jdk.types."):
            attributes["superType"] = "jdk.jfr.Event"
        if name in ("jdk.types.Symbol", "jdk.types.FrameType", "jdk.types.ThreadState"):
            attributes["simpleType"] = "true"
        classes.append(element("class", attributes, children))
    root = element("root", {}, [element("metadata", {}, classes), element("region", {"locale": "en", "gmtOffset": "0"})])
    return record(0, varint(0) * 3 + varint(len(strings)) + b"".join(text(s) for s in strings) + root)


def pools(methods, stacks, strings, more={}, delta=0):
    """methods: {number: name}; stacks: {number: [method numbers, leaf first]}; strings: {number: text}; more: {type: {number: bytes}}"""
    tables = {
        "java.lang.String": {k: text(v) for k, v in strings.items()},
        "jdk.types.FrameType": {1: text("Interpreted"), 2: text("JIT compiled")},
        "jdk.types.ThreadState": {1: text("STATE_RUNNABLE")},
        "java.lang.Thread": {5: text("worker") + varint(55) + text("worker") + varint(5)},
        "jdk.types.Symbol": {1: text("Place"), 2: text("()V"), **{100 + k: text(v) for k, v in methods.items()}},
        "java.lang.Class": {3: varint(0) + varint(1) + varint(0) + varint(1)},
        "jdk.types.Method": {k: varint(3) + varint(100 + k) + varint(2) + varint(1) + b"\0" for k in methods},
        "jdk.types.StackTrace": {k: b"\0" + varint(len(frames)) + b"".join(varint(m) + varint(7) + varint(0) + b"\2" for m in frames)
                                 for k, frames in stacks.items()},
        **more,
    }
    body = varint(0) * 2 + varint(delta) + b"\1" + varint(len(tables))
    for name, entries in tables.items():
        body += varint(IDS[name]) + varint(len(entries)) + b"".join(varint(k) + v for k, v in entries.items())
    return record(1, body)


def sample(stack):
    return small_record(IDS["jdk.ExecutionSample"], varint(1000) + varint(5) + varint(stack) + varint(1))


def allocation(stack, size, buffer):
    return small_record(IDS["jdk.ObjectAllocationInNewTLAB"], varint(1000) + varint(5) + varint(stack) + varint(3) + varint(size) + varint(buffer))


def allocation_sample(stack, weight):
    return small_record(IDS["jdk.ObjectAllocationSample"], varint(1000) + varint(5) + varint(stack) + varint(3) + varint(weight))


def live_object(stack, size):
    return small_record(IDS["profiler.LiveObject"], varint(1000) + varint(5) + varint(stack) + varint(3) + varint(size) + varint(900))


def setting(name, value, about="jdk.ExecutionSample"):
    return record(IDS["jdk.ActiveSetting"], varint(1000) + varint(IDS[about]) + text(name) + text(value))


def chunk(number, events, methods, stacks, strings={}, more={}):
    """The number'th of a recording: each goes on where the one before it ended."""
    description = metadata()
    body = description + b"".join(events)
    table = pools(methods, stacks, strings, more)
    return closed(number, body + table, 68 + len(body))


def closed(number, records, pool_at):
    """Records, the first of which is the metadata, as a chunk."""
    return b"FLR\0" + struct.pack(">HHQQQQQQQI", 2, 1, 68 + len(records), pool_at, 68, START_NS + number * CHUNK_NS, CHUNK_NS,
                                  number * CHUNK_NS, 1_000_000_000, 1) + records
