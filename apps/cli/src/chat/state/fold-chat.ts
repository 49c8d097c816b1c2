import type { AgentEvent, PartId, SessionId } from '@millrace/core';
import { type Block, note } from '../contract/block.ts';
import type { ChatState, ChatStep } from '../contract/chat-state.ts';
import type { Entry, MessageEntry, TextEntry, ThoughtEntry } from '../contract/entry.ts';
import { foldCalls } from './fold-calls.ts';
import { foldContent } from './fold-content.ts';
import { foldFacts } from './fold-facts.ts';
import { foldMetadata } from './fold-metadata.ts';
import { foldSettled } from './fold-settled.ts';
import { foldTasks } from './fold-tasks.ts';
import { isOver } from './tool-card.ts';
import { emptyStats } from './usage-stats.ts';

export function emptyChat(session: SessionId): ChatState {
  return {
    ...{ session, entries: [], approvals: [], queued: [], sessionRules: [], run: undefined },
    ...{
      retry: undefined,
      hasFailed: false,
      isStopping: false,
      isSummarising: false,
      hasSummary: false,
      awaitsSummary: false,
      isPlanning: false,
      tasks: [],
      lastThought: undefined,
    },
    ...{ stats: emptyStats, items: new Map(), printed: new Set(), isStopReported: false },
    ...{ printedCalls: new Set(), overflowError: undefined, isCompacted: false },
    ...{ isHeld: false, folders: [], hasCommands: false },
  };
}

/**
 * Folds one event and returns the blocks to print. The cost does not depend on the length of the
 * session.
 */
export function foldChat(state: ChatState, event: AgentEvent): ChatStep {
  const called = foldTasks(foldCalls(foldContent(state, event), event), event);
  const next = foldMetadata(foldSettled(foldFacts(called, event), event), event);
  if (next === state) return { state, blocks: [] };
  const { entries, blocks, parts } = drain(next.entries);
  if (entries === next.entries) return { state: next, blocks };
  const printed = parts.length === 0 ? next.printed : new Set([...next.printed, ...parts]);
  const calls = blocks.flatMap((block) => (block.type === 'call' ? block.card.id : []));
  const printedCalls =
    calls.length === 0 ? next.printedCalls : new Set([...next.printedCalls, ...calls]);
  const thought = blocks.findLast((block) => block.type === 'thought');
  const lastThought = thought?.text ?? next.lastThought;
  return { state: { ...next, entries, printed, printedCalls, lastThought }, blocks };
}

interface DrainResult {
  readonly entries: readonly Entry[];
  readonly blocks: readonly Block[];
  /** The parts that are printed at least partly. */
  readonly parts: readonly PartId[];
}

/**
 * Takes the finished entries from the start of the list. The first unfinished entry holds back all
 * entries after it.
 */
function drain(entries: readonly Entry[]): DrainResult {
  const first = entries[0];
  if (first === undefined || isWaiting(first)) return { entries, blocks: [], parts: [] };
  const blocks: Block[] = [];
  const parts: PartId[] = [];
  let left = entries;
  for (let head = left[0]; head !== undefined && !isWaiting(head); head = left[0]) {
    const more = blocksOf(head);
    blocks.push(...more);
    if (more.length > 0 && 'partId' in head && head.partId !== undefined) parts.push(head.partId);
    if (isFinished(head)) left = left.slice(1);
    else left = [{ ...head, ready: [] } as Entry, ...left.slice(1)];
  }
  return { entries: left, blocks, parts };
}

/** Returns true if no content of the entry can be printed now. */
function isWaiting(entry: Entry): boolean {
  return !isFinished(entry) && !(entry.kind === 'text' && entry.ready.length > 0);
}

function isFinished(entry: Entry): boolean {
  switch (entry.kind) {
    case 'text':
    case 'thought':
      return entry.end === 'done';
    case 'call':
      return isOver(entry.card) && !entry.isUnplaced;
    case 'message':
      return entry.isDone;
    case 'note':
      return true;
  }
}

function blocksOf(entry: Entry): readonly Block[] {
  switch (entry.kind) {
    case 'text':
      return answerBlocks(entry);
    case 'thought':
      return thoughtBlocks(entry);
    case 'call':
      return [{ type: 'call', card: entry.card }];
    case 'message':
      return messageBlocks(entry);
    case 'note':
      return [entry.block];
  }
}

function answerBlocks({ partId, ready, stream, end }: TextEntry): readonly Block[] {
  const passages = end === 'done' ? [...ready, ...stream.end()] : ready;
  return passages.length === 0 ? [] : [{ type: 'answer', partId, passages }];
}

/**
 * Returns the block for finished reasoning. Redacted reasoning has no text, but it also gets a
 * block.
 */
function thoughtBlocks({ text, form, startedAt, finishedAt }: ThoughtEntry): readonly Block[] {
  if (text.trim() === '' && form !== 'redacted') return [];
  return [{ type: 'thought', text, form, tookMs: (finishedAt ?? startedAt) - startedAt }];
}

function messageBlocks({ from, text, author }: MessageEntry): readonly Block[] {
  if (text.trim() === '') return [];
  return from === 'user' ? [{ type: 'message', text, author }] : [note('mark', text)];
}
