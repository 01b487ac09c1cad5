// The server's API (docs/api.md), typed.

import { gather } from "../flame/unpack";

export interface Session {
  login_required: boolean;
  user: string | null;
  csrf: string;
  can: { look: boolean; act: boolean; admin?: boolean };
  version: string;
  now_ms?: number;
  file_mode?: boolean;
}

export interface TypeState {
  type: string;
  enabled: boolean;
  interval_s: number;
  duration_s: number;
  next_ms: number;
  last_ms: number;
  backoff_until_ms: number;
  error: string;
  failures?: number;
  running?: boolean;
}

export interface NodeState {
  id: number;
  role: "FE" | "BE" | "CN";
  name: string;
  host: string;
  port: number;
  alive: boolean;
  last_seen_ms: number;
  error: string;
  version?: string;
  types: TypeState[];
}

export interface ProfileRow {
  id: number;
  node: number;
  type: string;
  time_ms: number;
  duration_ms: number;
  size_bytes: number;
  samples: number;
  file: string;
  sample_types: string[];
  total?: number; // of the sample type that is shown unless another is asked for
  total_type?: string; // "inuse_space/bytes"
  has_data?: boolean;
}

export interface Job {
  id: number;
  node: number;
  type: string;
  state: "waiting" | "running" | "done" | "failed";
  progress: number;
  profile_id: number;
  error: string;
}

export interface Timeline {
  from_ms: number;
  to_ms: number;
  bucket_ms: number;
  series: { node: number; type: string; buckets: { t_ms: number; profiles: number; samples: number; bytes: number; total?: number; total_type?: string }[] }[];
}

export interface SourceFunctions {
  functions: { name: string; file: string; lines: { line: number; flat: number; cum: number; text: string }[] }[];
}

export class ApiError extends Error {
  constructor(readonly status: number, text: string) {
    super(text);
  }
}

const ROOT = "api/v1/";
let csrf = "";
export let onLogin: () => void = () => undefined;
export function setOnLogin(f: () => void): void {
  onLogin = f;
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(ROOT + path, { credentials: "same-origin", ...init });
  } catch {
    throw new ApiError(0, "");
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && path !== "login") onLogin();
  let text = `HTTP ${answer.status}`;
  try {
    text = ((await answer.json()) as { error?: string }).error ?? text;
  } catch { /* not JSON */ }
  throw new ApiError(answer.status, text);
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await ask(path, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, body: JSON.stringify(body) });
  return (await answer.json()) as T;
}

const get = async <T>(path: string): Promise<T> => (await (await ask(path)).json()) as T;

export const api = {
  async session(): Promise<Session> {
    const s = await get<Session>("session");
    csrf = s.csrf;
    return s;
  },
  async login(user: string, password: string): Promise<Session> {
    const s = await post<Session>("login", { user, password });
    csrf = s.csrf;
    return s;
  },
  logout: () => post<unknown>("logout", {}),
  nodes: async () => (await get<{ nodes: NodeState[] }>("nodes")).nodes,
  setType: (node: number, type: string, enabled: boolean) => post<TypeState>(`nodes/${node}/types/${type}`, { enabled }),
  profiles: (query: URLSearchParams) => get<{ profiles: ProfileRow[]; total?: number; more?: boolean }>("profiles?" + query.toString()),
  collect: (node: number, type: string, seconds: number) => post<{ job: number }>("collect", { node, type, seconds }),
  job: (id: number) => get<Job>(`jobs/${id}`),
  timeline: (query: URLSearchParams) => get<Timeline>("timeline?" + query.toString()),
  source: (query: URLSearchParams) => get<SourceFunctions>("source?" + query.toString()),
  async flame(query: URLSearchParams, onPreview: (bytes: Uint8Array) => Promise<void>): Promise<Uint8Array> {
    const answer = await ask("flame?" + query.toString());
    return answer.body ? gather(answer.body.getReader(), 1 << 18, onPreview) : new Uint8Array(await answer.arrayBuffer());
  },
  // A file of the reader's own: its call tree, or that as another kind of file.
  async open(file: File, format = "flame"): Promise<Uint8Array> {
    const answer = await ask(`open?name=${encodeURIComponent(file.name)}&format=${format}`, { method: "POST", headers: { "Content-Type": "application/octet-stream", "X-CSRF-Token": csrf }, body: file });
    return new Uint8Array(await answer.arrayBuffer());
  },
  rawUrl: (id: number) => `${ROOT}profiles/${id}/raw`,
  exportUrl: (query: URLSearchParams, format: string) => `${ROOT}export?${query.toString()}&format=${format}`,
};

// Calls f for every event of the server; reconnecting is the browser's work. Returns how to stop.
export function listen(f: (kind: string, data: Record<string, unknown>) => void): () => void {
  const source = new EventSource(ROOT + "events");
  for (const kind of ["profile", "profile-removed", "node", "type", "job"])
    source.addEventListener(kind, (e) => {
      try {
        f(kind, JSON.parse((e as MessageEvent<string>).data) as Record<string, unknown>);
      } catch { /* a broken event is no reason to stop */ }
    });
  return () => source.close();
}
