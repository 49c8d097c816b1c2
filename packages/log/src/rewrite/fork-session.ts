import { type SessionId, sessionId } from '@millrace/core';
import { provideChain } from '../chain/load-chain.ts';
import { createChainCode, sealCopy } from '../chain/seal.ts';
import type { ForkOptions } from '../contract/log.ts';
import { numberRecords } from '../engine/append-records.ts';
import { assertSessionId } from '../engine/check-options.ts';
import { assertForkOptions } from '../engine/check-rare-options.ts';
import { type LogContext, requireSession } from '../engine/log-context.ts';
import { readableDrafts } from '../engine/readable-draft.ts';
import type { ProcessIdentity, SessionRow } from '../storage/rows.ts';
import { newSession } from '../storage/session-row.ts';
import { storeCopy } from './copy-session.ts';
import {
  assertOffset,
  chainNote,
  chainOfFork,
  ForkFacts,
  type ForkPlan,
  forkTargetExists,
  sizeOf,
} from './fork-facts.ts';
import { forkInParts, partBytes } from './fork-in-parts.ts';

/**
 * Prepares a fork: a copy of the records of a session up to an offset in a new session. Returns a function that
 * starts the copy. A short session is copied in one transaction. A long session is copied in parts, so that
 * other work can run between two parts.
 */
export async function prepareFork(
  context: LogContext,
  session: SessionId,
  options: ForkOptions,
  process?: ProcessIdentity,
): Promise<() => Promise<SessionRow>> {
  assertForkOptions(options);
  assertSessionId(session);
  const { through: at, onCopy } = options;
  const into = sessionId(options.into);
  if (context.isChained) provideChain(createChainCode());
  const append = readableDrafts(options.append ?? [], into);
  const plan = { session, into, at, append, onCopy, process };
  const whole = () => forkAtOnce(context, plan);
  const { through = 0 } = (await context.reader.session(session)) ?? {};
  const page = through === 0 ? [] : await context.reader.records(session, 0, partBytes);
  const isShort = (page.at(-1)?.offset ?? through) >= through;
  return isShort ? whole : () => forkInParts(context, plan, whole);
}

/** Copies a session in one transaction. */
function forkAtOnce(context: LogContext, plan: ForkPlan): Promise<SessionRow> {
  const { session, into, at, append, onCopy } = plan;
  let isReported = false;
  return context.commits.run((tx) => {
    const row = requireSession(tx, session);
    if (tx.session(into) !== undefined) throw forkTargetExists(into);
    assertOffset(row, at);
    const facts = new ForkFacts(at);
    const all = context.recordsOf(tx, row);
    facts.add(all);
    facts.assertPlace(row);
    const records = all.filter(({ offset }) => offset <= at);
    // The queue can run the work again, but the size is reported once.
    if (!isReported) onCopy?.(sizeOf(records));
    isReported = true;
    const now = context.clock.now();
    const origin = { session, through: at };
    const empty = { ...newSession(into, tx.nextSession(), now), origin, through: at };
    const added = numberRecords(empty, [...facts.drafts(), ...append], 'store', now);
    const copy = { ...empty, through: at + added.length };
    const chain = chainOfFork(context, row, copy);
    const copied = [...records, ...added];
    if (chain === undefined) return storeCopy(tx, copy, copied);
    const sealed = sealCopy(chain, copied, chainNote(row, at));
    return storeCopy(tx, { ...copy, chain: sealed.chain }, sealed.records);
  });
}
