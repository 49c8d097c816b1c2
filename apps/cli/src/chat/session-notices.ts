import { sep } from 'node:path';
import type { Chosen } from '../contract/agent.ts';
import { shortIdLength } from '../store/session-summaries.ts';
import { type Block, note } from './contract/block.ts';
import { count } from './render/format-amounts.ts';
import type { Look } from './render/look.ts';
import { Printer } from './render/printer.ts';

interface Welcome {
  readonly version: string;
  readonly chosen: Pick<Chosen, 'why'>;
  readonly cwd: string;
  readonly home: string | undefined;
}

/** The first lines: what this is, where, with which model and why, and how to get help. */
export function welcome({ version, chosen, cwd, home }: Welcome): readonly Block[] {
  return [
    note('plain', `millrace ${version} in ${shortPath(cwd, home)}`),
    note('dim', `${chosen.why} /help says what can be done here.`),
  ];
}

/** How to come back. */
export function goodbye(session: string): Block {
  const id = session.slice(0, shortIdLength);
  return note('dim', `To go on: millrace --continue, or later millrace --resume ${id}`);
}

/** There is nothing to come back to. */
export function lost(): Block {
  return note('bad', '✗ The file of the sessions was deleted: this one is not kept.');
}

function shortPath(path: string, home: string | undefined): string {
  if (home === undefined || home === '') return path;
  if (path === home) return '~';
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}

interface ScreenfulOptions {
  /** How many blocks there were in all. */
  readonly total: number;
  readonly rows: number;
  readonly session: string;
}

/** The last of what a session had printed, as much as fills a screen, with a word on where the rest is. */
export function lastScreenful(
  look: Look,
  blocks: readonly Block[],
  { total, rows, session }: ScreenfulOptions,
): readonly Block[] {
  let height = 0;
  let first = blocks.length;
  while (first > 0 && height < rows) {
    first--;
    height += new Printer().print(look, blocks.slice(first, first + 1)).length;
  }
  const shown = blocks.slice(first);
  const hidden = total - shown.length;
  if (hidden <= 0) return shown;
  const id = session.slice(0, shortIdLength);
  const text = `… ${count(hidden, 'earlier piece')} of this session: millrace sessions show ${id}`;
  return [note('dim', text), ...shown];
}
