import {
  type Attempt,
  DeltaWriter,
  type DraftRecord,
  type GuardrailFact,
  type Ids,
  type Item,
  type ItemId,
  type ItemState,
  type JsonValue,
  type Part,
  toArray,
} from '@millrace/core';
import type { prepareCall } from '../calls/prepare-call.ts';
import type { CheckedOutput } from '../contract/guardrail.ts';
import type { RunContext } from '../contract/run-context.ts';
import { loopMetadata, structuredValue } from '../run/output.ts';
import { joinText } from '../views/run-views.ts';
import { changeProblem, jsonOf } from './judge.ts';

/** What a check of an answer gets. */
export function checkedOutput(item: Item): CheckedOutput {
  const value = structuredValue(item);
  const text = value === undefined ? joinText(item.parts) : JSON.stringify(value);
  const hasCalls = item.parts.some(({ kind }) => kind === 'tool_call');
  return { text, item, isFinal: !hasCalls, ...(value !== undefined && { value }) };
}

/** The inputs since the last answer, in order. Items that the loop wrote are no input. */
export function newInputs({ journal }: RunContext): readonly ItemState[] {
  const found: ItemState[] = [];
  for (const item of toArray(journal.state.items).toReversed()) {
    const { kind, turn, metadata } = item;
    if (kind === 'assistant' && turn > 0) break;
    const isInput = kind === 'user' || kind === 'developer' || kind === 'notification';
    if (isInput && turn === 0 && metadata?.['by'] !== loopMetadata.by) found.push(item);
  }
  return found.reverse();
}

/** The item that requests contain instead of a changed input. Its kind keeps it out of views. */
export function replacementOf(item: Item, ids: Ids): Item {
  const metadata = { guardrail: true, replaces: item.id };
  return { id: ids.item(), kind: 'context', parts: item.parts, metadata };
}

/** The records of a whole answer, without its end. */
export function answerDrafts({ id, parts }: Item, at: Attempt, ids: Ids): readonly DraftRecord[] {
  const started = { type: 'item_started', itemId: id, kind: 'assistant' } as const;
  return [{ ...at, fact: started }, ...partDrafts(id, parts, at, ids)];
}

/** The records of whole parts. */
export function partDrafts(
  itemId: ItemId,
  parts: readonly Part[],
  at: Attempt,
  ids: Pick<Ids, 'part'>,
): readonly DraftRecord[] {
  const writer = new DeltaWriter({ itemId, ...at, ids });
  for (const part of parts) writer.whole(part);
  return writer.take().map((delta) => ({ ...at, delta }));
}

/** The input that a guardrail gives to a call, or why the tool cannot take it. */
export async function changedInput(
  to: unknown,
  prepare: (input: JsonValue) => ReturnType<typeof prepareCall>,
): Promise<{ readonly input?: JsonValue; readonly problem?: string }> {
  try {
    const input = jsonOf(to);
    const ready = await prepare(input);
    return ready.ok ? { input } : { problem: `the new input cannot be used. ${ready.message}` };
  } catch (error) {
    return { problem: changeProblem(error) };
  }
}

/** True if the run cannot go on after the verdict. */
export function isHalt({ verdict }: Pick<GuardrailFact, 'verdict'>): boolean {
  return verdict === 'stop' || verdict === 'error';
}
