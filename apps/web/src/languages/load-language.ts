import { readStored, sharedStorage, writeStored } from '@millrace/react/storage';
import type { PageLabels } from './contract.ts';
import { setPageLabels } from './page-labels.ts';

/** The languages of the page, with their own names. The first one is the default. */
export const languages = {
  en: ['English', async () => (await import('./en.ts')).english],
  de: ['Deutsch', async () => (await import('./de.ts')).german],
  es: ['Español', async () => (await import('./es.ts')).spanish],
  zh: ['中文', async () => (await import('./zh.ts')).chinese],
} as const satisfies Readonly<Record<string, readonly [string, () => Promise<PageLabels>]>>;

/** The tag of a language of the page. */
export type Language = keyof typeof languages;

const isLanguage = (tag: string | undefined): tag is Language =>
  tag !== undefined && Object.hasOwn(languages, tag);

/** Returns the language that the user chose. Returns undefined if the browser decides. */
export function chosenLanguage(): Language | undefined {
  const stored = readStored(sharedStorage, 'language');
  return isLanguage(stored) ? stored : undefined;
}

/** Stores the choice of the user, and loads the page again in that language. */
export function chooseLanguage(language: Language | undefined): void {
  writeStored(sharedStorage, 'language', language);
  location.reload();
}

/** Returns the first preferred language that the page supports. Default: English. */
export function languageOf(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    const [primary] = tag.toLowerCase().split('-');
    if (isLanguage(primary)) return primary;
  }
  return 'en';
}

/**
 * Loads the language of the user, and only that one. If its file is missing, for example because the
 * server was updated meanwhile, the promise rejects.
 */
export async function loadLanguage(): Promise<PageLabels> {
  const language = chosenLanguage() ?? languageOf(navigator.languages);
  const labels = await languages[language][1]();
  // The format of dates and numbers also depends on the region, which only the browser knows.
  const locale = navigator.languages.find((tag) => languageOf([tag]) === language) ?? language;
  const regional = { ...labels, locale: locale.startsWith(language) ? locale : language };
  setPageLabels(regional);
  document.documentElement.lang = regional.locale;
  document.documentElement.dir = regional.direction ?? 'ltr';
  return regional;
}
