import { sep } from 'node:path';
import { commandHint, type PlaceFlags, resumeHint } from '../args/command-hint.ts';
import type { ChosenModel } from '../contract/agent.ts';
import { shortRandomId } from '../store/session-summaries.ts';
import { type Block, countBlocks, note } from './contract/block.ts';
import { formatCount } from './render/format-amounts.ts';
import type { Look } from './render/look.ts';
import { Printer } from './render/printer.ts';
import type { OpenedSession } from './session/session-view.ts';

interface WelcomeOptions {
  readonly version: string;
  readonly chosen: Pick<ChosenModel, 'why'>;
  readonly cwd: string;
  readonly home: string | undefined;
  /** A sentence about the protection from commands. Undefined if there is none. */
  readonly protection: string | undefined;
}

/**
 * Returns the first lines of the chat. They contain the version, the folder, the model and the
 * reason for its choice, the help, and the protection from commands.
 */
export function welcome({
  version,
  chosen,
  cwd,
  home,
  protection,
}: WelcomeOptions): readonly Block[] {
  return [
    note('plain', `millrace ${version} in ${shortPath(cwd, home)}`),
    note('dim', `${chosen.why} /help lists commands and keys.`),
    ...(protection === undefined ? [] : [note('dim', protection)]),
  ];
}

/** Creates a note that tells how to resume the session. */
export function resumeNotice(session: string, flags: PlaceFlags): Block {
  const next = commandHint(flags, '--continue');
  const later = resumeHint(flags, shortRandomId(session));
  return note('dim', `To continue: ${next}, or later: ${later}`);
}

/** Creates a note that the session file was deleted. */
export function storeDeletedNotice(): Block {
  return note('bad', '✗ The session file was deleted, so this session is not stored.');
}

function shortPath(path: string, home: string | undefined): string {
  if (home === undefined || home === '') return path;
  if (path === home) return '~';
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}

interface ScreenfulOptions {
  readonly rows: number;
  /** The open session, and the flags of the command line. */
  readonly chat: {
    readonly conversation: { readonly session: string };
    readonly flags: PlaceFlags;
  };
}

/**
 * Returns the last blocks of a session, as many as fit on a screen. A note tells how to see the
 * rest.
 */
export async function lastScreenful(
  look: Look,
  { blocks, count, earlier }: OpenedSession,
  { rows, chat }: ScreenfulOptions,
): Promise<readonly Block[]> {
  let height = 0;
  let shown: readonly Block[] = [];
  let left = blocks;
  while (height < rows) {
    const last = left.at(-1);
    if (last !== undefined) {
      height += new Printer().print(look, [last]).length;
      shown = [last, ...shown];
      left = left.slice(0, -1);
    } else if (earlier === undefined || earlier.isOver) break;
    else left = await earlier.read();
  }
  const hidden = count === undefined ? undefined : count - countBlocks(shown);
  if (hidden !== undefined && hidden <= 0) return shown;
  const way = commandHint(chat.flags, 'sessions show', shortRandomId(chat.conversation.session));
  const what = hidden === undefined ? 'Earlier blocks' : formatCount(hidden, 'earlier block');
  return [note('dim', `… ${what}. Show all: ${way}`), ...shown];
}
