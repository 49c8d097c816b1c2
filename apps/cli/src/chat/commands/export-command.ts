import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { transcript } from '@millrace/core';
import { exportSession, type Log, snapshot } from '@millrace/log';
import { transcriptMarkdown } from '../../sessions/show-sessions.ts';
import { shortIdLength } from '../../store/session-summaries.ts';
import { printable } from '../../text/cells/printable.ts';
import { note } from '../contract/block.ts';
import type { Conversation } from '../session/conversation.ts';
import type { SlashCommand } from './slash-command.ts';

export const exportCommand: SlashCommand = {
  name: '/export',
  argument: '[file]',
  description: 'Write the session to a file: .md for reading, .jsonl with every record',
  async run({ conversation, log, cwd, print }, argument) {
    if ((await log.info(conversation.session)) === undefined)
      return print(note('dim', 'Nothing was said yet.'));
    const text = argument.endsWith('.jsonl')
      ? await records(log, conversation)
      : await prose(log, conversation);
    const path = await written(resolve(cwd, argument || nameOf(conversation)), text, {
      isNamed: argument !== '',
    });
    print(note('dim', `The session is in ${path}.`));
  },
};

function nameOf({ session }: Conversation): string {
  return `millrace-${session.slice(0, shortIdLength)}.md`;
}

/** Nobody's file is written over: a name that was given is refused, any other counts on. */
async function written(
  path: string,
  text: string,
  { isNamed }: { readonly isNamed: boolean },
): Promise<string> {
  for (let nth = 1; ; nth++) {
    const free = nth === 1 ? path : path.replace(/\.md$/, `-${nth}.md`);
    try {
      await writeFile(free, text, { flag: 'wx', mode: 0o600 });
      return free;
    } catch (cause) {
      const { code } = cause as { readonly code?: string };
      if (code !== 'EEXIST' || isNamed) throw new Error(problemOf(code, free), { cause });
    }
  }
}

function problemOf(code: string | undefined, path: string): string {
  switch (code) {
    case 'EEXIST':
      return `${path} is there already. Give another name.`;
    case 'ENOENT':
    case 'ENOTDIR':
      return `There is no folder ${dirname(path)}. Make it, or give another name.`;
    case 'EISDIR':
      return `${path} is a folder. Give a name in it.`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `${path} may not be written. Give another name.`;
    case 'ENOSPC':
      return `${path} cannot be written: the disk is full. Make room, or give another name.`;
    default:
      return `${path} cannot be written: ${code ?? 'nobody knows why'}.`;
  }
}

async function records(log: Log, { session }: Conversation): Promise<string> {
  let text = '';
  for await (const line of exportSession(log, session))
    text += line.endsWith('\n') ? line : `${line}\n`;
  return text;
}

async function prose(log: Log, { session }: Conversation): Promise<string> {
  // It will be shown in a terminal, too.
  return printable(transcriptMarkdown(transcript(await snapshot(log, session))));
}
