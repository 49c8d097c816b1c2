import { sep } from 'node:path';
import type { Chosen } from '../../models/chosen.ts';
import { shortIdLength } from '../../store/find-session.ts';
import { type Block, note } from '../state/block.ts';

export interface Welcome {
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
