import { relative } from 'node:path';
import type { SessionId } from '@millrace/core';
import {
  applyFilePlan,
  createWorkspace,
  type FileChangeOnLog,
  type FileMove,
  type FilePlan,
  planFileChanges,
  readFileChanges,
} from '@millrace/tools';
import { shortIdLength } from '../../store/session-summaries.ts';
import { type Block, note } from '../contract/block.ts';
import { formatAge } from '../render/format-amounts.ts';
import { type RewindPoint, rewindPoints } from './rewind-points.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

/** Maximum number of files that a message names. */
const maxNamed = 8;

export const rewind: SlashCommand = {
  name: '/rewind',
  description: 'Go back to a message, with the files or without; Esc twice does the same',
  onlyWhenIdle: true,
  async run(context) {
    const { log, conversation, clock } = context;
    const points = (await rewindPoints(log, conversation.session)).toReversed();
    if (points.length === 0)
      return context.print(note('dim', 'There is no message to go back to.'));
    const changes = await readFileChanges(log, conversation.session);
    context.pick({
      title: 'Go back to before which message?',
      items: points.map((point) => ({
        label: firstLine(point.text),
        detail: `${formatAge(Math.max(0, clock.now() - point.time))} ago, ${countFiles(after(changes, point))} changed since`,
      })),
      onPick: async (index) => {
        const point = points[index];
        if (point !== undefined) await chooseParts(context, point, after(changes, point));
      },
    });
  },
};

export const undo: SlashCommand = {
  name: '/undo',
  description: 'Take back the last message, its answer and its changes of files',
  onlyWhenIdle: true,
  async run(context) {
    const { log, conversation } = context;
    const point = (await rewindPoints(log, conversation.session)).at(-1);
    if (point === undefined) return context.print(note('dim', 'There is nothing to take back.'));
    const changes = after(await readFileChanges(log, conversation.session), point);
    if (await moveFiles(context, { undo: changes })) await goBack(context, point);
  },
};

export const redo: SlashCommand = {
  name: '/redo',
  description: 'Return to where the session was before /undo or /rewind, with its files',
  onlyWhenIdle: true,
  async run(context) {
    const { log, conversation } = context;
    const origin = (await log.info(conversation.session))?.origin;
    if (origin === undefined || (await log.info(origin.session)) === undefined)
      return context.print(note('dim', 'This session does not continue another one.'));
    const [own, other] = await Promise.all([
      readFileChanges(log, conversation.session),
      readFileChanges(log, origin.session),
    ]);
    if (await moveFiles(context, { undo: after(own, origin), redo: after(other, origin) }))
      await context.open(origin.session);
  },
};

function after(
  changes: readonly FileChangeOnLog[],
  { through }: { readonly through: number },
): readonly FileChangeOnLog[] {
  return changes.filter(({ offset }) => offset > through);
}

/** Asks whether to go back with the conversation, the files or both. */
async function chooseParts(
  context: CommandContext,
  point: RewindPoint,
  changes: readonly FileChangeOnLog[],
): Promise<void> {
  if (changes.length === 0) return goBack(context, point);
  const files = namesOf(context, [...new Set(changes.map(({ path }) => path))]);
  const move = () => moveFiles(context, { undo: changes });
  const ways = [
    {
      ...{ label: 'The conversation and the files', detail: files },
      run: async () => ((await move()) ? goBack(context, point) : undefined),
    },
    {
      ...{ label: 'Only the conversation', detail: 'The files stay as they are' },
      run: () => goBack(context, point),
    },
    {
      ...{ label: 'Only the files', detail: files },
      run: async () => void (await move()),
    },
  ];
  context.pick({
    title: 'What goes back?',
    items: ways.map(({ label, detail }) => ({ label, detail })),
    onPick: async (index) => ways[index]?.run(),
  });
}

/** Opens a copy of the session that ends before the message, and puts the message into the prompt. */
async function goBack(context: CommandContext, { through, text }: RewindPoint): Promise<void> {
  const { log, conversation } = context;
  const into = context.newSession();
  await log.fork(conversation.session, { into, through });
  await context.open(into);
  context.print(backNote(conversation.session));
  context.putBack(text);
}

function backNote(before: SessionId): Block {
  return note(
    'dim',
    `You went back. /redo returns, also /resume ${before.slice(0, shortIdLength)}.`,
  );
}

/**
 * Changes the files of the folder. If one of them cannot be changed, it prints the reasons, changes
 * nothing and returns false.
 */
async function moveFiles(context: CommandContext, move: FileMove): Promise<boolean> {
  const workspace = createWorkspace({ root: context.cwd });
  const plan = await planFileChanges(workspace, move);
  if (plan.conflicts.length > 0) {
    context.print(...conflictBlocks(context, plan));
    return false;
  }
  await applyFilePlan(workspace, context.log.blobs, plan);
  const paths = plan.steps.map(({ path }) => path);
  if (paths.length > 0) context.print(note('good', `✓ Changed back: ${namesOf(context, paths)}`));
  return true;
}

function conflictBlocks(context: CommandContext, { conflicts }: FilePlan): readonly Block[] {
  const rows = conflicts
    .slice(0, maxNamed)
    .map(({ path, message }) => [relative(context.cwd, path), message] as const);
  const more = conflicts.length - rows.length;
  const rest = more > 0 ? [[`… and ${more} more`, ''] as const] : [];
  const advice = '✗ Nothing was changed. /rewind can go back without the files.';
  return [note('bad', advice), { type: 'rows', rows: [...rows, ...rest] }];
}

function namesOf({ cwd }: CommandContext, paths: readonly string[]): string {
  const named = paths.slice(0, maxNamed).map((path) => relative(cwd, path));
  const more = paths.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

function countFiles(changes: readonly FileChangeOnLog[]): string {
  const { size } = new Set(changes.map(({ path }) => path));
  return size === 1 ? '1 file' : `${size} files`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] || '(empty)';
}
