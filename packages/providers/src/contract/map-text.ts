import type { Delta, PartId } from '@millrace/core';
import type { StreamStep } from './provider.ts';

/**
 * The same stream with other words in its text parts: each chunk goes through `change`, and positions
 * and lengths follow. For a wrapper that hides, replaces or translates as it streams.
 */
export async function* mapText(
  steps: AsyncIterable<StreamStep>,
  change: (chunk: string) => string,
): AsyncGenerator<StreamStep> {
  const lengths = new Map<PartId, number>();
  // Half a surrogate pair, which a cut can leave, is never on the log.
  const wellFormed = (chunk: string) => change(chunk).toWellFormed();
  for await (const step of steps) {
    yield { ...step, deltas: step.deltas.flatMap((delta) => mapDelta(delta, lengths, wellFormed)) };
  }
}

function mapDelta(
  delta: Delta,
  lengths: Map<PartId, number>,
  change: (chunk: string) => string,
): readonly Delta[] {
  if (delta.type === 'begin_part' && delta.kind === 'text') lengths.set(delta.partId, 0);
  if (delta.type === 'commit_part' && delta.part !== undefined) {
    const { part } = delta;
    return [
      part.kind === 'text' ? { ...delta, part: { ...part, text: change(part.text) } } : delta,
    ];
  }
  const length = 'partId' in delta ? lengths.get(delta.partId) : undefined;
  if (length === undefined) return [delta];
  if (delta.type === 'commit_part') return [{ ...delta, length }];
  if (delta.type !== 'append_text') return [delta];
  const chunk = change(delta.chunk);
  lengths.set(delta.partId, length + chunk.length);
  return chunk === '' ? [] : [{ ...delta, at: length, chunk }];
}
