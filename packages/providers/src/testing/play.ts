import { countingIds, type Delta } from '@millrace/core';
import { fewOf } from '../../../core/src/testing/runs.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion } from '../contract/provider.ts';
import { fetchOf } from './fetch-of.ts';
import { helloItems } from './hello-items.ts';
import { hasSharedRecordings, recordingsOf, type Wire } from './recordings.ts';
import type { WireUnderTest } from './wire-table.ts';

/** One response of a recording. */
export interface RecordingCase {
  readonly name: string;
  readonly lines: readonly string[];
  /** True for fixtures of this package, which always exist. */
  readonly isOwn?: boolean;
}

if (!hasSharedRecordings)
  console.log('no ../shared/recordings: only the fixtures of this package are read');

export function casesOf(wire: Wire): readonly RecordingCase[] {
  return recordingsOf(wire).flatMap(({ name, responses, origin }) =>
    responses.map((lines, index) => ({
      name: responses.length === 1 ? name : `${name}, response ${index + 1}`,
      lines,
      isOwn: origin === 'own',
    })),
  );
}

/**
 * Returns the responses for a law that plays each of them many times. `npm run test:full` plays all, the other
 * modes draw some of each wire. `recordings.test.ts` plays all in every mode.
 */
export function drawnCasesOf(wire: Wire): readonly RecordingCase[] {
  return fewOf(casesOf(wire), 15);
}

interface Played {
  readonly completion: Completion;
  /** All emitted deltas, with adjacent appends to one part merged. */
  readonly deltas: readonly Delta[];
  readonly reads: number;
}

const hello: ModelRequest = { items: helloItems };

/** Sends a request to a wire and answers it with these chunks. */
export async function play(
  under: WireUnderTest,
  name: string,
  chunks: readonly Uint8Array[],
  fetcher: typeof fetch = fetchOf(chunks).fetch,
  signal?: AbortSignal,
): Promise<Played> {
  const steps: Delta[][] = [];
  const completion = await under.provider(fetcher, name).complete(hello, {
    ids: countingIds(),
    onStep: ({ deltas }) => steps.push([...deltas]),
    ...(signal === undefined ? {} : { signal }),
  });
  return { completion, deltas: mergeAppends(steps.flat()), reads: steps.length };
}

function mergeAppends(deltas: readonly Delta[]): readonly Delta[] {
  const merged: Delta[] = [];
  for (const delta of deltas) {
    const last = merged.at(-1);
    const isNext =
      delta.type === 'append_text' && last?.type === 'append_text' && last.partId === delta.partId;
    if (isNext) merged[merged.length - 1] = { ...last, chunk: last.chunk + delta.chunk };
    else merged.push(delta);
  }
  return merged;
}
