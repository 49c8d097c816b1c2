import { diffSessions } from '@millrace/agent';
import type { SessionId } from '@millrace/core';
import type { SessionInfo } from '@millrace/log';
import { readFileChanges } from '@millrace/tools';
import { commandHint } from '../../args/command-hint.ts';
import { sessionNames } from '../../store/session-names.ts';
import { shortRandomId } from '../../store/session-summaries.ts';
import { note } from '../contract/block.ts';
import { type LabelledMessage, labelMessage, lastLabelled } from '../session/rewind-points.ts';
import { agoText, changesAfter, chooseFiles, labelEdit, labelledText } from './rewind-commands.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

/** Maximum number of sessions in the tree. The sessions that changed last are shown. */
const maxShown = 200;

/** All sessions of the log by their ids. */
type Infos = ReadonlyMap<SessionId, SessionInfo>;

/** A session of the tree. */
interface Branch {
  readonly info: SessionInfo;
  /** The number of ancestors of the session in the tree. */
  readonly depth: number;
}

export const tree: SlashCommand = {
  name: '/tree',
  actsOutside: true,
  description: 'Show all copies of this session, and go to one, with the files or without',
  onlyWhenIdle: true,
  run: (context) => pickBranch(context, 0),
};

/** Shows the copies of the session. The user can also label the last message of each copy. */
async function pickBranch(context: CommandContext, selected: number): Promise<void> {
  const { log, conversation, clock } = context;
  const infos = new Map((await log.list()).map((info) => [info.session, info]));
  const branches = branchesOf(infos, conversation.session);
  if (branches.length < 2)
    return context.print(note('dim', 'This session has no copies. /rewind and /fork make one.'));
  const names = await sessionNames(context.config, context.env).read();
  const items = [];
  const messages: (LabelledMessage | undefined)[] = [];
  for (const { info, depth } of branches) {
    const isCurrent = info.session === conversation.session;
    const name = names.get(info.session);
    const message = await lastLabelled(log, info.session);
    const last = labelledText(message ?? { text: '' });
    messages.push(message);
    items.push({
      label: `${'  '.repeat(Math.min(depth, 10))}${isCurrent ? '●' : '○'} ${name === undefined ? last : `${name}: ${last}`}`,
      detail: `${isCurrent ? 'here, ' : ''}${agoText(clock.now() - info.changedAt)}`,
    });
  }
  const origin = infos.get(conversation.session)?.origin?.session;
  const isCopy = origin !== undefined && infos.has(origin);
  if (isCopy)
    items.push({
      label: '≠ Compare this copy with its original',
      detail: 'Prints where they went different ways',
    });
  context.pick({
    title: 'Go to which copy? Each line shows its name and its last message.',
    items,
    onPick: async (index) => {
      if (isCopy && index === branches.length) return compare(context, origin);
      const to = branches[index]?.info.session;
      if (to !== undefined && to !== conversation.session) await goTo(context, to, infos);
    },
    selected,
    edit: labelEdit(
      (index) => messages[index],
      async (index, message, text) => {
        const branch = branches[index];
        if (branch !== undefined) await labelMessage(log, branch.info.session, message, text);
        await pickBranch(context, index);
      },
    ),
  });
}

/** Prints where the session differs from its original, and why. */
async function compare(context: CommandContext, origin: SessionId): Promise<void> {
  const { log, conversation } = context;
  const { session } = conversation;
  const { divergence } = await diffSessions({ log, session: origin }, { log, session });
  if (divergence === undefined)
    return context.print(note('dim', 'This copy does not differ from its original.'));
  context.print(
    note('mark', divergence.message),
    note('dim', `All differences: ${commandHint(context.flags, 'diff', shortRandomId(session))}`),
  );
}

/** Opens a copy. If files differ, the user decides whether to change them too. */
async function goTo(context: CommandContext, to: SessionId, infos: Infos): Promise<void> {
  const { log, conversation } = context;
  const through = commonOffset(infos, conversation.session, to);
  const [undo, redo] = await Promise.all([
    readFileChanges(log, conversation.session),
    readFileChanges(log, to),
  ]);
  const move = { undo: changesAfter(undo, { through }), redo: changesAfter(redo, { through }) };
  await chooseFiles(context, move, () => context.open(to));
}

/**
 * Returns the sessions that were copied from each other, a copy below its original. They are in the order
 * in which they were created.
 */
function branchesOf(infos: Infos, session: SessionId): readonly Branch[] {
  const newest = [...infos.values()].sort((a, b) => b.changedAt - a.changedAt);
  const root = originsOf(infos, session).at(-1)?.session ?? session;
  const inTree = newest.filter(
    (info) => (originsOf(infos, info.session).at(-1)?.session ?? info.session) === root,
  );
  const shown = new Set(inTree.slice(0, maxShown).map((info) => info.session));
  const children = Map.groupBy(
    inTree.filter((info) => shown.has(info.session)),
    ({ origin }) => origin?.session,
  );
  const result: Branch[] = [];
  const add = (info: SessionInfo, depth: number) => {
    result.push({ info, depth });
    const copies = (children.get(info.session) ?? []).toSorted((a, b) => a.createdAt - b.createdAt);
    for (const copy of copies) if (copy.session !== info.session) add(copy, depth + 1);
  };
  const top = infos.get(root);
  if (top !== undefined) add(top, 0);
  return result;
}

type Origin = NonNullable<SessionInfo['origin']>;

/** Returns the origin of a session, the origin of that origin, and so on, as far as they exist. */
function originsOf(infos: Infos, session: SessionId): readonly Origin[] {
  const origins: Origin[] = [];
  const seen = new Set([session]);
  for (let origin = infos.get(session)?.origin; origin !== undefined; ) {
    // Origins of imported sessions can form a cycle.
    if (seen.has(origin.session) || !infos.has(origin.session)) break;
    seen.add(origin.session);
    origins.push(origin);
    origin = infos.get(origin.session)?.origin;
  }
  return origins;
}

/** Returns the last offset at which two copies of a session have the same records. */
function commonOffset(infos: Infos, a: SessionId, b: SessionId): number {
  const [above, beside] = [a, b].map((session) => {
    // Maps this session, and each session that it was forked from, to an offset. Up to this offset, both
    // sessions have the same records. The origin of an origin is included too.
    const through = new Map([[session, Number.POSITIVE_INFINITY]]);
    let least = Number.POSITIVE_INFINITY;
    for (const origin of originsOf(infos, session)) {
      least = Math.min(least, origin.through);
      through.set(origin.session, least);
    }
    return through;
  });
  for (const [session, through] of above ?? []) {
    const other = beside?.get(session);
    if (other !== undefined) return Math.min(through, other);
  }
  return 0;
}
