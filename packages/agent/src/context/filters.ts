import type { Item, Part } from '@millrace/core';
import type { ContextFilter } from '../contract/settings.ts';
import { assertKnownOptions } from '../known-options.ts';

/** Options of `dropReasoning` and `dropFailedResults`. */
export interface DropOptions {
  /** The number of most recent answers that the filter does not change. Default: 1. */
  readonly keepAnswers?: number | undefined;
}

/** Returns a filter that removes the reasoning from all answers except the most recent ones. */
export function dropReasoning(options: DropOptions = {}): ContextFilter {
  assertKnownOptions('dropReasoning', options, { keepAnswers: true });
  const { keepAnswers = 1 } = options;
  return (items) =>
    changeOlderItems(items, keepAnswers, (parts) =>
      parts.filter(({ kind }) => kind !== 'reasoning'),
    );
}

/**
 * Returns a filter that shortens failed tool results to "It failed.". The results of the most recent answers
 * do not change.
 */
export function dropFailedResults(options: DropOptions = {}): ContextFilter {
  assertKnownOptions('dropFailedResults', options, { keepAnswers: true });
  const { keepAnswers = 1 } = options;
  return (items) =>
    changeOlderItems(items, keepAnswers, (parts) =>
      parts.map((part) =>
        part.kind === 'tool_result' && part.isError ? { ...part, text: 'It failed.' } : part,
      ),
    );
}

function changeOlderItems(
  items: readonly Item[],
  keepAnswers: number,
  change: (parts: readonly Part[]) => readonly Part[],
): readonly Item[] {
  const answers = items.filter(({ kind }) => kind === 'assistant');
  const keptAnswers = new Set(answers.slice(Math.max(0, answers.length - keepAnswers)));
  const first = items.findIndex((item) => keptAnswers.has(item));
  const end = first === -1 ? items.length : first;
  return items.flatMap((item, index) => {
    if (index >= end) return [item];
    const parts = change(item.parts);
    return parts.length === 0 && item.parts.length > 0 ? [] : [{ ...item, parts }];
  });
}
