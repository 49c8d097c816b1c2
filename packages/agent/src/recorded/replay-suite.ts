import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import { changedLines } from './group-changes.ts';
import { decodeRecording, encodeRecording, recordingSuffix } from './session-recording.ts';
import {
  type FindAgent,
  type RecordingResult,
  type TestMode,
  type TestOptions,
  testRecordings,
} from './test-recordings.ts';

/** Options of `replaySuite`. */
export interface SuiteOptions extends Pick<TestOptions, 'context' | 'policy' | 'maskText'> {
  /** The agent that is tested, or a function that returns it for a recording. */
  readonly agent: Agent | FindAgent;
  /** The folder with the recordings. Files in folders below it are included. */
  readonly folder: string;
  /** Default: `requests`. */
  readonly mode?: Exclude<TestMode, 'live'> | undefined;
  /**
   * If true, changed recordings are written again with what the agent does today, and their tests pass.
   * Default: true if the environment variable MILLRACE_ACCEPT is 1.
   */
  readonly accept?: boolean | undefined;
}

/** A test of one recording. */
export interface SuiteCase {
  /** The path of the file in the folder, without its ending. */
  readonly name: string;
  /** Runs the test. Rejects if the agent does or sends something else than the recording. */
  readonly run: () => Promise<void>;
}

/**
 * Returns one test for each recorded session in a folder. Any test runner can run them.
 *
 * @example for (const { name, run } of await replaySuite({ agent, folder })) test(name, run);
 */
export async function replaySuite(options: SuiteOptions): Promise<readonly SuiteCase[]> {
  const { agent, folder, accept = isAccepting(), ...rest } = options;
  const paths = await findRecordings(folder);
  if (paths.length === 0) throw noRecordings(folder);
  return paths.map(({ name, path }) => ({
    name,
    run: async () => {
      const recording = async () => decodeRecording(await readFile(path, 'utf8'));
      const { results } = await testRecordings(agent, [{ name, recording }], rest);
      const [result] = results;
      if (result === undefined || result.status === 'same') return;
      if (!accept || result.accepted === undefined) throw new RecordingError(result);
      await writeFile(path, encodeRecording(result.accepted));
    },
  }));
}

/** A file with a recording. */
export interface RecordingFile {
  /** The path in the folder, without the ending of the file. */
  readonly name: string;
  readonly path: string;
}

/** Returns the files with recordings in a folder and in the folders below it, sorted by name. */
export async function findRecordings(folder: string): Promise<readonly RecordingFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(recordingSuffix))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, name: relative(folder, path).slice(0, -recordingSuffix.length) }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Thrown by a test if the agent does or sends something else than the recording. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
  readonly result: RecordingResult;

  constructor(result: RecordingResult) {
    super(messageOf(result));
    this.result = result;
  }
}

const maxListed = 5;
const maxValueLength = 400;

function messageOf({ name, changes, error }: RecordingResult): string {
  if (error !== undefined) return `Cannot test the recording ${name}: ${error}`;
  const lines = changes.slice(0, maxListed).flatMap(({ turn, message, before, after }) => {
    const [old, now] = changedLines(before, after);
    const shown = (sign: string, value: unknown) =>
      value === undefined ? [] : [`  ${sign} ${shorten(value)}`];
    return [`turn ${turn}: ${message}`, ...shown('-', old), ...shown('+', now)];
  });
  const more = changes.length - maxListed;
  const rest = more > 0 ? [`… and ${more} more`] : [];
  const way = 'If the changes are intended, accept them with MILLRACE_ACCEPT=1';
  return [`The agent differs from the recording ${name}`, ...lines, ...rest, way].join('\n');
}

function shorten(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
}

function isAccepting(): boolean {
  return process.env['MILLRACE_ACCEPT'] === '1';
}

function noRecordings(folder: string): AgentError {
  const message = `Cannot find recordings in ${folder}: no file ends in ${recordingSuffix}. Create one with millrace sessions pin`;
  return new AgentError('bad_option', message, { option: 'folder' });
}
