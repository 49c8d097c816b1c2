import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { recordingSuffix, type SessionRecording } from '@millrace/agent/testing';
import { decodeRecord, encodeRecord, type LogRecord, type SessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import { secretMasks } from '@millrace/tools';
import { shellQuote } from '../args/command-hint.ts';
import { askYesNo } from '../command/ask-user.ts';
import type { ReportArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import { UsageError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { version } from '../package-files.ts';
import { Output } from '../print/output.ts';
import { countOf } from '../print/text-table.ts';
import { maskedRecords } from '../sessions/masked-records.ts';
import { withStore } from '../store/open-store.ts';
import { findSession } from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';
import { pinnedRecording, writeRecording } from './pin-session-file.ts';

export interface ReportCommandOptions
  extends Pick<Host, 'stdin' | 'stdout' | 'stderr' | 'env' | 'cwd' | 'signal'> {
  readonly args: ReportArgs;
  readonly config: Pick<Config, 'store'>;
}

/**
 * Runs `millrace report`. It writes the records of a session into one file, and masks the secrets that it
 * recognizes. Before it writes, it lists what it masked, and asks the user.
 */
export async function reportCommand(options: ReportCommandOptions): Promise<number> {
  const { args, stdin, stdout, stderr, cwd, signal } = options;
  const output = new Output(stdout);
  const notes = new Output(stderr, { name: 'standard error' });
  const { recording, masked } = await withStore(options, async ({ log }) => {
    const { id } = await findSession(log, args.session, { cwd, flags: args });
    return sessionReport(log, id, options);
  });
  const { session, records, requests } = recording;
  const path = resolve(cwd, args.output ?? `${encodeURIComponent(session)}${recordingSuffix}`);
  const way = `${path} exists already, and millrace report does not overwrite it. Delete it (rm ${shellQuote(path)}), or choose another file with -o <file>`;
  if (existsSync(path)) throw new UsageError(way, { path });
  for (const line of reviewLines(masked)) await notes.write(`${line}\n`);
  const content = `${countOf(records.length, 'record')}${requests ? `, ${countOf(requests.length, 'request')}` : ''}`;
  const question = `Write ${content} of session ${session} to ${path}? All other texts of the session stay readable.`;
  if (!args.yes) {
    if (!stdin.isTTY)
      throw new UsageError('Cannot ask for confirmation: there is no terminal. Use --yes');
    const isMeant = await askYesNo({ stdin, stdout: notes.stream, signal }, question);
    if (isMeant !== true) return exitCodes.aborted;
  }
  await writeRecording(path, recording, way);
  await output.write(`${path}\n`);
  await notes.write('Look at the file before you send it: only known forms of keys are masked.\n');
  return exitCodes.done;
}

/** A text from which a secret was removed. */
interface MaskedText {
  readonly offset: number;
  /** The field of the record. */
  readonly field: string;
  /** The masked text around the first removed secret. */
  readonly excerpt: string;
  readonly count: number;
}

interface SessionReport {
  readonly recording: SessionRecording;
  readonly masked: readonly MaskedText[];
}

async function sessionReport(
  log: Log,
  id: SessionId,
  { args, env }: ReportCommandOptions,
): Promise<SessionReport> {
  const original: LogRecord[] = [];
  for await (const record of readRecords(log, id)) original.push(record);
  const newMask = secretMasks(env);
  const recording =
    args.agents === undefined
      ? {
          ...{ session: id, agent: args.agent ?? '' },
          records: maskedRecords(original, newMask).map((line) => decodeRecord(line)),
        }
      : await pinnedRecording({ ...{ id, log, env }, agents: args.agents, agent: args.agent });
  const { platform, arch } = process;
  const about = { millrace: version(), node: process.version, platform: `${platform}-${arch}` };
  return { recording: { ...recording, about }, masked: maskedTexts(original, recording.records) };
}

/** The text that replaces a secret. */
const mark = '[masked]';

/** Compares the records before and after masking. Pieces of a streamed text are compared together. */
function maskedTexts(
  original: readonly LogRecord[],
  records: readonly LogRecord[],
): readonly MaskedText[] {
  const before = textsOf(original);
  const found: MaskedText[] = [];
  for (const [key, { offset, field, text }] of textsOf(records)) {
    const known = before.get(key)?.text ?? '';
    if (known === text) continue;
    const at = Math.max(0, text.indexOf(mark));
    const excerpt = oneLine(text.slice(Math.max(0, at - 30), at + mark.length + 30), 80);
    const count = Math.max(1, text.split(mark).length - known.split(mark).length);
    found.push({ offset, field, excerpt, count });
  }
  return found;
}

interface FieldText {
  readonly offset: number;
  readonly field: string;
  readonly text: string;
}

/** Returns all texts of the records. The key of a text is the same before and after masking. */
function textsOf(records: readonly LogRecord[]): ReadonlyMap<string, FieldText> {
  const texts = new Map<string, FieldText>();
  for (const record of records) {
    const { offset, delta } = record;
    if (delta?.type === 'append_text') {
      const known = texts.get(delta.partId);
      const text = (known?.text ?? '') + delta.chunk;
      texts.set(delta.partId, { offset: known?.offset ?? offset, field: 'streamed text', text });
      continue;
    }
    const content = JSON.parse(encodeRecord(record)) as { delta?: unknown; fact?: unknown };
    addTexts(texts, offset, '', content.delta ?? content.fact);
  }
  return texts;
}

function addTexts(
  texts: Map<string, FieldText>,
  offset: number,
  field: string,
  value: unknown,
): void {
  if (typeof value === 'string') texts.set(`${offset} ${field}`, { offset, field, text: value });
  else if (typeof value === 'object' && value !== null)
    for (const [name, entry] of Object.entries(value))
      addTexts(texts, offset, field === '' ? name : `${field}.${name}`, entry);
}

/** Maximum number of masked texts that are listed. */
const maxListed = 200;

function reviewLines(masked: readonly MaskedText[]): readonly string[] {
  if (masked.length === 0)
    return ['Nothing was masked: no text has a known form of a key or password'];
  const count = masked.reduce((sum, one) => sum + one.count, 0);
  const more = masked.length - maxListed;
  return [
    `Masked ${countOf(count, 'secret')} in ${countOf(masked.length, 'text')}:`,
    ...masked
      .slice(0, maxListed)
      .map(({ offset, field, excerpt }) => `  offset ${offset}, ${field}: ${excerpt}`),
    ...(more > 0 ? [`  and ${more} more texts`] : []),
  ];
}
