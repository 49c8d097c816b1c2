import { relative } from 'node:path';
import { forkSession } from '@millrace/agent';
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
import { shortRandomId } from '../../store/session-summaries.ts';
import { type Block, note } from '../contract/block.ts';
import type { ItemEdit } from '../contract/dialog.ts';
import { formatAge } from '../render/format-amounts.ts';
import { clipText } from '../render/look.ts';
import {
  type LabelledMessage,
  labelMessage,
  type RewindPoint,
  rewindPoints,
} from '../session/rewind-points.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

/** Maximum number of file names in a message to the user. */
const maxNamed = 8;
/** Maximum width of a message in the answer of `/label`. */
const maxMessageCells = 40;

export const rewind: SlashCommand = {
  name: '/rewind',
  actsOutside: true,
  description: 'Go back to a message, with the files or without; Esc twice does the same',
  onlyWhenIdle: true,
  run: (context) => pickPoint(context, 0),
};

/** Shows the messages to which the user can go back. The user can also label them. */
async function pickPoint(context: CommandContext, selected: number): Promise<void> {
  const { log, conversation, clock } = context;
  const points = (await rewindPoints(log, conversation.session)).toReversed();
  if (points.length === 0) return context.print(note('dim', 'There is no message to go back to.'));
  const changes = await readFileChanges(log, conversation.session);
  context.pick({
    title: 'Go back to before which message?',
    items: points.map((point) => ({
      label: labelledText(point),
      detail: `${agoText(clock.now() - point.time)}, ${countFiles(changesAfter(changes, point))} changed since`,
    })),
    onPick: async (index) => {
      const point = points[index];
      if (point === undefined) return;
      const move = { undo: changesAfter(changes, point) };
      await chooseFiles(context, move, () => goBack(context, point));
    },
    selected,
    edit: labelEdit(
      (index) => points[index],
      async (index, point, text) => {
        await labelMessage(log, conversation.session, point, text);
        await pickPoint(context, index);
      },
    ),
  });
}

/** Changes the labels of the messages in a list. */
export function labelEdit(
  messageAt: (index: number) => LabelledMessage | undefined,
  onSubmit: (index: number, message: LabelledMessage, text: string) => Promise<void>,
): ItemEdit {
  return {
    verb: 'labels',
    title: 'Label. Enter saves, Esc goes back. An empty label is removed.',
    text: (index) => {
      const message = messageAt(index);
      return message && (message.label ?? '');
    },
    onSubmit: async (index, text) => {
      const message = messageAt(index);
      if (message !== undefined) await onSubmit(index, message, text);
    },
  };
}

/** Returns the first line of a message after its label. */
export function labelledText({ label, text }: Pick<LabelledMessage, 'label' | 'text'>): string {
  return label === undefined ? firstLine(text) : `[${label}] ${firstLine(text)}`;
}

export const label: SlashCommand = {
  name: '/label',
  argument: '[text]',
  description: 'Label your last message in /rewind and /tree; without a text, remove the label',
  async run(context, argument) {
    const { log, conversation } = context;
    const { session } = conversation;
    const find = async () => (await log.info(session)) && (await rewindPoints(log, session)).at(-1);
    const point = await find();
    if (point === undefined) throw new Error('There is no message to label. Send one first');
    await labelMessage(log, session, point, argument);
    const { label: stored } = (await find()) ?? {};
    const about = `“${clipText(firstLine(point.text), maxMessageCells)}”`;
    const text =
      stored === undefined ? `${about} has no label now.` : `${about} is now labelled “${stored}”.`;
    context.print(note('dim', text));
  },
};

export const undo: SlashCommand = {
  name: '/undo',
  actsOutside: true,
  description: 'Take back the last message, its answer and its changes of files',
  onlyWhenIdle: true,
  async run(context) {
    const { log, conversation } = context;
    const point = (await rewindPoints(log, conversation.session)).at(-1);
    if (point === undefined) return context.print(note('dim', 'There is nothing to take back.'));
    const changes = changesAfter(await readFileChanges(log, conversation.session), point);
    await moveFiles(context, { undo: changes }, () => goBack(context, point));
  },
};

export const redo: SlashCommand = {
  name: '/redo',
  actsOutside: true,
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
    const move = { undo: changesAfter(own, origin), redo: changesAfter(other, origin) };
    await moveFiles(context, move, () => context.open(origin.session));
  },
};

export function changesAfter(
  changes: readonly FileChangeOnLog[],
  { through }: { readonly through: number },
): readonly FileChangeOnLog[] {
  return changes.filter(({ offset }) => offset > through);
}

/**
 * Opens another state of the conversation with `open`. If files differ, asks first whether to change the
 * conversation, the files, or both.
 */
export async function chooseFiles(
  context: CommandContext,
  move: FileMove,
  open: () => Promise<void>,
): Promise<void> {
  const changes = [...(move.undo ?? []), ...(move.redo ?? [])];
  if (changes.length === 0) return open();
  const files = namesOf(context, [...new Set(changes.map(({ path }) => path))]);
  const ways = [
    {
      ...{ label: 'The conversation and the files', detail: files },
      run: () => moveFiles(context, move, open),
    },
    { ...{ label: 'Only the conversation', detail: 'The files stay as they are' }, run: open },
    {
      ...{ label: 'Only the files', detail: files },
      run: () => moveFiles(context, move, async () => {}),
    },
  ];
  context.pick({
    title: 'What changes?',
    items: ways.map(({ label, detail }) => ({ label, detail })),
    onPick: async (index) => ways[index]?.run(),
  });
}

/**
 * Opens a copy of the session that ends before the message. Then puts the message into the prompt.
 */
async function goBack(context: CommandContext, { through, text }: RewindPoint): Promise<void> {
  const { log, conversation } = context;
  const into = context.newSession();
  await forkSession(log, conversation.session, { into, through });
  await context.open(into);
  context.print(backNote(conversation.session));
  context.putBack(text);
}

function backNote(before: SessionId): Block {
  return note('dim', `You went back. /redo returns, also /resume ${shortRandomId(before)}.`);
}

/**
 * Changes the files of the folder, and then continues with `next`. If one of them cannot be changed, it
 * prints the reasons and changes nothing. If only the changes of a command are unknown, the user decides.
 */
async function moveFiles(
  context: CommandContext,
  move: FileMove,
  next: () => Promise<void>,
): Promise<void> {
  const workspace = createWorkspace({ root: context.cwd });
  const { executedFiles } = context.built.policy();
  const plan = await planFileChanges(workspace, { ...move, executedFiles });
  if (plan.steps.length > 0 && context.built.mode() === 'read-only')
    return context.print(
      note('bad', '✗ Nothing was changed, because this session is read-only (--read-only).'),
    );
  const isUnknown = plan.conflicts.every(({ code }) => code === 'unknown');
  if (plan.conflicts.length > 0 && isUnknown) {
    const items = [
      { label: 'No', detail: 'Nothing changes' },
      { label: 'Yes', detail: 'Other files that the command changed stay as they are' },
    ];
    const places = namesOf(
      context,
      plan.conflicts.map(({ path }) => path),
    );
    context.print(
      note('bad', `A command changed files in ${places}, and not all changes are on the log.`),
    );
    return context.pick({
      title: 'Take back only the changes that are on the log?',
      items,
      onPick: async (index) =>
        index === 1 ? moveFiles(context, { ...move, skipUnknown: true }, next) : undefined,
    });
  }
  if (plan.conflicts.length > 0) return context.print(...conflictBlocks(context, plan));
  await applyFilePlan(workspace, context.log.blobs, plan);
  const paths = plan.steps.map(({ path }) => path);
  if (paths.length > 0) context.print(note('good', `✓ Changed back: ${namesOf(context, paths)}`));
  await next();
}

function conflictBlocks(context: CommandContext, { conflicts }: FilePlan): readonly Block[] {
  const rows = conflicts
    .slice(0, maxNamed)
    .map(({ path, message }) => [nameOf(context, path), message] as const);
  const more = conflicts.length - rows.length;
  const rest = more > 0 ? [[`… and ${more} more`, ''] as const] : [];
  const advice = '✗ Nothing was changed. /rewind can go back without the files.';
  return [note('bad', advice), { type: 'rows', rows: [...rows, ...rest] }];
}

function nameOf({ cwd }: CommandContext, path: string): string {
  if (path === '') return '(redacted)';
  return relative(cwd, path) || 'this folder';
}

function namesOf(context: CommandContext, paths: readonly string[]): string {
  const named = paths.slice(0, maxNamed).map((path) => nameOf(context, path));
  const more = paths.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

export function agoText(ms: number): string {
  const age = formatAge(Math.max(0, ms));
  return age === 'now' ? 'just now' : `${age} ago`;
}

function countFiles(changes: readonly FileChangeOnLog[]): string {
  const { size } = new Set(changes.map(({ path }) => path));
  return size === 1 ? '1 file' : `${size} files`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] || '(empty)';
}
