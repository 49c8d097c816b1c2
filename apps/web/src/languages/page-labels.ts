import type { PageLabels } from './contract.ts';
import { defaultLabels } from './default-labels.ts';

/** The names of the labels that are plain texts. */
export type TextKey = {
  readonly [Key in keyof PageLabels]-?: PageLabels[Key] extends string ? Key : never;
}[keyof PageLabels];

let current: PageLabels = defaultLabels;

/**
 * Returns the texts of the page in the chosen language. The language is loaded before the page renders,
 * and stays the same until the page is loaded again.
 */
export function pageLabels(): PageLabels {
  return current;
}

export function setPageLabels(labels: PageLabels): void {
  current = labels;
}
