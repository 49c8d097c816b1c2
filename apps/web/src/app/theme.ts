import { useState } from 'react';
import { local, readStored, writeStored } from './browser-storage.ts';

type Theme = 'system' | 'light' | 'dark';

const themes: readonly Theme[] = ['system', 'light', 'dark'];

function storedTheme(): Theme {
  const stored = readStored(local, 'theme');
  return themes.find((theme) => theme === stored) ?? 'system';
}

/** Before the first render, so that nothing flashes. */
export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
}

/** The theme, and what goes on to the next one. */
export function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState(storedTheme);
  const next = () => {
    const chosen = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
    writeStored(local, 'theme', chosen === 'system' ? undefined : chosen);
    applyTheme(chosen);
    setTheme(chosen);
  };
  return [theme, next];
}
