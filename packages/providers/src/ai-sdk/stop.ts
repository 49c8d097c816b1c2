import type { Stop, StopReason } from '@millrace/core';
import { fault, WireFault } from '../errors/wire-fault.ts';
import { type StopWords, stopOf } from '../wire/stop-of.ts';
import type { PartOf } from './model.ts';

/** The words that all packages use. */
const unifiedWords: StopWords = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filter',
};

/** Words of providers that say more than the word that packages make of them. */
const exactWords: Readonly<Record<string, StopReason>> = {
  refusal: 'refusal',
  pause_turn: 'pause',
};

/** Why it finished, as the package says it and as the provider did. */
export interface Finish {
  readonly unified: string;
  readonly raw: string | undefined;
}

export function finishOf({ finishReason }: PartOf<'finish'>): Finish {
  if (typeof finishReason === 'string') return { unified: finishReason, raw: undefined };
  return { unified: finishReason.unified, raw: finishReason.raw ?? undefined };
}

/**
 * Throws where it did not end well. Packages finish a stream that was cut off too: they call that
 * `interrupted`, or have no word of the provider's for it.
 */
export function assertEnded({ unified, raw }: Finish): void {
  const isNameless = raw === undefined && (unified === 'other' || unified === 'unknown');
  if (unified === 'interrupted' || isNameless) {
    throw fault('truncated_stream', 'no reason to stop was given');
  }
  if (unified !== 'error') return;
  const words = raw === undefined ? [] : [raw];
  throw new WireFault({ message: `it stopped with ${raw ?? 'an error'}`, words });
}

export function stopOfFinish({ unified, raw }: Finish, hasClientCalls: boolean): Stop {
  const exact = raw !== undefined && Object.hasOwn(exactWords, raw) ? exactWords[raw] : undefined;
  if (raw !== undefined && exact !== undefined) return { reason: exact, raw };
  return { ...stopOf(unified, unifiedWords, hasClientCalls), raw: raw ?? unified };
}
