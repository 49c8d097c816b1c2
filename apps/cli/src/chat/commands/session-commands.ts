import { commandHint } from '../../args/command-hint.ts';
import { sessionNames } from '../../store/session-names.ts';
import {
  findSession,
  forkText,
  type SessionSummary,
  type ShortId,
  shortIdsOf,
  shortRandomId,
} from '../../store/session-summaries.ts';
import { note } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import { formatAge, formatTokens } from '../render/format-amounts.ts';
import { type SessionRow, sessionRows, treeIndent } from '../session/session-rows.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

const maxListed = 20;

export const newSession: SlashCommand = {
  name: '/new',
  description: 'Start a new session',
  onlyWhenIdle: true,
  run: (context) => context.open(undefined),
};

export const listSessions: SlashCommand = {
  name: '/sessions',
  description: 'List the sessions of this folder',
  async run(context) {
    const found = await sessionsOfFolder(context);
    const short = await shortIdsOf(context.log);
    if (found.length === 0) return context.print(note('dim', 'This folder has no sessions yet.'));
    const rows = found.slice(0, maxListed).map(({ summary, depth, label }) => {
      const here = summary.id === context.conversation.session ? '›' : ' ';
      const name = `${here} ${short(summary.id)}  ${aboutSession(summary, short)}`;
      return [name, `${treeIndent(depth)}${label}`] as const;
    });
    const more = found.length - rows.length;
    const rest =
      more > 0
        ? [[`… and ${more} more: ${commandHint(context.flags, 'sessions')}`, ''] as const]
        : [];
    context.print({ type: 'rows', rows: [...rows, ...rest] });
  },
};

export const resumeSession: SlashCommand = {
  name: '/resume',
  argument: '[id]',
  description: 'Resume another session',
  onlyWhenIdle: true,
  async run(context, argument) {
    if (argument !== '')
      return context.open(
        (await findSession(context.log, argument, { ...context, isFolderOnly: true })).id,
      );
    const isOffered = await pickSession(context, {});
    if (!isOffered) context.print(note('dim', 'This folder has no other session.'));
  },
};

interface PickSessionOptions {
  /** Called after the session was opened. */
  readonly onOpened?: (() => void) | undefined;
  readonly onCancel?: (() => void) | undefined;
}

/**
 * Shows the other sessions of the folder. The user chooses one with the arrow keys, or types words
 * of its label. Returns false if there is none.
 */
export async function pickSession(
  context: CommandContext,
  { onOpened, onCancel }: PickSessionOptions,
): Promise<boolean> {
  const rows = await sessionsOfFolder(context);
  const short = await shortIdsOf(context.log);
  const others = rows.filter(({ summary }) => summary.id !== context.conversation.session);
  if (others.length === 0) return false;
  context.pick({
    title: 'Which session?',
    items: others.map(({ summary, depth, label }) => ({
      label: `${ageOf(summary, context.clock.now())}  ${treeIndent(depth)}${label}`,
      detail: `${short(summary.id)}, ${aboutSession(summary, short)}`,
    })),
    onPick: async (index) => {
      const id = others[index]?.summary.id;
      if (id === undefined) return;
      await context.open(id);
      onOpened?.();
    },
    onCancel,
  });
  return true;
}

export const nameSession: SlashCommand = {
  name: '/name',
  argument: '[text]',
  description: 'Name this session in lists; without a text, remove the name',
  async run(context, argument) {
    const { session } = context.conversation;
    if ((await context.log.info(session)) === undefined)
      throw new Error('This session is empty. Send a message first, then name it');
    const names = sessionNames(context.config, context.env);
    const name = await names.set(session, argument);
    const text = name === '' ? 'This session has no name now.' : `This session is now “${name}”.`;
    context.print(note('dim', text));
  },
};

export const forkSession: SlashCommand = {
  name: '/fork',
  description: 'Continue in a copy; this session stays unchanged',
  onlyWhenIdle: true,
  async run(context) {
    const { log, conversation } = context;
    const info = await log.info(conversation.session);
    if (info === undefined || info.through === 0)
      return context.print(note('dim', 'There is nothing to fork yet.'));
    const into = context.newSession();
    await log.fork(conversation.session, { into, through: info.through });
    await context.open(into);
    context.print(
      note(
        'dim',
        `This is a copy. /resume ${shortRandomId(conversation.session)} returns to the original.`,
      ),
    );
  },
};

/**
 * Returns the age of a session as text. All texts have the same width, so that the list is aligned.
 */
function ageOf({ changedAt }: SessionSummary, now: number): string {
  return formatAge(Math.max(0, now - changedAt)).padStart('59 min'.length);
}

async function sessionsOfFolder(context: CommandContext): Promise<readonly SessionRow[]> {
  const { log, cwd, config, env } = context;
  return sessionRows({ log, cwd, names: await sessionNames(config, env).read() });
}

function aboutSession(summary: SessionSummary, short: ShortId): string {
  const { changedAt, hasWork, holder } = summary;
  const when = new Date(changedAt).toLocaleString('sv-SE').slice(0, 16);
  const state = holder === undefined ? (hasWork ? 'unfinished' : undefined) : `driven by ${holder}`;
  return [when, forkText(summary, short), state].filter((text) => text !== undefined).join(', ');
}

export const compact: SlashCommand = {
  name: '/compact',
  description: 'Summarise older messages',
  async run({ conversation, log, print, built }) {
    if ((await log.info(conversation.session)) === undefined)
      return print(note('dim', 'This session is empty.'));
    const short = shortContext(conversation.state, built.chosen.contextTokens);
    if (short !== undefined) return print(note('dim', short));
    await conversation.compact();
  },
};

/** A context with fewer tokens is not summarised a second time. */
const minCompactedTokens = 4000;
const minCompactedShare = 0.05;

/** Returns a text if a second summary would not make the context shorter. */
function shortContext(
  { isCompacted, stats: { contextTokens } }: ChatState,
  window: number | undefined,
): string | undefined {
  if (!isCompacted) return undefined;
  if (contextTokens === undefined)
    return 'The older messages are already a summary. Nothing was summarised.';
  const least = Math.max(minCompactedTokens, (window ?? 0) * minCompactedShare);
  if (contextTokens >= least) return undefined;
  return `The context is short (${formatTokens(contextTokens)} tokens). Nothing was summarised.`;
}

export const retry: SlashCommand = {
  name: '/retry',
  description: 'Retry the failed request; Enter in an empty prompt does the same',
  onlyWhenIdle: true,
  run({ conversation }) {
    if (!conversation.retry())
      throw new Error('There is no failed request. Send a message instead');
  },
};

const defaultSpeed = 4;

export const replay: SlashCommand = {
  name: '/replay',
  argument: '[speed]',
  description: 'Replay this session, by default at 4× speed',
  onlyWhenIdle: true,
  async run(context, argument) {
    const speed = argument === '' ? defaultSpeed : Number(argument);
    if (!(speed > 0))
      return context.print(note('bad', `✗ /replay needs a number above 0, not ${argument}.`));
    if ((await context.log.info(context.conversation.session)) === undefined)
      return context.print(note('dim', 'This session is empty.'));
    context.replay(speed);
  },
};
