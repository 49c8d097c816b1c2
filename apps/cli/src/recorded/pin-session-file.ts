import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { encodeRecording, pinSession, recordingSuffix } from '@millrace/agent/testing';
import { decodeRecord } from '@millrace/core';
import { secretMasks } from '@millrace/tools';
import { UsageError } from '../contract/errors.ts';
import { makeFolder } from '../make-folder.ts';
import { maskedRecords, maskText } from '../sessions/masked-records.ts';
import type { SessionsContext } from '../sessions/sessions-context.ts';
import { findSession } from '../store/session-summaries.ts';
import { openAgents } from './find-agent.ts';

/** The folder of recordings, in the working folder. */
export const defaultFolder = 'recordings';

/**
 * Runs `millrace sessions pin`. It writes a recording of a session for `millrace test`. Keys and passwords are
 * masked in its records and requests.
 */
export async function pinSessionFile(context: SessionsContext): Promise<void> {
  const { args, log, output, notes, cwd, env } = context;
  const [which = 'last', folder = join(cwd, defaultFolder)] = args.operands;
  const { id } = await findSession(log, which, cwd);
  const { name, agent } = (await openAgents(args.agents, log)).find(args.agent);
  const newMask = secretMasks(env);
  const recording = await pinSession(agent, id, {
    name,
    maskRecords: (records) => maskedRecords(records, newMask).map((line) => decodeRecord(line)),
    maskText: (text) => maskText(text, newMask),
  });
  const path = join(folder, `${encodeURIComponent(id)}${recordingSuffix}`);
  makeFolder(folder, 0o755);
  await writeFile(path, encodeRecording(recording), { flag: 'wx' }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(
      `Session ${id} is pinned already. Use millrace test --accept, or delete ${path}`,
      { path },
    );
  });
  const { length: requests } = recording.requests ?? [];
  await output.write(`${path}\n`);
  await notes.write(
    `Pinned session ${id} with ${requests} requests. Look at ${relative(cwd, path)} before you publish it: only known forms of keys and passwords are masked.\n`,
  );
}
