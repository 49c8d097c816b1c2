import { IconButton, MenuIcon } from '@millrace/react/controls';
import { createContext, useContext } from 'react';
import { useDirectory } from '../app/app-context.ts';
import { waitingText } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';

/**
 * A button that opens the session list on narrow screens. It also shows the number of sessions that
 * wait for an approval.
 */
export function SidebarButton() {
  const t = pageLabels();
  const { isListOpen, setListOpen } = useShell();
  const waiting = useDirectory().tasks.filter((task) => task.awaits_approval === true).length;
  return (
    <span className="sidebar-button">
      <IconButton
        label={waiting > 0 ? `${t.sessions}: ${waitingText(waiting)}` : t.sessions}
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
  /** True if the session list is open. Wide screens always show the list and ignore this value. */
  readonly isListOpen: boolean;
  readonly setListOpen: (isOpen: boolean) => void;
}

export const ShellContext = createContext<Shell>({ isListOpen: false, setListOpen: () => {} });

function useShell(): Shell {
  return useContext(ShellContext);
}
