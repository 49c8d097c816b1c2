import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import {
  decodeRecording,
  findRecordings,
  type RecordingFile,
  recordingSuffix,
  type SessionRecording,
} from '@millrace/agent/testing';
import type { LogRecord } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import { commandHint, type PlaceFlags } from '../args/command-hint.ts';
import { UsageError } from '../contract/errors.ts';
import { readText } from '../safe-files.ts';
import { findSession } from '../store/session-summaries.ts';
import { addFileAdvice } from '../store/unknown-operand.ts';
import { defaultFolder } from './pin-session-file.ts';

/** A recording to test. `path` is undefined for a session of the store, because `--accept` has no file to write for it. */
export interface RecordingSource {
  readonly name: string;
  readonly path: string | undefined;
  load(): Promise<SessionRecording>;
}

interface LoadOptions {
  readonly cwd: string;
  /** The flags of the command. */
  readonly flags: PlaceFlags;
  /** Opens the store. Called only if an operand is a session. */
  readonly withLog: <T>(use: (log: Log) => Promise<T>) => Promise<T>;
}

/** Finds the recordings that the operands name: folders, files, or sessions of the store. */
export async function findSources(
  operands: readonly string[],
  options: LoadOptions,
): Promise<readonly RecordingSource[]> {
  const wanted = operands.length === 0 ? [defaultFolder] : operands;
  const found = await Promise.all(wanted.map((operand) => sourcesOf(operand, options)));
  if (found.flat().length > 0) return found.flat();
  throw new UsageError(
    `There is no recording in ${wanted.join(', ')}. Create one: ${commandHint(options.flags, 'sessions pin <id> --agents <file>')}`,
  );
}

async function sourcesOf(
  operand: string,
  { cwd, flags, withLog }: LoadOptions,
): Promise<readonly RecordingSource[]> {
  const path = resolve(cwd, operand);
  const place = await stat(path).catch(() => undefined);
  if (place?.isDirectory()) return (await findRecordings(path)).map(fileSource);
  if (place !== undefined)
    return [fileSource({ path, name: basename(path).replace(recordingSuffix, '') })];
  if (operand === defaultFolder) return [];
  const { id } = await withLog((log) => findSession(log, operand, { cwd, flags })).catch(
    async (error: unknown) => {
      throw await addFileAdvice(error, { operand, cwd });
    },
  );
  const load = () =>
    withLog(async (log) => {
      const records: LogRecord[] = [];
      for await (const record of readRecords(log, id)) records.push(record);
      return { session: id, agent: '', records };
    });
  return [{ name: id, path: undefined, load }];
}

function fileSource({ name, path }: RecordingFile): RecordingSource {
  return { name, path, load: async () => decodeRecording(await readText(path)) };
}
