import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { finished } from 'node:stream/promises';
import type { SessionId } from '@millrace/core';
import { exportBlobs, exportSession, type Log } from '@millrace/log';
import { Output, OutputError } from '../print/output.ts';
import { findChildSessions } from '../store/child-sessions.ts';
import { findSession, type SessionSummary } from '../store/session-summaries.ts';
import { printable } from '../text/cells/printable.ts';
import { exportHtml } from './export-html.ts';
import type { SessionsContext } from './sessions-context.ts';
import { sessionDocument } from './show-sessions.ts';

/**
 * Exports sessions as JSON lines. Each session has lines for its blobs, its header and its records. The
 * sessions of its sub-agents follow in the same form. `millrace sessions import` reads this format. If the
 * name of the output file ends in `.html`, the export writes an HTML document that replays the sessions. If
 * the name ends in `.md`, the export writes the transcripts for reading, without those of sub-agents.
 */
export async function exportSessions(context: SessionsContext): Promise<void> {
  const { args, log, output, notes, cwd, env, page } = context;
  const sessions = new Map<SessionId, SessionSummary>();
  for (const which of args.operands) {
    const session = await findSession(log, which, { cwd, flags: args });
    sessions.set(session.id, session);
  }
  const found = new Set(sessions.keys());
  if (args.output === undefined) return writeAll(log, found, output);
  const text = isHtml(args.output)
    ? await exportHtml(log, found, { env, page })
    : isMarkdown(args.output)
      ? await documents(log, sessions.values())
      : undefined;
  await writeToFile(args.output, (file) =>
    text === undefined ? writeAll(log, found, file) : file.writeData(text),
  );
  const what = found.size === 1 ? `session ${[...found][0]}` : `${found.size} sessions`;
  await notes.write(`Exported ${what} to ${args.output}\n`);
}

/** Returns true if the export writes an HTML document to a file with this name. */
export function isHtml(path: string): boolean {
  return /\.html?$/i.test(path);
}

function isMarkdown(path: string): boolean {
  return /\.md$/i.test(path);
}

/** Returns transcripts for reading. A terminal may show the file, so control characters are replaced. */
async function documents(log: Log, sessions: Iterable<SessionSummary>): Promise<string> {
  const texts: string[] = [];
  for (const session of sessions) texts.push(await sessionDocument(log, session));
  return printable(texts.join('\n'));
}

async function writeAll(log: Log, sessions: Iterable<SessionId>, output: Output): Promise<void> {
  for await (const line of exportLines(log, sessions)) {
    await output.writeData(line);
    if (output.failure !== undefined) return;
  }
}

/** Returns the lines of an export, each with a line break. Sub-agents and blobs are included. */
export async function* exportLines(
  log: Log,
  sessions: Iterable<SessionId>,
): AsyncGenerator<string, void> {
  const written = new Set<SessionId>();
  for (const session of sessions)
    for (const one of [session, ...(await findChildSessions(log, session))]) {
      if (written.has(one)) continue;
      written.add(one);
      for await (const line of exportBlobs(log, one)) yield `${line}\n`;
      for await (const line of exportSession(log, one)) yield `${line}\n`;
    }
}

type WriteContent = (file: Output) => Promise<void>;

/**
 * Writes to a file and replaces an existing file. If the path is a pipe or a device, the content is
 * written to it directly. A project can contain links, so a link must not lead out of its folder.
 */
async function writeToFile(path: string, write: WriteContent): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw folderError(path);
  const isDevice = resolve(path).startsWith('/dev/');
  if (found !== undefined && (isDevice || !found.isFile()))
    return writeToStream(path, { flags: 'w' }, write);
  // If the path is a symbolic link, its target is replaced and the link stays.
  const target = found === undefined ? path : await realpath(path);
  const home = await realpath(dirname(path)).catch(() => undefined);
  if (found !== undefined && home !== undefined && !target.startsWith(join(home, sep)))
    throw linkError(path, target);
  const part = `${target}.${process.pid}.part`;
  try {
    await writeToStream(part, { flags: 'wx', name: path }, write);
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Writes to a new file. Only its owner can read it, as in the store. */
async function writeToStream(
  path: string,
  { flags, name = path }: { readonly flags: string; readonly name?: string },
  write: WriteContent,
): Promise<void> {
  const stream = createWriteStream(path, { flags, mode: 0o600 });
  const file = new Output(stream, { name });
  try {
    await write(file);
    stream.end();
    await finished(stream).catch(() => {});
    if (file.failure !== undefined) throw file.failure;
  } finally {
    stream.destroy();
  }
}

function linkError(path: string, target: string): OutputError {
  const message = `Cannot write to ${path}: it is a link out of its folder, to ${target}. Name that file with --output <file>, or choose another one`;
  return new OutputError('cannot_write', message, { path });
}

function folderError(path: string): OutputError {
  const message = `Cannot write to ${path}: it is a folder. Choose a file with --output <file>`;
  return new OutputError('cannot_write', message, { path });
}
