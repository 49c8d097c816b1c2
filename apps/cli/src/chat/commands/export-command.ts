import { realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { decideChange, permissionPolicy } from '@millrace/tools';
import { isInside } from '../../config/config-paths.ts';
import { exportHtml } from '../../sessions/export-html.ts';
import { exportLines, isHtml } from '../../sessions/export-sessions.ts';
import { transcriptMarkdown } from '../../sessions/show-sessions.ts';
import { shortIdLength } from '../../store/session-summaries.ts';
import { printable } from '../../text/cells/printable.ts';
import { note } from '../contract/block.ts';
import type { Conversation } from '../session/conversation.ts';
import type { SlashCommand } from './slash-command.ts';

export const exportCommand: SlashCommand = {
  name: '/export',
  actsOutside: true,
  argument: '[file]',
  description:
    'Write the session to a file: .md for reading, .html to replay it in a browser, .jsonl with every record and attachment, for millrace sessions import',
  async run({ conversation, log, cwd, env, print }, argument) {
    if ((await log.info(conversation.session)) === undefined)
      return print(note('dim', 'This session is empty.'));
    const sessions = [conversation.session];
    const text = argument.endsWith('.jsonl')
      ? exportLines(log, sessions)
      : isHtml(argument)
        ? await exportHtml(log, sessions, { env })
        : await sessionAsMarkdown(log, conversation);
    const isNamed = argument !== '';
    const given = resolve(cwd, argument || defaultFileName(conversation));
    const path = await writeNewFile(isNamed ? await checkedPath(given, cwd) : given, text, {
      isNamed,
    });
    print(note('dim', `Session written to ${path}.`));
  },
};

/** Returns a name for the file. The id of an imported session can contain any characters. */
function defaultFileName({ session }: Conversation): string {
  return `millrace-${session.slice(0, shortIdLength).replaceAll(/[^A-Za-z0-9_-]/g, '_')}.md`;
}

/**
 * Returns the real path of a file that the user named. The content of a session comes from models and tools, so it
 * must not become a file that a program runs or uses as settings. Outside of the folder, the names of such files are
 * not all known, so the file must have the ending of an export, and no folder on its path may be hidden.
 */
async function checkedPath(path: string, cwd: string): Promise<string> {
  const [folder, here] = await Promise.all([dirname(path), cwd].map(realFolder));
  // The error of the write names the problem.
  if (folder === undefined || here === undefined) return path;
  const real = join(folder, basename(path));
  const isHere = isInside(folder, here);
  const isExport = /\.(?:md|html?|jsonl)$/i.test(real) && !/[/\\]\./.test(real);
  const root = isHere ? here : folder;
  const decision = await decideChange(real, permissionPolicy({ root }), { root });
  if (decision === 'allow' && (isHere || isExport)) return real;
  const problem =
    decision === 'allow'
      ? `${real} is outside of this folder. There, /export writes only files that end with .md, .html or .jsonl, and not into hidden folders`
      : `Programs can run ${real}, or use it as settings`;
  throw new Error(`${problem}. Use another name.`);
}

async function realFolder(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

/**
 * Writes a new file and never overwrites a file. If the user chose the name and the file exists, it
 * throws. Otherwise it adds a number to the name.
 */
async function writeNewFile(
  path: string,
  text: string | AsyncIterable<string>,
  { isNamed }: { readonly isNamed: boolean },
): Promise<string> {
  for (let nth = 1; ; nth++) {
    const free = nth === 1 ? path : path.replace(/\.md$/, `-${nth}.md`);
    try {
      await writeFile(free, text, { flag: 'wx', mode: 0o600 });
      return free;
    } catch (cause) {
      const { code } = cause as { readonly code?: string };
      if (code !== 'EEXIST' || isNamed) throw new Error(writeProblem(code, free), { cause });
    }
  }
}

function writeProblem(code: string | undefined, path: string): string {
  switch (code) {
    case 'EEXIST':
      return `${path} already exists. Use another name.`;
    case 'ENOENT':
    case 'ENOTDIR':
      return `The folder ${dirname(path)} does not exist. Create it, or use another name.`;
    case 'EISDIR':
      return `${path} is a folder. Add a file name.`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `No permission to write ${path}. Use another name.`;
    case 'ENOSPC':
      return `Cannot write ${path}: the disk is full. Free some space, or use another name.`;
    default:
      return `Cannot write ${path}: ${code ?? 'unknown error'}.`;
  }
}

async function sessionAsMarkdown(log: Log, { session }: Conversation): Promise<string> {
  // The file may be shown in a terminal, so control sequences are removed.
  return printable(transcriptMarkdown(transcript(await snapshot(log, session))));
}
