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


def pools(methods, stacks, strings):
    """methods: {number: name}; stacks: {number: [method numbers, leaf first]}; strings: {number: text}"""
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
    }
    body = varint(0) * 3 + b"\1" + varint(len(tables))
    for name, entries in tables.items():
        body += varint(IDS[name]) + varint(len(entries)) + b"".join(varint(k) + v for k, v in entries.items())
    return record(1, body)


def sample(stack):
    return small_record(IDS["jdk.ExecutionSample"], varint(1000) + varint(5) + varint(stack) + varint(1))


def setting(name, value):
    return record(IDS["jdk.ActiveSetting"], varint(1000) + varint(IDS["jdk.ExecutionSample"]) + text(name) + text(value))


def chunk(number, events, methods, stacks, strings={}):
    """The number'th of a recording: each goes on where the one before it ended."""
    description = metadata()
    body = description + b"".join(events)
    table = pools(methods, stacks, strings)
    return b"FLR\0" + struct.pack(">HHQQQQQQQI", 2, 1, 68 + len(body) + len(table), 68 + len(body), 68, START_NS + number * CHUNK_NS, CHUNK_NS,
                                  number * CHUNK_NS, 1_000_000_000, 1) + body + table
