// What a function's name says: which language and package it is of, and shorter ways to write it.

export type Kind = "java" | "native" | "cpp" | "rust" | "go" | "kernel" | "jvm" | "python" | "address" | "other";
export const KINDS: Kind[] = ["java", "cpp", "rust", "go", "native", "jvm", "kernel", "python", "address", "other"];

const KERNEL = /\[kernel|^\[k\]|_\[k\]$|vmlinux|\.ko\b/;
const JVM_MODULE = /libjvm\.|libjava\./;

// What compilers put behind the names of parts and copies of functions.
const CLONE = /\.(?:part|isra|constprop|cold|lto_priv|llvm|clone|localalias)(?:\.\d+)*$/;

// Code without a name is called by its place: object+0xoffset.
const PLACE = /\+0x[0-9a-f]+$/;

export function kindOf(name: string, file: string, module: string): Kind {
  name = name.replace(CLONE, "");
  if ((name.startsWith("0x") && /^0x[0-9a-f]+/i.test(name)) || PLACE.test(name)) return KERNEL.test(module) ? "kernel" : "address";
  if (/_\[[ji01]\]$/.test(name)) return "java";
  if (/_\[k\]$/.test(name) || KERNEL.test(module)) return "kernel";
  if (JVM_MODULE.test(module)) return "jvm";
  if (/\.rs$/.test(file) || /::h[0-9a-f]{16}$/.test(name) || /^<.* as .*>::/.test(name) || /^(core|alloc|std|tokio)::(?!__|string|vector|_)/.test(name) && /::\{\{|::<|::[a-z_]+$/.test(name) && !/\(/.test(name)) return "rust";
  if (/\.go$/.test(file) || /^(runtime|main|net\/http|sync|github\.com\/)[./]/.test(name)) return "go";
  if (/\.(java|kt|scala)$/.test(file) || /^[a-z][\w$]*([./][\w$]+)+[./][\w$<>]+$/.test(name) && !name.includes("::")) return "java";
  if (/\.py$/.test(file)) return "python";
  if (name.includes("::") || /\(.*\)/.test(name) && /[*&]|const/.test(name) || name.startsWith("operator ")) return "cpp";
  if (/^(sys_|do_sys|__x64_sys|entry_SYSCALL|el0_|asm_|ret_from_)/.test(name)) return "kernel";
  if (/^(JVM_|Java_|Unsafe_|G1|Compile::|CodeHeap|PhaseChaitin)/.test(name)) return "jvm";
  return /^[A-Za-z_][\w.@]*$/.test(name) ? "native" : "other";
}

const ENDINGS = /\.(?:(rs)|(go)|(java|kt|scala)|(py))$/;
// Which language a source file is in, as far as kindOf looks at it.
export function languageOf(file: string): number {
  const m = ENDINGS.exec(file);
  return m ? (m[1] ? 1 : m[2] ? 2 : m[3] ? 3 : 4) : 0;
}

// Names with the same key are of the same kind and package: what decides is looked at once for all of them.
export function groupKey(name: string, language: number, module: number): string {
  if (name.includes("+0x")) return name;
  const last = name.charCodeAt(name.length - 1);
  let cut = -1;
  for (let i = 0; i < name.length && i < 300; i++) {
    const c = name.charCodeAt(i);
    if (c === 58 && i > 0) { cut = i; break; } // a::b
    if (c === 46 || c === 47) { cut = name.lastIndexOf(".", 300); break; } // a.b.c, a/b.c
    if (c === 40 || c === 60 || c === 32 || c === 91) return name; // ( < blank [: no telling from the beginning alone
  }
  const start = cut > 0 ? name.slice(0, cut) : name.slice(0, 6);
  return last === 93 ? "" : `${start}\n${language}\n${module}\n${cut > 0 ? name[cut] : ""}${name.charCodeAt(name.length - 17) === 104 ? "h" : ""}`;
}

// The part of a name that people call a package: a Java package, a C++ namespace, a crate, a Go import path; else the module.
export function packageOf(name: string, module: string, kind: Kind): string {
  if (kind === "java") {
    const parts = name.replace(/_\[[ji01]\]$/, "").split(/[./]/);
    return parts.length > 2 ? parts.slice(0, Math.min(3, parts.length - 2)).join(".") : parts[0];
  }
  if (kind === "cpp" || kind === "rust") {
    const plain = stripArguments(name).replace(/^<+/, "");
    const at = plain.indexOf("::");
    if (at > 0) return plain.slice(0, at).replace(/^.* /, "");
  }
  if (kind === "go") {
    const slash = name.lastIndexOf("/"), dot = name.indexOf(".", slash + 1);
    return dot > 0 ? name.slice(0, dot) : name;
  }
  const slash = module.lastIndexOf("/");
  return slash >= 0 ? module.slice(slash + 1) : module || "?";
}

// Without parameter lists and template arguments: "a::b<c>::d(e)" -> "a::b::d". Never empty.
export function stripArguments(name: string): string {
  if (name.length > 4000) name = name.slice(0, 4000);
  if (!/[<(\[]/.test(name) || /\.\(\*|\]\)\.|\.</.test(name)) return name; // Go's methods, Java's constructors
  let out = "", depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === "<" || c === "(") {
      if (name.startsWith("operator", out.length ? i - 8 : -9) && depth === 0 && out.endsWith("operator")) { out += c; continue; }
      if (c === "(" && name.startsWith("(anonymous namespace)", i)) { if (!depth) out += "(anon)"; i += 20; continue; }
      depth++;
    } else if ((c === ">" && name[i - 1] !== "-") || c === ")") {
      if (depth) depth--;
      else out += c;
    } else if (!depth) {
      out += c;
    }
  }
  out = out.replace(/\[abi:\w+\]/g, "").replace(/ const$/, "").replace(/::::/g, "::").trim();
  return out.length > 1 ? out : name;
}

// Ever shorter ways to write a name, longest first.
export function shorterNames(name: string): string[] {
  const plain = stripArguments(name).replace(CLONE, "");
  const out = [name];
  if (plain !== name) out.push(plain);
  const java = !plain.includes("::");
  const parts = plain.split(java ? /[./]/ : "::").filter((p) => p !== "");
  const glue = java ? "." : "::";
  for (let keep = Math.min(parts.length - 1, 3); keep >= 1; keep--) out.push(parts.slice(parts.length - keep).join(glue));
  return out;
}
