import { Button, Dialog, lazyView } from '@millrace/react/controls';
import { Suspense, useState } from 'react';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import { ChatSamples } from './chat-samples.tsx';
import { ControlSamples } from './control-samples.tsx';
import { PartSamples } from './part-samples.tsx';
import { TalkSamples } from './talk-samples.tsx';
import { TokenSamples } from './token-samples.tsx';
import './gallery.css';

// The samples share the file of the page of experiments.
const ExperimentSamples = lazyView(
  async () => (await import('./experiment-samples.tsx')).ExperimentSamples,
);

const themes = ['light', 'dark'] as const;

/**
 * The gallery shows every component of the app in its states, in both themes side by side. `npm run
 * shots` takes a screenshot of it.
 */
export function GalleryPage() {
  const [isDialogOpen, setDialogOpen] = useState(false);
  return (
    <main className="gallery-page">
      <header className="chat-header">
        <SidebarButton />
        <h1>Design</h1>
        <Button size="small" onClick={() => setDialogOpen(true)}>
          Open a dialog
        </Button>
      </header>
      <div className="gallery">
        {themes.map((theme) => (
          <div key={theme} className="gallery-theme" data-scheme={theme}>
            <h2>{theme === 'light' ? 'Light' : 'Dark'}</h2>
            <TokenSamples />
            <ControlSamples theme={theme} />
            <PartSamples />
            <ChatSamples theme={theme} />
            <TalkSamples theme={theme} />
            <Suspense fallback={null}>
              <ExperimentSamples />
            </Suspense>
          </div>
        ))}
      </div>
      {isDialogOpen && (
        <Dialog title="A dialog" onClose={() => setDialogOpen(false)}>
          <p>It keeps the focus, and Escape closes it.</p>
        </Dialog>
      )}
    </main>
  );
}
