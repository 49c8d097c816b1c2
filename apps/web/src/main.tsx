// This import comes first, so that its request starts before the other modules run.
import './server/early-stream.ts';
import { readStored, tabStorage, writeStored } from '@millrace/react/storage';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { applyAppearance } from './app/appearance.ts';
import { shareToken } from './app/token-sharing.ts';
import { loadLanguage } from './languages/load-language.ts';
import { registerWorker } from './offline/register-worker.ts';
import './design/fonts.css';
import '@millrace/react/design/tokens.css';
import '@millrace/react/design/base.css';
import './design/page.css';
import '@millrace/react/design/race.css';

applyAppearance();
shareToken();
void start();

async function start(): Promise<void> {
  const root = document.getElementById('root');
  if (root === null || !(await hasLanguage())) return;
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
  registerWorker();
}

/**
 * Loads the language. Its file is missing if the server was updated or stopped while the page was loading.
 * Then the page is loaded once more. Returns false if the page cannot start.
 */
async function hasLanguage(): Promise<boolean> {
  try {
    await loadLanguage();
    writeStored(tabStorage, 'reloaded', undefined);
    return true;
  } catch {
    const wasReloaded = readStored(tabStorage, 'reloaded') !== undefined;
    writeStored(tabStorage, 'reloaded', 'yes');
    // No language is loaded yet, so this text is always in English.
    if (wasReloaded) document.body.textContent = 'Millrace: the server does not answer. ⟳';
    else await untilServerAnswers().then(() => location.reload());
    return false;
  }
}

/** Waits for the server, at most a minute. Without it, the browser would replace the page by its own error. */
async function untilServerAnswers(): Promise<void> {
  for (let left = 120; left > 0; left--) {
    const answer = await fetch(document.baseURI, { method: 'HEAD' }).catch(() => undefined);
    if (answer !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
