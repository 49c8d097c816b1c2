import { chosenLanguage, type Language, languageOf } from '../../languages/load-language.ts';
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

/** Loads the texts of the language of the user. */
export async function loadExperimentLabels(): Promise<void> {
  current = await experimentLanguages[chosenLanguage() ?? languageOf(navigator.languages)]();
}
