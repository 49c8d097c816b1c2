import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { SessionId } from '@millrace/core';
import { exportBlobs, exportSession, type Log } from '@millrace/log';
import { Output } from '../print/output.ts';
import { childSessions } from '../store/child-sessions.ts';
import { findSession } from '../store/find-session.ts';
import type { SessionsContext } from './sessions-context.ts';

/**
 * Sessions as lines of JSON: of each its blobs, then its header and records, then the same of its
 * sub-agents. `millrace sessions import` takes them as they are.
 */
export async function exportSessions(context: SessionsContext): Promise<void> {
  const { args, log, output, notes, cwd } = context;
  const found = new Set<SessionId>();
  for (const which of args.operands) found.add((await findSession(log, which, cwd)).id);
  if (args.output === undefined) return writeAll(log, found, output);
  await intoFile(args.output, (file) => writeAll(log, found, file));
  const what = found.size === 1 ? `session ${[...found][0]}` : `${found.size} sessions`;
  await notes.write(`Exported ${what} to ${args.output}\n`);
}

async function writeAll(log: Log, sessions: Iterable<SessionId>, output: Output): Promise<void> {
  const written = new Set<SessionId>();
  for (const session of sessions)
    for (const one of [session, ...(await childSessions(log, session))]) {
      if (written.has(one)) continue;
      written.add(one);
      for await (const line of exportBlobs(log, one)) await output.write(`${line}\n`);
      for await (const line of exportSession(log, one)) await output.write(`${line}\n`);
      if (output.failure !== undefined) return;
    }
}

/** There when it is whole, or not at all. Only its owner may read it: so it was in the store. */
async function intoFile(path: string, write: (file: Output) => Promise<void>): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  const stream = createWriteStream(part, { flags: 'wx', mode: 0o600 });
  const file = new Output(stream, { name: path });
  try {
    await write(file);
    stream.end();
    await finished(stream).catch(() => {});
    if (file.failure !== undefined) throw file.failure;
    await rename(part, path);
  } catch (error) {
    stream.destroy();
    await rm(part, { force: true });
    throw error;
  }
}
