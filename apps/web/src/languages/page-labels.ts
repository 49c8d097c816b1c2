import type { PageLabels } from './contract.ts';
import { english } from './en.ts';

/** The names of the labels that are plain texts. */
export type TextKey = {
  readonly [Key in keyof PageLabels]-?: PageLabels[Key] extends string ? Key : never;
}[keyof PageLabels];

// Before a language is loaded, tests use English. The bundler of the page leaves it out.
let current: PageLabels = english;

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
