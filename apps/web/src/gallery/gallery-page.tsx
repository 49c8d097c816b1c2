import { useState } from 'react';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import { ChatSamples } from './chat-samples.tsx';
import { ControlSamples } from './control-samples.tsx';
import { TokenSamples } from './token-samples.tsx';
import './gallery.css';

const themes = ['light', 'dark'] as const;

/**
 * The gallery: every component of the page in its states, in both themes side by side. `npm run shots`
 * makes a picture of it.
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
            <ChatSamples theme={theme} />
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
