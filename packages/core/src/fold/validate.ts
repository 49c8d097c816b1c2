import { Misfit, pathText } from '../codec/decode-error.ts';
import { count } from '../codec/decoder.ts';
import { delta as deltaDecoder } from '../codec/delta.ts';
import { fact as factDecoder } from '../codec/fact.ts';
import { wireDelta, wireFact } from '../codec/to-wire.ts';
import type { PartId } from '../ids.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import type { Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type { DraftRecord } from '../protocol/record.ts';
import type { FoldState } from './fold-state.ts';
import { judgeFact } from './judge-fact.ts';
import { judgeFromOutside, newEnd } from './judge-from-outside.ts';

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
      ? judgeFact(state, draft.fact, draft)
      : judgeFromOutside(state, draft.delta, draft, limits);
  if (verdict === 'nothing') return undefined;
  if (verdict !== 'apply') throw refused(verdict, draft);
  return draft.delta === undefined ? draft : { ...draft, delta: newEnd(state, draft.delta) };
}

/** What a reader could not read must not be written. */
function assertForm(draft: DraftRecord, limits: Limits): void {
  try {
    const { turn, attempt, delta, fact } = draft;
    count(turn, limits);
    count(attempt, limits);
    const read = fact === undefined ? reread(delta, limits) : rereadFact(fact, limits);
    if (read.type !== (fact ?? delta).type) throw new Misfit('expected a type that is not known');
  } catch (error) {
    // What is so far from its type that it cannot even be written has no path.
    const { code, path } = error instanceof Misfit ? error : new Misfit('');
    const refusal = code === 'too_large' || code === 'not_json' ? code : 'bad_value';
    throw refused(refusal, draft, pathText(path), error);
  }
}

/** As a reader would, except for bytes, which are sound whatever they are. */
function reread(delta: Delta, limits: Limits): Delta {
  const wire = wireDelta(delta, () => '');
  return deltaDecoder(wire, limits);
}

function rereadFact(fact: Fact, limits: Limits): Fact {
  if (fact.type === 'snapshot') throw new Misfit('a snapshot is the store’s to write');
  return factDecoder(wireFact(fact), limits);
}

function refused(
  code: Refusal,
  { turn, attempt, delta, fact }: DraftRecord,
  path?: string,
  cause?: unknown,
): ProtocolError {
  // Whatever it is: what is refused here may be nothing that its type allows.
  const body: { readonly type?: string; readonly partId?: PartId } | null = delta ?? fact;
  const place = { turn, attempt, partId: body?.partId, path };
  return new ProtocolError(code, `take ${body?.type ?? 'a draft'}`, place, { cause });
}
