import type { Language } from '../../languages/load-language.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ExperimentLabels } from './contract.ts';
import { english } from './experiments-en.ts';

/** The texts by language. Only the language of the user loads. */
export const experimentLanguages = {
  en: async () => english,
  de: async () => (await import('./experiments-de.ts')).german,
  es: async () => (await import('./experiments-es.ts')).spanish,
  zh: async () => (await import('./experiments-zh.ts')).chinese,
} as const satisfies Readonly<Record<Language, () => Promise<ExperimentLabels>>>;

let current: ExperimentLabels = english;

/** Returns the texts of the pages about experiments in the language of the page. */
export function experimentLabels(): ExperimentLabels {
  return current;
}

/** Loads the texts of the language of the page. */
export async function loadExperimentLabels(): Promise<void> {
  const [language] = pageLabels().locale.split('-');
  current = await (experimentLanguages[language as Language] ?? experimentLanguages.en)();
}
