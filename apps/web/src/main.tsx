// This module is imported first, so that its request starts before the rest of the page is
// evaluated.
import './server/early-stream.ts';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { applyAppearance } from './app/appearance.ts';
import { shareToken } from './app/token-sharing.ts';
import './design/fonts.css';
import './design/tokens.css';
import './design/base.css';
import './design/race.css';

applyAppearance();
shareToken();
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
