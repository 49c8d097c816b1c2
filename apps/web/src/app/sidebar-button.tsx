import { IconButton } from '../design/button.tsx';
import { MenuIcon } from '../design/icons.tsx';
import { useShell } from './shell-context.ts';

/** Opens the list of sessions, on screens where it does not fit beside. */
export function SidebarButton() {
  const { isListOpen, setListOpen } = useShell();
  return (
    <span className="sidebar-button">
      <IconButton
        label="Sessions"
        aria-expanded={isListOpen}
        aria-controls="sessions"
        onClick={() => setListOpen(!isListOpen)}
      >
        <MenuIcon />
      </IconButton>
    </span>
  );
}
