// This import comes first, so that its request starts before the other modules run.
import './server/early-stream.ts';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { applyAppearance } from './app/appearance.ts';
import { shareToken } from './app/token-sharing.ts';
import { loadLanguage } from './languages/load-language.ts';
import './design/fonts.css';
import '@millrace/react/design/tokens.css';
import '@millrace/react/design/base.css';
import './design/page.css';
import '@millrace/react/design/race.css';

applyAppearance();
shareToken();
const root = document.getElementById('root');
// If the file of the language is missing, the server was updated while the page was loading. Loading the
// page again finds the new file.
await loadLanguage();
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
