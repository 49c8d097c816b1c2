import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMillraceError, MillraceError } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ServedAgent } from '@millrace/server';
import { exportedAgents } from './exported-agents.ts';

/** The agents of a module. Node takes the types off a .ts file by itself. */
export async function loadAgents(path: string, log: Log): Promise<readonly ServedAgent[]> {
  const fileName = basename(path);
  if (!existsSync(path)) {
    const message = `Cannot serve ${path}: there is no such file. Name another with --agents <file>`;
    throw new MillraceError('no_agents', message, { path });
  }
  try {
    const module = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
    return await exportedAgents(module, { log, fileName });
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw unloadable(path, error);
  }
}

/** It is the user's own module: what it says is what they need. */
function unloadable(path: string, cause: unknown): MillraceError {
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return new MillraceError('bad_agents', `Cannot load ${path}: ${why}`, { path }, { cause });
}
