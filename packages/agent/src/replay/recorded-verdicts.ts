import type { GuardrailFact, ItemId, JsonValue, LogRecord, Part } from '@millrace/core';
import type { Guardrail } from '../contract/guardrail.ts';
import type { Playback } from './playback.ts';
import type { RecordedDrive } from './recorded-drives.ts';

interface VerdictSource {
  readonly recording: { readonly records: readonly LogRecord[] };
  readonly drive: RecordedDrive;
  readonly playback: Pick<Playback, 'count' | 'reached'>;
}

/**
 * Returns a guardrail that returns the recorded verdicts. It does not hold answers back, because the log
 * contains each answer in its form after the check. The replay only repeats the verdicts.
 */
export function replayedGuardrail(guardrail: Guardrail, source: VerdictSource): Guardrail {
  const { hold } = guardrail;
  return {
    ...guardrail,
    ...{ timeoutMs: Number.POSITIVE_INFINITY, hold: false, wasHeld: hold },
    check: (checked, { turn }) => recordedVerdict(guardrail, checked, turn, source),
  };
}

/**
 * Returns the next recorded verdict on the content. If there is none, the guardrail passes. The replay then
 * diverges at this verdict.
 */
async function recordedVerdict(
  guardrail: Guardrail,
  checked: unknown,
  turn: number,
  { recording, drive, playback }: VerdictSource,
): Promise<unknown> {
  const { records } = recording;
  const at = records.findIndex(
    ({ fact, turn: of }, index) =>
      index >= playback.count &&
      fact?.type === 'guardrail_applied' &&
      isOf(fact, guardrail, checked, of === turn),
  );
  const { fact, producer } = records[at] ?? {};
  if (fact?.type !== 'guardrail_applied') return 'pass';
  // A later driver wrote the verdict, because this driver died during the check. In the replay of this
  // driver, the check therefore never ends.
  if (producer !== drive.producer) return playback.reached(Number.POSITIVE_INFINITY);
  const { verdict, reason } = fact;
  const failure = verdict === 'error' ? { failure: reason } : {};
  const keepsOptions = fact.replacedBy !== undefined && hasKept(fact.replacedBy, records);
  return { verdict, reason, to: newContent(fact, records), keepsOptions, ...failure };
}

/** Returns true if a changed input kept the options of its caller. */
function hasKept(replacement: ItemId, records: readonly LogRecord[]): boolean {
  return records.some(
    ({ fact }) =>
      fact?.type === 'item_started' &&
      fact.itemId === replacement &&
      fact.metadata?.['keepsOptions'] === true,
  );
}

/** The fields that identify the checked content. */
interface Checked {
  readonly item?: { readonly id: string };
  readonly call?: { readonly toolCallId: string };
}

/**
 * Returns true if a verdict is about the checked content. An answer is identified by its turn, because a
 * changed answer gets a new id.
 */
function isOf(
  { name, on, itemId, toolCallId }: GuardrailFact,
  guardrail: Guardrail,
  checked: unknown,
  isOfTurn: boolean,
): boolean {
  if (name !== guardrail.name || on !== guardrail.on) return false;
  const { item, call } = checked as Checked;
  switch (on) {
    case 'input':
      return itemId === item?.id;
    case 'output':
      return isOfTurn;
    case 'tool_call':
      return toolCallId === call?.toolCallId;
  }
}

/** Returns the new content of a verdict that changed the content. */
function newContent(
  { on, verdict, itemId, replacedBy, input }: GuardrailFact,
  records: readonly LogRecord[],
): JsonValue | readonly Part[] | undefined {
  if (verdict !== 'change') return undefined;
  if (on === 'tool_call') return input;
  if (on === 'input') return partsOf(replacedBy, records);
  for (const part of partsOf(itemId, records)) {
    if (part.kind === 'structured') return { value: part.value };
    if (part.kind === 'text') return part.text;
  }
  return undefined;
}

/** Returns the parts of an item that were committed as complete parts. */
function partsOf(item: ItemId | undefined, records: readonly LogRecord[]): readonly Part[] {
  return records.flatMap(({ delta }) =>
    delta?.type === 'commit_part' && delta.part !== undefined && delta.itemId === item
      ? delta.part
      : [],
  );
}
