import { IconButton } from '../design/button.tsx';
import { MenuIcon } from '../design/icons.tsx';
import { useDirectory } from './app-context.ts';
import { useShell } from './shell-context.ts';
import { waitingWords } from './task-words.ts';

/** Opens the list of sessions, on screens where it does not fit beside; says that some of them wait. */
export function SidebarButton() {
  const { isListOpen, setListOpen } = useShell();
  const waiting = useDirectory().tasks.filter((task) => task.awaits_approval === true).length;
  return (
    <span className="sidebar-button">
      <IconButton
        label={waiting > 0 ? `Sessions: ${waitingWords(waiting)}` : 'Sessions'}
        aria-expanded={isListOpen}
        aria-controls="sessions"
        onClick={() => setListOpen(!isListOpen)}
      >
        <MenuIcon />
        {waiting > 0 && <span className="sidebar-button-dot" aria-hidden="true" />}
      </IconButton>
    </span>
  );
}
