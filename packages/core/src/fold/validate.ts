import { Misfit, pathText } from '../codec/decode-error.ts';
import { delta as deltaDecoder } from '../codec/delta.ts';
import { fact as factDecoder } from '../codec/fact.ts';
import { wireDelta, wireFact } from '../codec/to-wire.ts';
import type { PartId } from '../ids.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import type { UnknownDelta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type { DraftRecord } from '../protocol/record.ts';
import { applyFact } from './apply-fact.ts';
import type { FoldState, OpenPart } from './fold-state.ts';
import type { Verdict } from './judge.ts';
import { judgeFromOutside, newEnd } from './judge-from-outside.ts';
import { findItem } from './lookup.ts';

/**
 * Holds a record from outside against the state it would join: gives what to append to the log, which
 * of an overlapping append is the new end only, or undefined where it adds nothing. Throws
 * `ProtocolError` where the protocol does not allow it.
 */
export function validate<T extends DraftRecord>(
  state: FoldState,
  draft: T,
  limits: Limits = defaultLimits,
): T | undefined {
  assertForm(draft, limits);
  const verdict =
    draft.delta === undefined
      ? judgeFact(state, draft)
      : judgeFromOutside(state, draft.delta, draft, limits);
  if (verdict === 'nothing') return undefined;
  if (verdict !== 'apply') throw refused(verdict, draft);
  return draft.delta === undefined ? draft : { ...draft, delta: newEnd(state, draft.delta) };
}

/** What a reader could not read must not be written: not a fact, and not what we know nothing else of. */
function assertForm(draft: DraftRecord, limits: Limits): void {
  const { delta, fact } = draft;
  if (delta !== undefined && delta.type !== 'unknown') return;
  try {
    const read = fact === undefined ? reread(delta, limits) : factDecoder(wireFact(fact), limits);
    if (read.type !== (fact ?? delta).type) throw new Misfit('expected a type that is not known');
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    throw refused('bad_value', draft, pathText(error.path));
  }
}

const reread = (delta: UnknownDelta, limits: Limits) => deltaDecoder(wireDelta(delta), limits);

function judgeFact(state: FoldState, draft: DraftRecord & { readonly fact: Fact }): Verdict {
  const { fact } = draft;
  if (fact.type === 'item_started') {
    const isKnown = state.gone.has(fact.itemId) || findItem(state, fact.itemId) !== undefined;
    if (isKnown) return 'conflict';
  }
  const next = applyFact(state, draft);
  if (typeof next === 'string') return next;
  const isLast =
    fact.type === 'item_finished' ||
    fact.type === 'response_finished' ||
    fact.type === 'item_redacted';
  const isOpen = (part: OpenPart) => isLast && part.begin.itemId === fact.itemId;
  return state.open.some(isOpen) ? 'open_parts' : 'apply';
}

function refused(code: Refusal, { turn, attempt, delta, fact }: DraftRecord, path?: string) {
  const body: { readonly type: string; readonly partId?: PartId } = delta ?? fact;
  const place = { turn, attempt, partId: body.partId, path };
  return new ProtocolError(code, `take ${body.type}`, place);
}
