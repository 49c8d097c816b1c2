import { useState } from 'react';
import { readStored, sharedStorage, writeStored } from './browser-storage.ts';

type Theme = 'system' | 'light' | 'dark';

const themes: readonly Theme[] = ['system', 'light', 'dark'];

function storedTheme(): Theme {
  const stored = readStored(sharedStorage, 'theme');
  return themes.find((theme) => theme === stored) ?? 'system';
}

/** Applies the theme. Call it before the first render, so that the page does not flash. */
export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
}

/** Returns the theme and a function that switches to the next theme. */
export function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState(storedTheme);
  const next = () => {
    const chosen = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
    writeStored(sharedStorage, 'theme', chosen === 'system' ? undefined : chosen);
    applyTheme(chosen);
    setTheme(chosen);
  };
  return [theme, next];
}
