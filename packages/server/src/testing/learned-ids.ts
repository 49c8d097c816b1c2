import type { RandomRequest } from './random-requests.ts';

const maxPerPool = 9;

/** Collects ids and names from earlier answers, for use in later requests. */
export class LearnedIds {
  readonly #pools = new Map<string, string[]>();

  learn(pool: string, id: string): void {
    // Only the first four agents are kept, because these are the agents that answer.
    if (pool === 'agents' && (this.#pools.get(pool)?.length ?? 0) >= 4) return;
    const others = (this.#pools.get(pool) ?? []).filter((known) => known !== id);
    // Only the latest ids are kept, because older resources may be deleted.
    this.#pools.set(pool, [...others, id].slice(-maxPerPool));
  }

  /** Collects all ids in an answer. */
  learnFrom({ path }: Pick<RandomRequest, 'path'>, json: unknown): void {
    const pool = path.split('/')[1] ?? '';
    const cursor = fieldOf(json, 'next_cursor');
    if (typeof cursor === 'string') this.learn('cursors', cursor);
    const result = fieldOf(json, 'result');
    // For a JSON-RPC answer, only the result is searched, because the top-level id is the id of the
    // request.
    const values = result === undefined ? [json, fieldOf(json, 'data')] : [result];
    for (const one of values.flat().slice(0, 20)) {
      const [id, task, name] = ['id', 'task_id', 'name'].map((key) => fieldOf(one, key));
      const kind = result === undefined ? pool : task === undefined ? 'tasks' : 'messages';
      if (typeof id === 'string') this.learn(fieldOf(one, 'sequence_id') ? 'events' : kind, id);
      if (typeof name === 'string' && kind === 'tasks') this.learn('task names', name);
    }
  }

  fill(text: string, encode: (id: string) => string): string {
    return text.replaceAll(/\{\{([\w ]+):(\d)\}\}/g, (_, pool: string, n: string) => {
      const ids = this.#pools.get(pool) ?? [];
      return encode(ids[Number(n) % Math.max(1, ids.length)] ?? 'unknown');
    });
  }
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
