import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import {
  encodeRecording,
  pinSession,
  recordingSuffix,
  type SessionRecording,
} from '@millrace/agent/testing';
import { decodeRecord, type SessionId } from '@millrace/core';
import { secretMasks } from '@millrace/tools';
import { shellQuote } from '../args/command-hint.ts';
import { UsageError } from '../contract/errors.ts';
import { makeFolder } from '../make-folder.ts';
import { countOf } from '../print/text-table.ts';
import { maskedRecords, maskText } from '../sessions/masked-records.ts';
import type { SessionsContext } from '../sessions/sessions-context.ts';
import { findSession } from '../store/session-summaries.ts';
import { openAgents } from './find-agent.ts';

/** The folder of recordings, in the working folder. */
export const defaultFolder = 'recordings';

/** A session and the agent that recorded it. */
interface PinnedSession extends Pick<SessionsContext, 'log' | 'env'> {
  readonly id: SessionId;
  /** The path of a module that exports the agent. */
  readonly agents: string | undefined;
  readonly agent: string | undefined;
}

/** Returns the recording of a session, with its requests. It masks keys and passwords that have a known form. */
export async function pinnedRecording(session: PinnedSession): Promise<SessionRecording> {
  const { name, agent } = (await openAgents(session.agents, session.log)).find(session.agent);
  const newMask = secretMasks(session.env);
  return pinSession(agent, session.id, {
    name,
    maskRecords: (records) => maskedRecords(records, newMask).map((line) => decodeRecord(line)),
    maskText: (text) => maskText(text, newMask),
  });
}

/** Writes a recording to a new file that only its owner can read. Throws if the file exists. `way` says what the user can do then. */
export async function writeRecording(
  path: string,
  recording: SessionRecording,
  way: string,
): Promise<void> {
  const text = encodeRecording(recording);
  await writeFile(path, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(way, { path });
  });
}

/**
 * Runs `millrace sessions pin`. It writes a recording of a session for `millrace test`. Keys and passwords are
 * masked in its records and requests.
 */
export async function pinSessionFile(context: SessionsContext): Promise<void> {
  const { args, log, output, notes, cwd } = context;
  const [which = 'last', folder = join(cwd, defaultFolder)] = args.operands;
  const { id } = await findSession(log, which, { cwd, flags: args });
  const recording = await pinnedRecording({
    ...{ id, log, env: context.env },
    ...{ agents: args.agents, agent: args.agent },
  });
  const path = join(folder, `${encodeURIComponent(id)}${recordingSuffix}`);
  makeFolder(folder, 0o755);
  const way = `Session ${id} is pinned already. To record it again, use millrace test --accept, or delete the file: rm ${shellQuote(path)}`;
  await writeRecording(path, recording, way);
  const { length: requests } = recording.requests ?? [];
  await output.write(`${path}\n`);
  await notes.write(
    `Pinned session ${id} with ${countOf(requests, 'request')}. Look at ${relative(cwd, path)} before you publish it: only known forms of keys and passwords are masked.\n`,
  );
}
