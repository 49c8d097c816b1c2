import { createContext, useContext } from 'react';
import { useDirectory } from '../app/app-context.ts';
import { waitingText } from '../app/task-text.ts';
import { IconButton } from '../design/button.tsx';
import { MenuIcon } from '../design/icons.tsx';

/**
 * A button that opens the session list on narrow screens. It also shows how many sessions wait for
 * an approval.
 */
export function SidebarButton() {
  const { isListOpen, setListOpen } = useShell();
  const waiting = useDirectory().tasks.filter((task) => task.awaits_approval === true).length;
  return (
    <span className="sidebar-button">
      <IconButton
        label={waiting > 0 ? `Sessions: ${waitingText(waiting)}` : 'Sessions'}
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

export interface Shell {
  /** True if the session list is open. It is used only on narrow screens. */
  readonly isListOpen: boolean;
  readonly setListOpen: (isOpen: boolean) => void;
}

export const ShellContext = createContext<Shell>({ isListOpen: false, setListOpen: () => {} });

function useShell(): Shell {
  return useContext(ShellContext);
}
