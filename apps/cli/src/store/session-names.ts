import { dirname, join } from 'node:path';
import { isId, parseJson, type SessionId } from '@millrace/core';
import type { Config } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { appendLine, readLines } from '../input/history/history-file.ts';
import { storePath } from './open-store.ts';

/** Maximum length of a name. */
const maxNameLength = 100;

/**
 * The names that the user gave to sessions. They are in the file `names.jsonl` beside the session
 * store. Each line names one session, and the last line of a session counts. So two terminals can
 * write at the same time.
 */
export interface SessionNames {
  read(): Promise<ReadonlyMap<SessionId, string>>;
  /** Sets the name of a session. An empty name removes it. Returns the stored name. */
  set(session: SessionId, name: string): Promise<string>;
}

/** Returns the names of the sessions in the configured store. */
export function sessionNames(config: Pick<Config, 'store'>, env: Env): SessionNames {
  const path = () => join(dirname(storePath(config, env)), 'names.jsonl');
  return {
    async read() {
      const names = new Map<SessionId, string>();
      // If the file does not exist or cannot be read, the sessions have no names.
      const read = async () => (await readLines(path())).lines;
      for (const line of await read().catch(() => [])) {
        const { session, name } = namedIn(line);
        if (session === undefined) continue;
        if (name === '') names.delete(session);
        else names.set(session, name);
      }
      return names;
    },
    async set(session, given) {
      const name = oneLineName(given);
      await appendLine(path(), JSON.stringify({ session, name }));
      return name;
    },
  };
}

function namedIn(line: string): { readonly session?: SessionId; readonly name: string } {
  const parsed = parseJson(line);
  const { session, name } = (parsed.ok ? (parsed.value ?? {}) : {}) as {
    readonly session?: unknown;
    readonly name?: unknown;
  };
  if (typeof session !== 'string' || typeof name !== 'string' || !isId(session))
    return { name: '' };
  return { session: session as SessionId, name: oneLineName(name) };
}

function oneLineName(name: string): string {
  return [...name.replace(/\s+/g, ' ').trim().toWellFormed()].slice(0, maxNameLength).join('');
}
